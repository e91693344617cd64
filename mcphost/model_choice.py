"""Which model, where, and with whose key: flags, environment and file put together."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from mcphost.dialect import (
    DIALECTS,
    OPENAI,
    PROVIDERS,
    Dialect,
    Provider,
    dialect_for,
    named,
    named_provider,
    provider_at,
)
from mcphost.documents import suggestion
from mcphost.endpoints import clean_base_url, is_loopback
from mcphost.errors import ConfigError
from mcphost.redact import redact_url
from mcphost.specs import Config, ModelSpec

NO_MODEL_HINT = f"""Three ways to go on:
  -m provider/name, such as -m deepseek/deepseek-chat with the key in $DEEPSEEK_API_KEY
     (providers: {", ".join(PROVIDERS)})
  --base-url URL -m NAME, for any other endpoint that speaks OpenAI's chat completions
  "model": {{"name": "provider/name"}} in servers.json, or $MCPHOST_MODEL, to have it always
`mcphost demo` shows everything without a model."""
_OVERRIDES = ("MCPHOST_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY")


class NoModel(ConfigError):
    """No model is named. `base_url`: the endpoint, where at least that is known."""

    def __init__(self, base_url: str | None) -> None:
        if base_url is None:
            super().__init__("no model is configured", hint=NO_MODEL_HINT)
        else:
            super().__init__(
                f"no model is named for {redact_url(base_url)}", hint="Name one that is there: -m NAME."
            )
        self.base_url = base_url


def resolve_model(
    config: Config,
    *,
    flag_model: str | None = None,
    flag_base_url: str | None = None,
    flag_api_key: str | None = None,
    environ: Mapping[str, str],
) -> ModelSpec:
    """The model to ask, complete. Raises `ConfigError` where there is none, or something of it is missing.

    The name is the flag's, else $MCPHOST_MODEL, else the file's. `provider/name` brings base URL, key
    variable and dialect from the table of providers; the file's go with the file's provider, and with any
    name that has none. --base-url, then $OPENAI_BASE_URL, replace the address. For the key see `_key`. A
    model that is resolved already is not changed by the environment.
    """
    if config.model.resolved:
        if not (flag_model or flag_base_url or flag_api_key):
            return config.model
        environ = {name: value for name, value in environ.items() if name not in _OVERRIDES}
    choice = _choose(config.model, flag_model, flag_base_url, environ)
    if choice.name is None:
        _raise_problem(choice, "name")
        raise NoModel(choice.base_url)
    first, slash, _ = choice.name.partition("/")
    if slash and choice.home and choice.home.plain and named_provider(choice.name) is None:
        raise _no_provider(choice.name, first)
    if choice.base_url is None:
        _raise_problem(choice, "base_url")
        choice = _at_openai(choice, flag_api_key or environ.get("OPENAI_API_KEY"))
    for key in ("dialect", "options", "extra_body"):
        _raise_problem(choice, key)
    named = config.model.name
    return ModelSpec(
        name=choice.name,
        base_url=choice.base_url,
        api_key=_key(choice, flag_api_key, environ),
        dialect=choice.dialect().name,
        options=choice.file.options,
        extra_body=choice.file.extra_body,
        context_tokens=choice.file.context_tokens
        if named is None or choice.name in (named, _split(named)[1])
        else None,
        resolved=True,
    )


def model_dialect(config: Config, *, environ: Mapping[str, str]) -> Dialect:
    """The dialect of the configured model, also where something is missing that a request would need."""
    return _choose(config.model, None, None, {} if config.model.resolved else environ).dialect()


def local_candidates(environ: Mapping[str, str] | None = None) -> tuple[Provider, ...]:
    """Model servers that may be running on this machine, each at its usual port, or where $OLLAMA_HOST, which
    is Ollama's own variable, puts it."""
    local = (provider for provider in PROVIDERS.values() if provider.key is None)
    return tuple(replace(provider, base_url=_base_url(provider, environ or {})) for provider in local)


def _base_url(provider: Provider, environ: Mapping[str, str]) -> str:
    moved = _given(environ.get("OLLAMA_HOST")) if provider.name == "ollama" else None
    if moved is None:
        return provider.base_url
    try:
        parts = urlsplit(moved if "://" in moved else f"http://{moved}")
        host, port = parts.hostname or "127.0.0.1", parts.port or (11434 if parts.scheme == "http" else 443)
    except ValueError:
        return provider.base_url
    host = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}:{port}{parts.path.rstrip('/')}/v1"


@dataclass(frozen=True, slots=True)
class _Choice:
    """`provider` is the one named, `home` the one whose host the base URL has. `file` is what applies of the
    file's section. `paired`: the base URL is $OPENAI_BASE_URL, so $OPENAI_API_KEY is the key to it."""

    name: str | None
    base_url: str | None
    provider: Provider | None
    file: ModelSpec
    paired: bool = False

    @property
    def home(self) -> Provider | None:
        return provider_at(self.base_url)

    def dialect(self) -> Dialect:
        """The file's word; a known host's; the named provider's; else the strict one."""
        if self.file.dialect:
            try:
                return named(self.file.dialect)
            except ValueError as exc:
                raise ConfigError(str(exc)) from None
        known = dialect_for(self.base_url)
        return known if known is not OPENAI or self.provider is None else DIALECTS[self.provider.dialect]


def _choose(
    file: ModelSpec, flag_model: str | None, flag_base_url: str | None, environ: Mapping[str, str]
) -> _Choice:
    wanted = _given(flag_model) or _given(environ.get("MCPHOST_MODEL"))
    if file.base_url:
        file = file.model_copy(update={"base_url": _cleaned(file.base_url, "model.base_url")})
    provider, name = _split(wanted or file.name)
    file_provider = _split(file.name)[0] or provider_at(file.base_url)
    if wanted and provider is None:
        provider = _split(file.name)[0]
    elif wanted and provider is not file_provider:
        file = ModelSpec(options=file.options)
    if given := _given(flag_base_url):
        base_url, paired = _cleaned(given, "--base-url"), False
    elif given := _given(environ.get("OPENAI_BASE_URL")):
        base_url, paired = _cleaned(given, "$OPENAI_BASE_URL"), True
    else:
        base_url, paired = file.base_url, False
    home = provider_at(base_url)
    if provider and home and home is not provider:  # such as OpenRouter's "deepseek/deepseek-chat"
        provider, name = home, wanted or file.name
    if base_url is None and provider is not None and "base_url" not in file.problems:
        base_url = _base_url(provider, environ)
    return _Choice(name, base_url, provider, file, paired)


def _key(choice: _Choice, flag: str | None, environ: Mapping[str, str]) -> str | None:
    """--api-key; then $OPENAI_API_KEY, the file's `api_key`, the named provider's variable.

    At the host of another provider than OpenAI, what is meant for that provider comes before $OPENAI_API_KEY,
    which many have set for OpenAI; except where $OPENAI_BASE_URL names that host as well.
    """
    file, home = choice.file, choice.home
    keys = {
        "--api-key": flag,
        "$OPENAI_API_KEY": environ.get("OPENAI_API_KEY"),
        "model.api_key": file.api_key,
    }
    for provider in (home, choice.provider):
        if provider and provider.key:
            keys.setdefault(f"${provider.key}", environ.get(provider.key))
    if home and home.name != "openai" and not choice.paired:
        keys["$OPENAI_API_KEY"] = keys.pop("$OPENAI_API_KEY")
    for origin, given in keys.items():
        if key := _given(given):
            if not re.fullmatch(r"[\x21-\x7e]+", key):
                raise ConfigError(f"{origin} holds characters that a key cannot have")
            return key
    if choice.base_url is None or is_loopback(choice.base_url):
        return None
    _raise_problem(choice, "api_key")
    if home is None:
        return None
    hint = f"Set ${home.key}, or give the key with --api-key or as model.api_key in servers.json."
    raise ConfigError(f"no key for {home.name}: ${home.key} is not set", hint=hint)


def _at_openai(choice: _Choice, key: str | None) -> _Choice:
    """A name alone is OpenAI's, when there is a key for OpenAI."""
    name = choice.name or ""
    if "/" in name:
        raise _no_provider(name, name.partition("/")[0])
    if not _given(key):
        raise ConfigError(
            f"model {name!r}: no endpoint is known for it",
            hint=f"Name its provider, -m provider/{name}, or give --base-url or the file's model.base_url.",
        )
    return _Choice(choice.name, PROVIDERS["openai"].base_url, PROVIDERS["openai"], choice.file)


def _no_provider(model: str, first: str) -> ConfigError:
    reason = f"model {model!r}: no provider is called {first!r}{suggestion(first, PROVIDERS)}"
    return ConfigError(
        reason, hint=f"Providers: {', '.join(PROVIDERS)}. Any other endpoint needs --base-url."
    )


def _split(text: str | None) -> tuple[Provider | None, str | None]:
    """`provider/name` once, where the first part is a provider; else the whole as a name."""
    provider = named_provider(text or "")
    if provider is None:
        return None, text
    first, _, rest = (text or "").partition("/")
    if not rest.strip():
        raise ConfigError(f"model {text!r} names a provider and no model", hint=f"Write {first}/name.")
    return provider, rest.strip()


def _raise_problem(choice: _Choice, key: str) -> None:
    if problem := choice.file.problems.get(key):
        raise ConfigError(problem, hint="Set it before you start mcphost, or give a default: ${NAME:-…}.")


def _given(text: str | None) -> str | None:
    return (text or "").strip() or None


def _cleaned(url: str, origin: str) -> str:
    try:
        return clean_base_url(url)
    except ValueError as exc:
        raise ConfigError(f"{origin} {exc}", hint=f"Such as {PROVIDERS['openai'].base_url}.") from None
