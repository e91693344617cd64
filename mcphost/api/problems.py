"""What goes wrong, in the form of OpenAI's errors: for a whole answer, or as an event in a stream."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mcphost.errors import ConfigError, McphostError, ModelError, ServerError
from mcphost.jsontext import dumps

_PASSED_ON: Final = frozenset((400, 402, 404, 408, 409, 413, 415, 422, 429, 503, 504))
"""What an upstream's status means to us it means to our caller. The rest is between us and the upstream."""

_TYPES: Final[Mapping[int, str]] = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    429: "rate_limit_error",
    504: "timeout_error",
}

_PATH: Final = re.compile(r"(?<![\w:/.~-])(?:~|[A-Za-z]:)?[\\/](?:[^\s\\/'\":;,]+[\\/])+(?=[^\s\\/'\":;,]*)")


@dataclass(frozen=True, slots=True)
class Problem:
    """An error answer. `param` is the part of the request that is wrong, `code` a word for programs."""

    status: int
    message: str
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def body(self, request_id: str) -> dict[str, Any]:
        kind = _TYPES.get(self.status, "invalid_request_error" if self.status < 500 else "server_error")
        return {
            "error": {
                "message": self.message,
                "type": kind,
                "param": self.param,
                "code": self.code,
                "request_id": request_id,
            }
        }

    def event(self, request_id: str) -> bytes:
        """The event that ends a stream in place of `[DONE]`."""
        return f"event: error\ndata: {dumps(self.body(request_id))}\n\n".encode()


class Refused(Exception):
    """The request cannot be answered, for a reason that its caller is told."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.problem = Problem(status, message, code, param, headers or {})


def problem_of(error: McphostError) -> Problem:
    """What the caller is told of a failure: nothing of this machine, and nothing of our keys."""
    message = without_paths(error.message)
    match error:
        case ModelError():
            return _upstream(error, message)
        case ConfigError():  # such as no model being configured: nothing that the caller could mend
            return Problem(500, message, "configuration_error")
        case ServerError():
            return Problem(502, message, "server_error")
        case _:
            return Problem(500, message, "internal_error")


def _upstream(error: ModelError, message: str) -> Problem:
    status = error.status
    if status in _PASSED_ON:
        hint = f" ({error.hint})" if error.code == "context_length_exceeded" and error.hint else ""
        wait = {} if error.retry_after is None else {"retry-after": f"{error.retry_after:g}"}
        return Problem(status, message + hint, error.code, headers=wait)
    if error.code == "unwritable_request":
        return Problem(400, message, error.code)
    if error.code == "timeout":
        return Problem(504, message, "upstream_timeout")
    if status in (401, 403):  # it is the operator's key that was refused
        return Problem(502, message, "upstream_authentication_error")
    return Problem(502, message, error.code or "upstream_error")


def without_paths(text: str) -> str:
    """`text` with the paths of this machine's files cut to their last part."""
    return _PATH.sub("…/", text)
