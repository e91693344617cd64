"""`Authorization`: signs a server's requests, and sees to it that there is a token to sign them with.

Requests stay parallel. Only getting a token is done one at a time, in this process and among processes; who
waited for that goes on with what came of it.
"""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Final

import anyio
import httpx2
from mcp.client.auth.utils import issuers_match

from mcphost import net
from mcphost.errors import AuthRequired, ConnectFailed
from mcphost.oauth.account import Account
from mcphost.oauth.client import remembered
from mcphost.oauth.discovery import Authority, Challenge, discover
from mcphost.oauth.grants import unattended
from mcphost.oauth.knocking import Beginning, knock
from mcphost.oauth.page import Asking, granted
from mcphost.oauth.store import Login, Logins
from mcphost.oauth.visitor import NotVisited, Visitor
from mcphost.oauth.web import Trouble, Web, host, origin
from mcphost.specs import AuthSpec, ServerSpec

_OVER: Final = "its login is over, or was taken back"

Held = Callable[[], AbstractContextManager[None]]


def authorization(
    spec: ServerSpec,
    *,
    logins: Logins | None = None,
    visitor: Visitor | None = None,
    held: Held = nullcontext,
) -> "Authorization | None":
    """What authorizes the requests to a server; None where OAuth is not for it.

    Without a `visitor` nobody is asked for access: logins that are there are used and renewed, and programs
    that can prove who they are log in by themselves. `held` is entered while a person is waited for.
    """
    auth = spec.authorization()
    if auth is None or not spec.url:
        return None
    return Authorization(spec, auth, logins=logins or Logins(), visitor=visitor, held=held)


@dataclass(slots=True)
class _Tried:
    """What has been done already so that one request may pass."""

    renewed: bool = False
    authorized: bool = False
    stepped_up: bool = False


class Authorization(httpx2.Auth):
    """Use `authorization` to make one, and pass it to the transport.

    Requests raise `AuthRequired` when there is no way to authorize them, and `ConnectFailed` when the
    authorization server has trouble.
    """

    def __init__(
        self, spec: ServerSpec, auth: AuthSpec, *, logins: Logins, visitor: Visitor | None, held: Held
    ) -> None:
        self._spec = spec
        self._auth = auth
        self._visitor = visitor
        self._held = held
        self._web = Web(spec.url or "", auth)
        self._account = Account(spec, auth, logins, self._web)
        self._asked: set[str] = set()
        self._no: Trouble | NotVisited | None = None
        self._getting = anyio.Lock()

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if not self._is_ours(request):
            yield request
            return
        if request.method == "DELETE":  # nobody is asked, and nothing renewed, in order to say goodbye
            self._sign(request)
            yield request
            return
        tried = _Tried()
        await self._prepared()
        while True:
            token = self._sign(request)
            response = yield request
            challenge = Challenge.of(response)
            if challenge is None:
                return
            # what comes next may take minutes, and the connection need not wait for it
            response.stream = Beginning(response.stream)
            await response.aread()
            if not await self._answered(challenge, token, tried):
                return

    async def prepare(self) -> None:
        """Where somebody can be asked, do so before a connection is tried: its deadlines are none for people.

        Raises `ServerError`.
        """
        if self._visitor is not None:
            with suppress(httpx2.RequestError):  # whoever connects will see to that
                await knock(self._spec, self)

    async def log_in(self) -> None:
        """Get new tokens, whether or not there are any. Raises `ServerError`."""
        try:
            challenge = await knock(self._spec) or Challenge()
        except httpx2.RequestError as exc:
            reason = f"cannot connect to {host(self._account.url)}: {net.what_failed(exc)}"
            raise ConnectFailed(self._spec.name, reason) from exc
        async with self._getting:
            with self._telling():
                await self._account.load()
                await self._authorize(await self._discovered(challenge), challenge)

    def _is_ours(self, request: httpx2.Request) -> bool:
        """Whether a request goes where our tokens are for: to the server's own origin, or its https."""
        ours = origin(self._account.url)
        upgraded = ("https", ours[1], None) if ours[0] == "http" and ours[2] is None else ours
        return origin(request.url) in (ours, upgraded)

    def _sign(self, request: httpx2.Request) -> str | None:
        token = self._account.login.token
        if token is not None:
            request.headers["Authorization"] = f"Bearer {token}"
        return token

    async def _prepared(self) -> None:
        """Have a token that is not over, if that takes no person."""
        account = self._account
        if account.loaded and not (account.login.expired and account.renewable):
            return
        async with self._getting:
            await account.load()
            authority = remembered(account.login)
            if account.login.expired and account.renewable and authority is not None:
                with self._telling():
                    await account.renew(authority)

    async def _discovered(self, challenge: Challenge) -> Authority:
        return await discover(self._web, self._account.url, self._auth, challenge)

    async def _answered(self, challenge: Challenge, token: str | None, tried: _Tried) -> bool:
        """Whether a request that was sent with `token`, and refused, is to be sent again."""
        async with self._getting:
            # somebody else may have seen to it while we waited
            if self._account.login.token != token or await self._account.adopted():
                return True
            with self._telling():
                if challenge.step_up:
                    return await self._step_up(challenge, tried)
                return await self._get_in(challenge, tried)

    async def _get_in(self, challenge: Challenge, tried: _Tried) -> bool:
        account = self._account
        if self._visitor is None and not account.renewable:
            if account.login.issuer:
                raise Trouble(_OVER, hint=self._hint)
            return False
        if tried.authorized:
            self._no = Trouble("it refuses the very token that its authorization server has just given")
            raise self._no
        authority = await self._discovered(challenge)
        ours = issuers_match(account.login.issuer, authority.issuer)
        if not tried.renewed and account.login.refresh_token is not None and ours:
            tried.renewed = True
            if await account.renew(authority):
                return True
        tried.authorized = True
        await self._authorize(authority, challenge)
        return True

    async def _step_up(self, challenge: Challenge, tried: _Tried) -> bool:
        """Ask for the scopes that a request lacks; only once in a process, whoever asks for them."""
        scopes = set((challenge.scope or "").split())
        if tried.stepped_up or (scopes and scopes <= self._asked):
            return False
        tried.stepped_up = True
        if self._visitor is None and self._auth.grant == "authorization_code":
            await self._account.remember(scopes)
            what = f": {' '.join(sorted(scopes))}" if scopes else ""
            raise Trouble(f"the login does not cover what this needs{what}", hint=self._hint)
        await self._authorize(await self._discovered(challenge), challenge)
        return True

    async def _authorize(self, authority: Authority, challenge: Challenge) -> None:
        """Get tokens from the authorization server, as the configuration says."""
        login = self._account.login
        if login.issuer and not issuers_match(login.issuer, authority.issuer):
            login = self._account.nothing()  # of one authorization server nothing is for another
        scope = self._scope(authority, challenge, login)
        self._asked |= set((scope or "").split())
        if self._auth.grant != "authorization_code":
            fresh = await unattended(self._web, authority, self._auth, login, scope=scope)
        elif self._visitor is not None:
            asking = Asking(self._web, authority, self._auth, self._visitor, self._held)
            fresh = await self._granted(asking, login, scope)
        else:
            raise Trouble(_OVER, hint=self._hint)
        await self._account.keep(fresh)

    async def _granted(self, asking: Asking, login: Login, scope: str | None) -> Login:
        """Ask a person. Whoever said no, or never came back, is left alone from then on."""
        if self._no is not None:
            raise self._no
        try:
            return await granted(asking, login, scope=scope)
        except (Trouble, NotVisited) as exc:
            if isinstance(exc, NotVisited) or not exc.passing:
                self._no = exc
            raise

    def _scope(self, authority: Authority, challenge: Challenge, login: Login) -> str | None:
        """What to ask for. MCP specification, "Authorization", scope selection strategy: what the server has
        just named, else all that it lists, else nothing; when it wants more, what there is as well."""
        own, named = self._auth.scopes, authority.scopes
        if challenge.scope is not None:
            named = tuple(challenge.scope.split())
        scopes = own or named
        if challenge.step_up:
            scopes = (*login.scopes, *sorted(self._asked), *own, *named)
        scopes += login.wanted
        offered = authority.metadata.scopes_supported or ()
        if scopes and not own and self._auth.grant == "authorization_code" and "offline_access" in offered:
            scopes += ("offline_access",)
        return " ".join(dict.fromkeys(scopes)) or None

    @property
    def _hint(self) -> str:
        return f"Log in anew: mcphost login {self._spec.name}"

    @contextmanager
    def _telling(self) -> Generator[None]:
        """Make trouble the server's."""
        try:
            yield
        except (Trouble, NotVisited) as exc:
            passing = isinstance(exc, Trouble) and exc.passing
            kind = ConnectFailed if passing else AuthRequired
            raise kind(self._spec.name, f"no authorization: {exc.reason}", hint=exc.hint) from exc
