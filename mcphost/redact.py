"""Keeps what looks like a secret out of everything that is shown. It may hide too much, never too little."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

MASK: Final = "***"

SHORTEST: Final = 6
"""What is shorter is no secret, and stands in too many other words to be masked in a text."""

_SECRET_NAME = re.compile(
    r"key|token|secret|passw|passphrase|pwd|pat$|auth|credential|cookie|bearer|signature|^(?:ak|sk|sig|pw|pass)$",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"(?:Bearer|Basic|Token)\s+\S|sk-|pk-|rk_|gh[opsur]_|github_pat_|glpat-|xox[a-z]-|xapp-|AKIA|AIza|hf_|eyJ",
    re.IGNORECASE,
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_RUN = re.compile(r"[A-Za-z0-9]{16,}")
_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,30}://)(?P<authority>[^/?#\s]*)(?P<path>[^?#\s]*)(?P<rest>[^\s]*)",
    re.DOTALL,
)
_PARAMETER = re.compile(r"([?&;#])([^&;#]*)")
_FLAG = re.compile(r"-{1,2}[A-Za-z][\w.-]*")
_PAIR = re.compile(r"([\w.-]+)(=|:\s*)(?!//)(.*)", re.DOTALL)


def is_secret_name(name: str) -> bool:
    """Whether what goes by this name (a variable, a header, a query parameter) should not be shown."""
    return _SECRET_NAME.search(name) is not None


def redact_url(url: str) -> str:
    """`url` with its user and password masked, and every query value and path segment that may be a key.

    Never raises, whatever the text. URLs inside a longer text are found as well.
    """
    return _URL.sub(_redacted, url)


def redact_value(value: str, *, name: str = "") -> str:
    """`value`, or `***` where its name or its form says that it is secret."""
    if value and (is_secret_name(name) or _is_secret_value(value)):
        return MASK
    return redact_url(value)


def redact(mapping: Mapping[str, object]) -> dict[str, object]:
    """A copy to be shown, at every depth. Numbers, booleans and null are no secrets."""
    return {name: _redact_any(value, name) for name, value in mapping.items()}


def redact_args(args: Sequence[str]) -> list[str]:
    """A command's arguments to be shown: `--api-key X`, `--token=X`, `KEY=X`, `-H "Authorization: …"`."""
    shown: list[str] = []
    expecting = False
    for arg in args:
        flag = _FLAG.fullmatch(arg)
        name, sign, value = _split_pair(arg)
        if expecting:
            shown.append(MASK)
        elif sign:
            shown.append(f"{name}{sign}{redact_value(value, name=name)}")
        else:
            shown.append(arg if flag else redact_value(arg))
        expecting = not expecting and flag is not None and is_secret_name(arg)
    return shown


def _is_secret_value(text: str) -> bool:
    """A known kind of key, a UUID, or one word with a long run of letters and digits, as keys have."""
    if _SECRET_VALUE.match(text) or _UUID.fullmatch(text):
        return True
    runs = _RUN.findall(text) if re.fullmatch(r"[\w~+=-]+", text) else []
    return any(not run.isalpha() and not run.isdigit() for run in runs)


def _split_pair(arg: str) -> tuple[str, str, str]:
    found = _PAIR.fullmatch(arg)
    return (found[1], found[2], found[3]) if found else (arg, "", "")


def _redact_any(value: object, name: str) -> object:
    if isinstance(value, str):
        return redact_value(value, name=name)
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {str(key): _redact_any(item, f"{name}.{key}") for key, item in items}
    if isinstance(value, list | tuple):
        return [_redact_any(item, name) for item in cast("Sequence[object]", value)]
    return value


def _redacted(url: re.Match[str]) -> str:
    user, at, host = url["authority"].rpartition("@")
    if re.search(r":(?![0-9]*$)", host) and not host.startswith("["):  # a password that holds a slash
        return f"{url['scheme']}{MASK}"
    path = "/".join(_segment(part) for part in url["path"].split("/"))
    query = _PARAMETER.sub(_parameter, url["rest"])
    return f"{url['scheme']}{MASK if user else ''}{at}{host}{path}{query}"


def _segment(text: str) -> str:
    return MASK if _is_secret_value(text) else text


def _parameter(found: re.Match[str]) -> str:
    name, sign, value = found[2].partition("=")
    return f"{found[1]}{name}={redact_value(value, name=name)}" if sign else f"{found[1]}{_segment(name)}"
