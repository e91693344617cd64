"""Everything that can go wrong, as one tree.

    McphostError            1
    ├── ConfigError         2   a servers.json, a flag or a setting is wrong or missing
    ├── ServerError         4   a server cannot do what is asked of it
    │   ├── ConnectFailed   4   it could not be started, reached or agreed with
    │   ├── ServerLost      5   it was there, and went away
    │   └── AuthRequired    3   it wants authorization first
    ├── ToolError           5   a tool reported an error (only where there is no model to tell)
    ├── ModelError          1   the model endpoint failed
    └── LimitReached        6   a limit of ours stopped the work

The numbers are the exit codes of the command line.
"""


class McphostError(Exception):
    """A failure with a message for the user, and where it helps a hint on what to do next."""

    exit_code: int = 1

    def __init__(self, message: str, *, hint: str | None = None, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code

    def __str__(self) -> str:
        return self.message


class ConfigError(McphostError):
    """A configuration that cannot be used. The message names the file and line or server, and the key."""

    exit_code = 2


class ServerError(McphostError):
    """Trouble with one server, which the message begins with."""

    exit_code = 4

    def __init__(self, server: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{server}: {reason}", hint=hint)
        self.server = server
        self.reason = reason


class ConnectFailed(ServerError):
    """The server could not be started, reached, or agreed with. `final`: trying again would not help."""

    def __init__(self, server: str, reason: str, *, hint: str | None = None, final: bool = False) -> None:
        super().__init__(server, reason, hint=hint)
        self.final = final


class ServerLost(ServerError):
    """The server was connected and is gone. `sent`: a call may have reached it, and may have taken effect."""

    exit_code = 5

    def __init__(self, server: str, reason: str, *, hint: str | None = None, sent: bool = True) -> None:
        super().__init__(server, reason, hint=hint)
        self.sent = sent


class AuthRequired(ServerError):
    """The server answers only to those who are authorized."""

    exit_code = 3


class ToolError(McphostError):
    """A tool call failed, and there is no model to tell. `retry_after`: seconds to wait, if it says so."""

    exit_code = 5

    def __init__(self, message: str, *, hint: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class ModelError(McphostError):
    """The model endpoint failed.

    `status` is the HTTP status, or None when there was none (refused, cut, unreadable). `code` is
    `context_length_exceeded`, `timeout`, or the endpoint's own word for what is wrong, where it has one.
    `retry_after`: seconds to wait, if it says so. `partial` is the text that had arrived by then.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        retry_after: float | None = None,
        partial: str = "",
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code
        self.retry_after = retry_after
        self.partial = partial


class LimitReached(McphostError):
    """One of `limits` stopped the work."""

    exit_code = 6
