"""Keeps a server's configured secrets out of what others said: it, or a web server that echoes a request."""

from collections.abc import Iterator, Sequence
from urllib.parse import parse_qsl, urlsplit

from mcphost.redact import MASK, SHORTEST, redact_args, redact_url, redact_value
from mcphost.specs import ServerSpec


def secrets_of(spec: ServerSpec) -> tuple[str, ...]:
    """The secret values of a server's entry, the longest first."""
    found = {value for value in _values(spec) if len(value) >= SHORTEST}
    return tuple(sorted(found, key=len, reverse=True))


def mask(text: str, secrets: Sequence[str]) -> str:
    """`text` with `***` in place of every secret."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text


def _values(spec: ServerSpec) -> Iterator[str]:
    for name, value in (*spec.env.items(), *spec.headers.items()):
        if redact_value(value, name=name) != value:
            yield value
            yield from value.split()[1:]  # the token of `Bearer TOKEN`
    for given, shown in zip(spec.args, redact_args(spec.args), strict=False):
        if given != shown:
            yield given
            yield given.rpartition("=")[2]
            yield from given.split()[1:]
    if spec.auth is not None:
        auth = spec.auth
        secrets = (auth.client_secret, auth.private_key, auth.assertion, auth.id_token, auth.id_client_secret)
        yield from (secret for secret in secrets if secret and not secret.startswith("@"))
    if spec.url:
        shown = redact_url(spec.url)
        parts = urlsplit(spec.url)
        yield from (value for _, value in parse_qsl(parts.query) if value not in shown)
        yield from (value for value in (parts.username, parts.password) if value and value not in shown)
        yield from (segment for segment in parts.path.split("/") if segment and segment not in shown)
