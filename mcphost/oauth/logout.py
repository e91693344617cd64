"""Ending a login, here and at the authorization server."""

from mcphost.oauth.client import remembered
from mcphost.oauth.grants import revoked
from mcphost.oauth.store import Login, Logins
from mcphost.oauth.web import Trouble, Web
from mcphost.specs import AuthSpec


async def log_out(login: Login, auth: AuthSpec, *, logins: Logins) -> str | None:
    """Forget a login, and have its tokens revoked (RFC 7009): why that could not be, None when it was done or
    there was nothing to do. `auth` is what the configuration says of the server. Raises `OSError`."""
    async with logins.alone(login.server, login.url):
        try:
            authority = remembered(login)
            if not login.tokens or authority is None:
                return None
            done = await revoked(Web(login.url, auth), authority, auth, login)
            return None if done else f"{authority.issuer} does not offer that"
        except Trouble as exc:
            return exc.reason
        finally:
            await logins.delete(login)
