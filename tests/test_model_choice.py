"""Which model, where, and with whose key."""

from typing import Any

import pytest

from mcphost.config import Config, load, local_candidates, model_dialect, parse, resolve_model
from mcphost.dialect import DIALECTS, PROVIDERS
from mcphost.endpoints import clean_base_url, is_loopback
from mcphost.errors import ConfigError
from mcphost.specs import ModelSpec

DEEPSEEK = "https://api.deepseek.com/v1"
OPENROUTER = "https://openrouter.ai/api/v1"
OPENAI = "https://api.openai.com/v1"
LOCAL = "http://127.0.0.1:9/v1"
GATEWAY = "https://gateway.example/v1"


def resolved(
    file: dict[str, Any] | None = None,
    flags: tuple[str | None, str | None, str | None] = (None, None, None),
    **environ: str,
) -> ModelSpec:
    """The model of a file's section, the flags (-m, --base-url, --api-key) and variables."""
    config = parse({"model": file}, source=None, environ=environ)
    model, base_url, api_key = flags
    return resolve_model(
        config, flag_model=model, flag_base_url=base_url, flag_api_key=api_key, environ=environ
    )


def refused(*args: Any, **environ: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        resolved(*args, **environ)
    assert caught.value.exit_code == 2
    return caught.value


def m(name: str | None = None, base_url: str | None = None, api_key: str | None = None) -> Any:
    """The flags."""
    return (name, base_url, api_key)


CASES: list[tuple[dict[str, Any] | None, Any, dict[str, str], tuple[str, str, str | None, str]]] = [
    # a provider brings its base URL, its key variable and its dialect
    (
        None,
        m("deepseek/deepseek-chat"),
        {"DEEPSEEK_API_KEY": "d"},
        ("deepseek-chat", DEEPSEEK, "d", "deepseek"),
    ),
    ({"name": "openai/gpt-5"}, m(), {"OPENAI_API_KEY": "o"}, ("gpt-5", OPENAI, "o", "openai")),
    (
        None,
        m("DeepSeek/deepseek-chat"),
        {"DEEPSEEK_API_KEY": "d"},
        ("deepseek-chat", DEEPSEEK, "d", "deepseek"),
    ),
    (
        None,
        m("openrouter/deepseek/deepseek-chat"),
        {"OPENROUTER_API_KEY": "r"},
        ("deepseek/deepseek-chat", OPENROUTER, "r", "openrouter"),
    ),
    (None, m("ollama/qwen3"), {}, ("qwen3", "http://127.0.0.1:11434/v1", None, "local")),
    (
        None,
        m("siliconflow/deepseek-ai/DeepSeek-V3"),
        {"SILICONFLOW_API_KEY": "s"},
        ("deepseek-ai/DeepSeek-V3", "https://api.siliconflow.cn/v1", "s", "openai"),
    ),
    # flag, then variable, then file
    (
        {"name": "openai/a"},
        m("deepseek/c"),
        {"MCPHOST_MODEL": "gemini/b", "DEEPSEEK_API_KEY": "d"},
        ("c", DEEPSEEK, "d", "deepseek"),
    ),
    (
        {"name": "openai/a"},
        m(),
        {"MCPHOST_MODEL": "deepseek/b", "DEEPSEEK_API_KEY": "d"},
        ("b", DEEPSEEK, "d", "deepseek"),
    ),
    ({"name": "a", "base_url": LOCAL}, m(), {"MCPHOST_MODEL": " "}, ("a", LOCAL, None, "openai")),
    # a first part that is no provider belongs to the name
    (None, m("org/model", LOCAL), {}, ("org/model", LOCAL, None, "openai")),
    ({"name": "org/model", "base_url": GATEWAY}, m(), {}, ("org/model", GATEWAY, None, "openai")),
    # the address is replaced by flag and variable
    (None, m("deepseek/x", LOCAL), {}, ("x", LOCAL, None, "deepseek")),
    (None, m("deepseek/x"), {"OPENAI_BASE_URL": LOCAL}, ("x", LOCAL, None, "deepseek")),
    (None, m("x", LOCAL), {"OPENAI_BASE_URL": GATEWAY}, ("x", LOCAL, None, "openai")),
    ({"name": "x", "base_url": GATEWAY}, m(), {"OPENAI_BASE_URL": LOCAL}, ("x", LOCAL, None, "openai")),
    ({"name": "deepseek/x", "base_url": LOCAL}, m(), {}, ("x", LOCAL, None, "deepseek")),
    (None, m("x", f"{LOCAL}/chat/completions"), {}, ("x", LOCAL, None, "openai")),
    # a known host picks dialect and key; another provider before the name is then part of it
    (None, m("x", DEEPSEEK), {"DEEPSEEK_API_KEY": "d"}, ("x", DEEPSEEK, "d", "deepseek")),
    (
        {"name": "deepseek/x", "base_url": OPENROUTER},
        m(),
        {"OPENROUTER_API_KEY": "r"},
        ("deepseek/x", OPENROUTER, "r", "openrouter"),
    ),
    (
        None,
        m("x", "https://api.moonshot.ai/v1"),
        {"MOONSHOT_API_KEY": "k"},
        ("x", "https://api.moonshot.ai/v1", "k", "moonshot"),
    ),
    # the file's word on the dialect is the last
    (
        {"name": "deepseek-chat", "base_url": LOCAL, "dialect": "deepseek"},
        m(),
        {},
        ("deepseek-chat", LOCAL, None, "deepseek"),
    ),
    (
        {"name": "deepseek/x", "dialect": "openai"},
        m(),
        {"DEEPSEEK_API_KEY": "d"},
        ("x", DEEPSEEK, "d", "openai"),
    ),
    # keys: the flag's, then $OPENAI_API_KEY, then the file's
    (None, m("x", GATEWAY, "f"), {"OPENAI_API_KEY": "o"}, ("x", GATEWAY, "f", "openai")),
    (None, m("x", GATEWAY), {"OPENAI_API_KEY": " o\n"}, ("x", GATEWAY, "o", "openai")),
    (None, m("x", LOCAL), {"OPENAI_API_KEY": "o"}, ("x", LOCAL, "o", "openai")),
    ({"name": "x", "base_url": GATEWAY, "api_key": "k"}, m(), {}, ("x", GATEWAY, "k", "openai")),
    (
        {"name": "x", "base_url": GATEWAY, "api_key": "k"},
        m(),
        {"OPENAI_API_KEY": "o"},
        ("x", GATEWAY, "o", "openai"),
    ),
    ({"name": "openai/x", "api_key": "k"}, m(), {"OPENAI_API_KEY": "o"}, ("x", OPENAI, "o", "openai")),
    # a key for OpenAI is not sent to a provider that has its own
    (
        None,
        m("deepseek/x"),
        {"DEEPSEEK_API_KEY": "d", "OPENAI_API_KEY": "o"},
        ("x", DEEPSEEK, "d", "deepseek"),
    ),
    (
        {"name": "deepseek/x", "api_key": "k"},
        m(),
        {"DEEPSEEK_API_KEY": "d", "OPENAI_API_KEY": "o"},
        ("x", DEEPSEEK, "k", "deepseek"),
    ),
    (None, m("deepseek/x"), {"OPENAI_API_KEY": "o"}, ("x", DEEPSEEK, "o", "deepseek")),
    # but address and key that are set together belong together
    (
        None,
        m("deepseek/x"),
        {"OPENAI_BASE_URL": DEEPSEEK, "OPENAI_API_KEY": "o", "DEEPSEEK_API_KEY": "d"},
        ("x", DEEPSEEK, "o", "deepseek"),
    ),
    (
        None,
        m("deepseek/x"),
        {"OPENAI_BASE_URL": GATEWAY, "OPENAI_API_KEY": "o", "DEEPSEEK_API_KEY": "d"},
        ("x", GATEWAY, "o", "deepseek"),
    ),
    (
        None,
        m("deepseek/x"),
        {"OPENAI_BASE_URL": GATEWAY, "DEEPSEEK_API_KEY": "d"},
        ("x", GATEWAY, "d", "deepseek"),
    ),
    # a name alone is the file's endpoint's, or else OpenAI's
    (
        {"name": "a", "base_url": GATEWAY, "api_key": "k", "dialect": "moonshot"},
        m("b"),
        {},
        ("b", GATEWAY, "k", "moonshot"),
    ),
    ({"name": "deepseek/a"}, m("b"), {"DEEPSEEK_API_KEY": "d"}, ("b", DEEPSEEK, "d", "deepseek")),
    (None, m("gpt-5"), {"OPENAI_API_KEY": "o"}, ("gpt-5", OPENAI, "o", "openai")),
    # a named provider takes nothing from a file that is about another
    (
        {"name": "a", "base_url": GATEWAY, "api_key": "k", "dialect": "moonshot"},
        m("deepseek/b"),
        {"DEEPSEEK_API_KEY": "d"},
        ("b", DEEPSEEK, "d", "deepseek"),
    ),
    (
        {"name": "deepseek/a", "base_url": GATEWAY, "api_key": "k"},
        m("deepseek/b"),
        {"DEEPSEEK_API_KEY": "d"},
        ("b", GATEWAY, "k", "deepseek"),
    ),
]


@pytest.mark.parametrize(("file", "flags", "environ", "expected"), CASES)
def test_name_address_key_and_dialect(
    file: dict[str, Any] | None,
    flags: Any,
    environ: dict[str, str],
    expected: tuple[str, str, str | None, str],
):
    model = resolved(file, flags, **environ)
    assert (model.name, model.base_url, model.api_key, model.dialect) == expected


def test_options_stay_and_extra_body_goes_with_its_endpoint():
    file = {"name": "openai/a", "options": {"temperature": 0}, "extra_body": {"x": 1}}
    same = resolved(file, m("openai/b"), OPENAI_API_KEY="o")
    other = resolved(file, m("deepseek/b"), DEEPSEEK_API_KEY="d")
    assert (same.options, same.extra_body) == ({"temperature": 0}, {"x": 1})
    assert (other.options, other.extra_body) == ({"temperature": 0}, {})


def test_with_nothing_set_the_three_ways_to_go_on_are_told():
    error = refused()
    assert error.message == "no model is configured"
    for way in ("-m provider/name", "$DEEPSEEK_API_KEY", "$MCPHOST_MODEL", "servers.json", "--base-url"):
        assert way in (error.hint or "")


@pytest.mark.parametrize(
    ("file", "flags", "environ", "words"),
    [
        (None, m("deepseek/x"), {}, "no key for deepseek: $DEEPSEEK_API_KEY is not set"),
        (None, m("x", DEEPSEEK), {}, "no key for deepseek: $DEEPSEEK_API_KEY is not set"),
        (None, m("openai/gpt-5"), {}, "no key for openai: $OPENAI_API_KEY is not set"),
        (None, m("deepseek/x"), {"DEEPSEEK_API_KEY": " "}, "no key for deepseek"),
        (None, m("gpt-5"), {}, "model 'gpt-5': no endpoint is known for it"),
        (None, m("anthropic/x"), {}, "model 'anthropic/x': no provider is called 'anthropic'"),
        (None, m("deepsek/x"), {}, "no provider is called 'deepsek' (did you mean deepseek?)"),
        ({"name": "deepseek/x", "api_key": "f"}, m("deepsek/y"), {}, "did you mean deepseek?"),
        ({"name": "openai/x", "api_key": "f"}, m("deepsek/y"), {}, "did you mean deepseek?"),
        ({"name": "x", "base_url": DEEPSEEK, "api_key": "f"}, m("a/b"), {}, "no provider is called 'a'"),
        (None, m("deepseek/"), {}, "names a provider and no model"),
        (None, m(None, LOCAL), {}, f"no model is named for {LOCAL}"),
        (None, m("x", "localhost:1"), {}, "--base-url must begin with http:// or https://"),
        (None, m("x", "http://[x"), {}, "--base-url is not a web address"),
        (
            None,
            m("x"),
            {"OPENAI_BASE_URL": "ftp://x"},
            "$OPENAI_BASE_URL must begin with http:// or https://",
        ),
        (None, m("x", GATEWAY, "a b"), {}, "--api-key holds characters that a key cannot have"),
        (None, m("x", GATEWAY), {"OPENAI_API_KEY": "kéy"}, "$OPENAI_API_KEY holds characters"),
        ({"name": "${NO}"}, m(), {}, "the configuration: model.name: $NO is not set"),
        ({"name": "x", "base_url": "${NO}"}, m(), {}, "model.base_url: $NO is not set"),
        ({"name": "deepseek/x", "base_url": "${NO}"}, m(), {}, "model.base_url: $NO is not set"),
        ({"name": "x", "base_url": GATEWAY, "api_key": "${NO}"}, m(), {}, "model.api_key: $NO is not set"),
        ({"name": "deepseek/x", "api_key": "${NO}"}, m(), {}, "model.api_key: $NO is not set"),
        (
            {"name": "x", "base_url": LOCAL, "options": {"user": "${NO}"}},
            m(),
            {},
            "model.options: $NO is not set",
        ),
    ],
)
def test_what_is_missing_is_an_error_that_says_so(
    file: dict[str, Any] | None, flags: Any, environ: dict[str, str], words: str
):
    assert words in refused(file, flags, **environ).message


@pytest.mark.parametrize(
    ("file", "flags", "environ"),
    [
        ({"name": "deepseek/x", "api_key": "${NO}"}, m(None, None, "f"), {}),
        ({"name": "deepseek/x", "api_key": "${NO}"}, m(), {"DEEPSEEK_API_KEY": "d"}),
        ({"name": "deepseek/x", "base_url": "${NO}"}, m(None, LOCAL), {}),
        ({"name": "${NO}", "base_url": LOCAL}, m("x"), {}),
        (
            {"name": "a", "base_url": "${NO}", "api_key": "${NO}", "extra_body": {"x": "${NO}"}},
            m("ollama/x"),
            {},
        ),
        ({"name": "x", "base_url": LOCAL, "api_key": "${NO}"}, m(), {}),
        ({"name": "x", "base_url": LOCAL, "api_key": "${NO:-}"}, m(), {}),
    ],
)
def test_an_unset_variable_is_no_error_where_its_value_is_not_needed(
    file: dict[str, Any], flags: Any, environ: dict[str, str]
):
    assert resolved(file, flags, **environ).name == "x"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (ModelSpec(name="x", base_url="http://[x"), "model.base_url is not a web address"),
        (ModelSpec(name="x", base_url=LOCAL, dialect="deepsek"), "no dialect is called 'deepsek'; there are"),
    ],
)
def test_a_model_that_a_program_made_is_checked_too(spec: ModelSpec, words: str):
    with pytest.raises(ConfigError) as caught:
        resolve_model(Config(model=spec), environ={})
    assert words in caught.value.message


def test_an_error_never_shows_a_key():
    error = refused({"name": "x", "base_url": "https://u:S3CRET@h", "api_key": "S3CRET é"})
    assert "S3CRET" not in f"{error.message} {error.hint}"


def test_a_resolved_model_is_not_changed_by_the_environment():
    flags = m("deepseek/a", LOCAL, "f")
    config = Config(model=resolved(None, flags))
    environ = {"MCPHOST_MODEL": "openai/z", "OPENAI_BASE_URL": GATEWAY, "OPENAI_API_KEY": "o"}
    assert resolve_model(config, environ=environ) == config.model
    assert model_dialect(config, environ=environ).name == "deepseek"
    other = resolve_model(config, flag_model="b", environ=environ)
    assert (other.name, other.base_url, other.api_key) == ("b", LOCAL, "f")
    moved = resolve_model(config, flag_model="openrouter/c", environ={"OPENROUTER_API_KEY": "r", **environ})
    assert (moved.name, moved.base_url, moved.api_key) == ("c", OPENROUTER, "r")


@pytest.mark.parametrize(
    ("file", "dialect"),
    [
        (None, "openai"),
        ({"name": "deepseek-chat", "dialect": "deepseek"}, "deepseek"),
        ({"name": "deepseek/x"}, "deepseek"),
        ({"base_url": "https://generativelanguage.googleapis.com/v1beta/openai"}, "gemini"),
        ({"base_url": "${NO}", "name": "ollama/x"}, "local"),
    ],
)
def test_the_dialect_is_known_without_a_key(file: dict[str, Any] | None, dialect: str):
    config = parse({"model": file}, source=None, environ={})
    assert model_dialect(config, environ={}) is DIALECTS[dialect]


def test_the_recorded_configuration_speaks_its_dialect(shared: Any):
    config = load([shared / "trace" / "servers.json"], environ={})
    model = resolve_model(config, flag_base_url=LOCAL, environ={})
    assert (model.name, model.dialect, model.options) == (
        "deepseek-chat",
        "deepseek",
        {"temperature": 0, "top_p": 1},
    )


def test_model_servers_of_this_machine_are_those_that_need_no_key():
    assert [provider.name for provider in local_candidates()] == ["ollama", "lmstudio", "llamacpp", "vllm"]
    assert all(is_loopback(provider.base_url) for provider in local_candidates())
    assert not any(is_loopback(provider.base_url) for provider in PROVIDERS.values() if provider.key)


@pytest.mark.parametrize(
    ("moved", "base_url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("127.0.0.1:9999", "http://127.0.0.1:9999/v1"),
        (":9999", "http://127.0.0.1:9999/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("[::1]:9999", "http://[::1]:9999/v1"),
        ("http://gpu.example:80", "http://gpu.example:80/v1"),
        ("https://gpu.example/ollama/", "https://gpu.example:443/ollama/v1"),
        ("127.0.0.1:no", "http://127.0.0.1:11434/v1"),
    ],
)
def test_ollamas_own_variable_moves_it(moved: str, base_url: str):
    environ = {"OLLAMA_HOST": moved}
    assert local_candidates(environ)[0].base_url == base_url
    assert (
        resolve_model(parse({}, source=None, environ={}), flag_model="ollama/x", environ=environ).base_url
        == base_url
    )


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://localhost:1/v1", True),
        ("http://LOCALHOST./v1", True),
        ("http://a.localhost", True),
        ("http://127.0.0.1", True),
        ("http://127.9.9.9:80", True),
        ("http://[::1]:1", True),
        ("http://[::ffff:127.0.0.1]", True),
        ("http://0.0.0.0:8000", True),
        ("http://10.0.0.1", False),
        ("http://localhost.example", False),
        ("http://[x", False),
        ("", False),
    ],
)
def test_loopback_addresses(url: str, loopback: bool):
    assert is_loopback(url) is loopback


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        (" https://h/v1/ ", "https://h/v1"),
        ("https://h", "https://h"),
        ("https://h/v1/chat/completions", "https://h/v1"),
        ("https://h/v1/completions/", "https://h/v1"),
        ("HTTP://h:8/x", "HTTP://h:8/x"),
    ],
)
def test_a_base_url_is_taken_as_it_is_pasted(url: str, clean: str):
    assert clean_base_url(url) == clean
