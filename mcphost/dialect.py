"""What each model provider wants done differently, as data.

Everything here is a table: adding a provider or a dialect touches this file and its tests. An endpoint
that no row knows is taken to be `openai`, whose strictness every endpoint accepts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class SchemaRules:
    """What a dialect's validator takes inside a tool's `parameters`.

    `keywords` is the whole list of keywords that may appear, None where any may. `null` says how an
    optional null is spelled: as a member of `type`, as `anyOf` with a null branch, or as `nullable: true`;
    but for the first, a schema has one type. `refused` are keywords that may not appear though others may.
    `lone_union`: beside `anyOf` nothing constrains. `typed`: what constrains a type stands beside that type.
    `any_type`: a schema that takes anything, and is not `{}`, lists all types. `string_enums`: an `enum` has
    only strings, none of them empty. `formats`: the formats that each type may have, None where any.
    """

    one_of: bool = True
    const: bool = True
    additional_properties: bool = True
    null: Literal["type", "any_of", "nullable"] = "type"
    keywords: frozenset[str] | None = None
    max_depth: int | None = None
    refused: frozenset[str] = frozenset()
    lone_union: bool = False
    typed: bool = False
    any_type: bool = False
    string_enums: bool = False
    formats: Mapping[str, frozenset[str]] | None = None


GEMINI_KEYWORDS = frozenset(
    (
        "type format title description nullable enum maxItems minItems properties required minProperties "
        "maxProperties minLength maxLength pattern example anyOf propertyOrdering default items minimum "
        "maximum"
    ).split()
)
"""The `Schema` object of Gemini's function declarations."""

_GEMINI_FORMATS: Mapping[str, frozenset[str]] = {
    "string": frozenset({"date-time"}),
    "number": frozenset({"float", "double"}),
    "integer": frozenset({"int32", "int64"}),
}

_GRAMMARLESS = frozenset({"pattern", "patternProperties", "minLength", "maxLength", "prefixItems", "not"})
"""What llama.cpp cannot make a grammar of, or not one that it then takes. It refuses the whole request."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one family of endpoints differs.

    `empty_content`: what stands for the content of an assistant message that only calls.
    `echo_reasoning`: `reasoning_content` goes back with every assistant message that calls, once any reply
    had it.
    `echo_extra`: a call's own extra fields (`extra_content`, thought signatures) go back with it.
    `thinking_off`: body fields that switch thinking off, for a request that forces a tool; None where forcing
    needs no such thing. `completion_tokens_for`: prefixes of models that take `max_completion_tokens` and no
    `temperature`. `description_limit`, `max_tools`: None where there is no limit.
    """

    name: str
    empty_content: Literal["absent", "empty", "null"] = "empty"
    echo_reasoning: bool = False
    echo_extra: bool = False
    thinking_off: Mapping[str, Any] | None = None
    completion_tokens_for: tuple[str, ...] = ()
    description_limit: int | None = None
    max_tools: int | None = 128
    images: bool = False
    audio: bool = False
    schema: SchemaRules = field(default_factory=SchemaRules)


OPENAI = Dialect(
    "openai",
    completion_tokens_for=("o1", "o3", "o4", "gpt-5"),
    description_limit=1024,
    images=True,
    audio=True,
)

DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        OPENAI,
        Dialect(
            "azure", completion_tokens_for=("o1", "o3", "o4", "gpt-5"), description_limit=1024, images=True
        ),
        Dialect(
            "deepseek",
            empty_content="absent",
            echo_reasoning=True,
            thinking_off={"thinking": {"type": "disabled"}},
        ),
        Dialect(
            "gemini",
            echo_extra=True,
            images=True,
            schema=SchemaRules(
                one_of=False,
                const=False,
                additional_properties=False,
                null="nullable",
                keywords=GEMINI_KEYWORDS,
                max_depth=10,
                lone_union=True,
                typed=True,
                string_enums=True,
                formats=_GEMINI_FORMATS,
            ),
        ),
        Dialect("moonshot", echo_reasoning=True, schema=SchemaRules(null="any_of", lone_union=True)),
        Dialect("zhipu", echo_reasoning=True),
        Dialect("dashscope"),
        Dialect("openrouter", echo_extra=True, description_limit=1024, images=True),
        Dialect("mistral", schema=SchemaRules(one_of=False)),
        Dialect(
            "local",
            max_tools=None,
            schema=SchemaRules(one_of=False, refused=_GRAMMARLESS, lone_union=True, any_type=True),
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Provider:
    """One row of the table behind `provider/name`. `key` is the environment variable that holds its key.

    `plain`: the names of its models hold no slash, as those of many others do (`meta-llama/llama-4`).
    """

    name: str
    base_url: str
    key: str | None
    dialect: str
    plain: bool = False


PROVIDERS: Mapping[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "openai", plain=True),
        Provider("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek", plain=True),
        Provider(
            "gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", "gemini"
        ),
        Provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openrouter"),
        Provider("moonshot", "https://api.moonshot.cn/v1", "MOONSHOT_API_KEY", "moonshot", plain=True),
        Provider(
            "dashscope", "https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", "dashscope"
        ),
        Provider("zhipu", "https://open.bigmodel.cn/api/paas/v4", "ZHIPU_API_KEY", "zhipu", plain=True),
        Provider("siliconflow", "https://api.siliconflow.cn/v1", "SILICONFLOW_API_KEY", "openai"),
        Provider("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "openai"),
        Provider("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral", plain=True),
        Provider("xai", "https://api.x.ai/v1", "XAI_API_KEY", "openai", plain=True),
        Provider("ollama", "http://127.0.0.1:11434/v1", None, "local"),
        Provider("lmstudio", "http://127.0.0.1:1234/v1", None, "local"),
        Provider("llamacpp", "http://127.0.0.1:8080/v1", None, "local"),
        Provider("vllm", "http://127.0.0.1:8000/v1", None, "local"),
    )
}

_HOSTS: Mapping[str, str] = {
    "api.moonshot.ai": "moonshot",
    "dashscope-intl.aliyuncs.com": "dashscope",
    "api.z.ai": "zhipu",
    "openai.azure.com": "azure",
}
"""Hosts beside those of the table, and the provider there, or the dialect where it is none of the table's."""


def named(name: str) -> Dialect:
    """The dialect of that name. Raises `ValueError`, which says which there are."""
    if name not in DIALECTS:
        raise ValueError(f"no dialect is called {name!r}; there are {', '.join(DIALECTS)}")
    return DIALECTS[name]


def named_provider(model: str) -> Provider | None:
    """The provider that `provider/name` begins with, None where it begins with none."""
    first, slash, _ = model.partition("/")
    return PROVIDERS.get(first.strip().lower()) if slash else None


def provider_at(base_url: str | None) -> Provider | None:
    """The provider with a key whose host `base_url` has. A subdomain counts as its parent."""
    return PROVIDERS.get(_known_at(base_url))


def dialect_for(base_url: str | None) -> Dialect:
    """The dialect spoken at `base_url`, by its host; `openai` when the host is not known."""
    known, provider = _known_at(base_url), provider_at(base_url)
    return DIALECTS[provider.dialect] if provider else DIALECTS.get(known, OPENAI)


def _known_at(base_url: str | None) -> str:
    host = (urlsplit(base_url or "").hostname or "").lower()
    known = {urlsplit(each.base_url).hostname or "": each.name for each in PROVIDERS.values() if each.key}
    known |= _HOSTS
    return next((name for own, name in known.items() if host == own or host.endswith("." + own)), "")
