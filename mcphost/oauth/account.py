"""Our account with one server: its login, read, renewed and kept, side by side with other processes."""

import logging
from collections.abc import Iterable
from dataclasses import replace

from mcp.client.auth.utils import issuers_match

from mcphost.oauth import grants
from mcphost.oauth.discovery import Authority
from mcphost.oauth.store import Login, Logins
from mcphost.oauth.web import Refused, Web
from mcphost.specs import AuthSpec, ServerSpec

logger = logging.getLogger(__name__)


class Account:
    """`login` is the last that is known; without tokens where there is none. Where nothing can be kept it
    holds as long as this object, which several tasks must not use at once."""

    def __init__(self, spec: ServerSpec, auth: AuthSpec, logins: Logins, web: Web) -> None:
        self.name = spec.name
        self.url = spec.url or ""
        self.login = self.nothing()
        self.loaded = False
        self._auth = auth
        self._logins = logins
        self._web = web
        self._kept = False

    def nothing(self) -> Login:
        """A login with nothing in it."""
        return Login(self.name, self.url)

    @property
    def renewable(self) -> bool:
        """Whether new tokens may be had without a person."""
        return self.login.refresh_token is not None or self._auth.grant != "authorization_code"

    async def load(self) -> None:
        """Read the login, once."""
        if not self.loaded:
            self.login = await self._stored() or self.login
            self.loaded = True

    async def adopted(self) -> bool:
        """Whether another process has got new tokens, which are ours now."""
        return self._adopted(await self._stored())

    async def keep(self, login: Login) -> None:
        async with self._logins.alone(self.name, self.url):
            await self._keep(login)

    async def remember(self, scopes: Iterable[str]) -> None:
        """Have the next login ask for these as well."""
        async with self._logins.alone(self.name, self.url):
            login = await self._stored() or self.login
            await self._keep(replace(login, wanted=tuple(sorted({*login.wanted, *scopes}))))

    async def renew(self, authority: Authority) -> bool:
        """Have new tokens, of our own or another process's. Where the authorization server gives none, the
        login is without tokens then; other `Trouble` is raised."""
        async with self._logins.alone(self.name, self.url):
            stored = await self._stored()
            if self._adopted(stored):
                return True
            if stored is None and self._kept:  # somebody has logged out
                self.login = self.nothing()
                return False
            latest = stored or self.login
            try:
                await self._keep(await self._renewed(authority, latest))
                return True
            except Refused as exc:
                logger.info("%s: %s", self.name, exc.reason)
                client = {} if exc.error == "invalid_client" else dict(latest.client)
                await self._keep(replace(latest, client=client, tokens={}, expires_at=None))
                return False

    async def _renewed(self, authority: Authority, login: Login) -> Login:
        if self._auth.grant == "authorization_code":
            return await grants.renewed(self._web, authority, self._auth, login)
        scope = login.tokens.get("scope")
        return await grants.unattended(self._web, authority, self._auth, login, scope=scope)

    def _adopted(self, stored: Login | None) -> bool:
        if stored is None or stored.expired or stored.token in (None, self.login.token):
            return False
        self.login = stored
        return True

    async def _stored(self) -> Login | None:
        """The login that is kept, if it is for what the configuration says now."""
        login, auth = await self._logins.load(self.name, self.url), self._auth
        if login is None or auth.client_id not in (None, login.client.get("client_id")):
            return None
        if auth.issuer is not None and not issuers_match(auth.issuer, login.issuer):
            return None
        self._kept = True
        return login

    async def _keep(self, login: Login) -> None:
        self.login = login
        try:
            await self._logins.save(login)
            self._kept = True
        except OSError as exc:
            logger.warning("%s: the login cannot be kept: %s", self.name, exc.strerror or exc)
