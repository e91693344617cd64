"""What the routes share: the host, the settings, and who may use what of it."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import anyio
from starlette.requests import ClientDisconnect, Request

from mcphost.api.keys import Caller
from mcphost.api.problems import Refused
from mcphost.api.settings import Settings
from mcphost.catalog import matches
from mcphost.dialect import OPENAI, Dialect, named_provider, provider_at
from mcphost.errors import ConfigError
from mcphost.host import Host
from mcphost.model import Model
from mcphost.openai_model import OpenAIModel

_REMEMBERED: Final = 100
"""Models that are kept, with what their endpoint taught about them."""


class Backend:
    """A host, as the routes use it."""

    def __init__(self, host: Host, settings: Settings) -> None:
        self.host = host
        self.settings = settings
        self._models: OrderedDict[str, OpenAIModel] = OrderedDict()

    def model(self, asked: str | None, key: str | None) -> Model:
        """The model that a request asks for, at the endpoint of the configured one, which it is by default.

        `key` is the caller's own; it is used only where that is set up. Raises `Refused`, `ConfigError`.
        """
        own = self.host.model()
        if not isinstance(own, OpenAIModel):
            return own
        name = self._name(asked, own)
        model = own if name == own.name else self._other(name, own)
        return model.variant(api_key=key) if key and self.settings.forward_key else model

    def dialect(self) -> Dialect:
        """The dialect of the configured model; the strictest where there is none."""
        try:
            return self.host.model().dialect
        except ConfigError:
            return OPENAI

    def _name(self, asked: str | None, own: OpenAIModel) -> str:
        """The endpoint's own name for a model. `provider/name` is taken too, where the provider is this."""
        if not asked:
            return own.name
        provider = named_provider(asked)
        if provider is not None and provider is provider_at(own.base_url):
            return asked.partition("/")[2].strip() or own.name
        return asked

    def _other(self, name: str, own: OpenAIModel) -> OpenAIModel:
        if not self.allows_model(name):
            message = f"the model {name!r} is not offered here; {own.name} is"
            raise Refused(404, message, code="model_not_found", param="model")
        model = self._models.pop(name, None) or own.variant(name=name)
        self._models[name] = model
        if len(self._models) > _REMEMBERED:
            self._models.popitem(last=False)
        return model

    def allows_model(self, name: str) -> bool:
        return any(matches(name, glob) for glob in self.settings.models)

    def servers(self, caller: Caller, asked: Iterable[str] | None = None) -> frozenset[str] | None:
        """The servers that a request may use: those asked for, or all that the caller may; None for all there
        are. Raises `Refused` for one that is not there, or not for this caller."""
        if asked is None:
            return caller.servers
        for name in sorted(asked):
            if name not in self.host.servers:
                known = ", ".join(sorted(self.visible(caller))) or "none"
                message = f"no server is called {name!r}; there are: {known}"
                raise Refused(400, message, param="mcphost.servers")
            if name not in self.visible(caller):
                message = f"this key may not use the server {name!r}"
                raise Refused(403, message, code="server_not_allowed", param="mcphost.servers")
        return frozenset(asked)

    def visible(self, caller: Caller) -> list[str]:
        """The names of the servers that a caller may use, in the config's order."""
        return [name for name in self.host.servers if caller.servers is None or name in caller.servers]

    async def body(self, request: Request) -> bytes:
        """A request's body, within the limits of size and time. Raises `Refused`."""
        limit = self.settings.body_bytes
        message = f"the request is larger than {limit} bytes"
        too_large = Refused(413, message, code="request_too_large")
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > limit:
            raise too_large
        body = bytearray()
        try:
            with anyio.fail_after(self.settings.stall):
                async for piece in request.stream():
                    body += piece
                    if len(body) > limit:
                        raise too_large
        except TimeoutError:
            raise Refused(408, "the request did not come in time", code="request_timeout") from None
        except ClientDisconnect:
            raise Refused(400, "the request was broken off") from None
        return bytes(body)
