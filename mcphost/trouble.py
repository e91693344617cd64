"""Foreign errors, from the SDK, HTTP and nested task groups, as one of ours with a cause worth reading."""

from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from pydantic import ValidationError

from mcphost.config import ServerSpec
from mcphost.errors import AuthRequired, ConnectFailed, ServerError
from mcphost.net import what_failed
from mcphost.transport.http import UNAUTHORIZED
from mcphost.transport.process import Child


def leaves(exc: BaseException) -> Iterator[BaseException]:
    """The errors inside (nested) exception groups, in order."""
    if isinstance(exc, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", exc).exceptions:
            yield from leaves(inner)
    else:
        yield exc


def rpc_data(exc: BaseException) -> Mapping[str, Any]:
    """What our HTTP transports say about an error of the SDK's (see `transport.http`), or nothing."""
    for leaf in leaves(exc):
        data: Any = leaf.data if isinstance(leaf, MCPError) else None
        if isinstance(data, dict):
            return cast("dict[str, Any]", data)
    return {}


def http_status(exc: BaseException) -> int | None:
    """The HTTP status behind an error of the SDK's, if there was one."""
    for leaf in leaves(exc):
        if isinstance(leaf, httpx2.HTTPStatusError):
            return leaf.response.status_code
    status: Any = rpc_data(exc).get("status")
    return status if isinstance(status, int) else None


def was_not_sent(exc: BaseException) -> bool:
    """Whether a request provably never reached its server."""
    return rpc_data(exc).get("sent") is False or any(
        isinstance(leaf, httpx2.ConnectError | httpx2.ConnectTimeout) for leaf in leaves(exc)
    )


def retry_after(data: Mapping[str, Any]) -> float | None:
    """How long a server asks to wait, in seconds (RFC 9110, section 10.2.3; a date is not looked at)."""
    try:
        return max(0.0, float(data.get("retryAfter", "")))
    except (TypeError, ValueError):
        return None


def is_closed(exc: BaseException) -> bool:
    """Whether the server went away, as opposed to answering with an error."""
    return any(isinstance(leaf, MCPError) and leaf.code == CONNECTION_CLOSED for leaf in leaves(exc))


async def last_words(child: Child | None) -> str:
    """How a child ended and what it wrote last, such as ` (exit status 3): no licence file`, or nothing."""
    if child is None:
        return ""
    ended = await child.exited(0.5)
    said = child.log.tail()
    status = f" ({_status(child.returncode)})" if ended and child.returncode is not None else ""
    return status + (": " + " | ".join(said) if said else "")


def _status(code: int) -> str:
    return f"exit status {code}" if code >= 0 else f"killed by signal {-code}"


def explain(spec: ServerSpec, exc: BaseException) -> ServerError:
    """`exc` as the reason why a server cannot be used."""
    for leaf in leaves(exc):
        if isinstance(leaf, ServerError):
            return leaf
    status = http_status(exc)
    if status in (401, 403):
        own = rpc_data(exc).get(UNAUTHORIZED, {})
        reason = own.get("reason") or f"the server wants authorization (HTTP {status})"
        return AuthRequired(spec.name, reason, hint=own.get("hint") or _auth_hint(spec))
    leaf = next(leaves(exc))
    reason, hint = _reason(spec, leaf, status)
    return ConnectFailed(spec.name, reason, hint=hint)


def _reason(spec: ServerSpec, exc: BaseException, status: int | None) -> tuple[str, str | None]:
    host = urlsplit(spec.url or "").netloc.rpartition("@")[2]
    match exc:
        case _ if was_not_sent(exc):
            why = rpc_data(exc).get("broken") or what_failed(exc)
            return f"cannot connect to {host}: {why}", "Check the address and port, and that the server runs."
        case httpx2.TimeoutException():
            return f"{host} stopped answering", None
        case httpx2.InvalidURL() | httpx2.UnsupportedProtocol():
            return f"its url is not usable: {exc}", "Correct `url`; it begins with https:// or http://."
        case httpx2.HTTPError():
            what = f"HTTP {status}" if status else str(exc) or type(exc).__name__
            return f"{host} refused: {what}", _address_hint(spec, status)
        case MCPError():
            hint = _address_hint(spec, status)
            said_by_us = status is not None or exc.code in (CONNECTION_CLOSED, REQUEST_TIMEOUT)
            return exc.message if said_by_us else f"it answered with an error: {exc.message}", hint
        case ValidationError():
            return f"its answer is not MCP: {_first_problem(exc)}", None
        case _:
            return str(exc) or type(exc).__name__, None


def _address_hint(spec: ServerSpec, status: int | None) -> str | None:
    if status not in (400, 404, 405):
        return None
    other = " Without its `type`, streamable HTTP and SSE are both tried." if spec.type != "url" else ""
    return f"Check `url`, its path too.{other}"


def _first_problem(exc: ValidationError) -> str:
    first: Mapping[str, Any] = cast(
        "Mapping[str, Any]", exc.errors(include_url=False, include_input=False)[0]
    )
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}"


def _auth_hint(spec: ServerSpec) -> str:
    example = '"headers": {"Authorization": "Bearer ${TOKEN}"}'
    token = f"ive {spec.name} its token in servers.json: {example}."
    return f"Log in: mcphost login {spec.name}. Or g{token}" if spec.authorization() else f"G{token}"
