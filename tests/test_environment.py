"""What servers find in their environment."""

import pytest

from mcphost.config import ServerSpec, child_environment


def child(environ: dict[str, str], **kwargs: object) -> dict[str, str]:
    spec = ServerSpec.model_validate({"name": "s", "command": "x", **kwargs})
    return child_environment(spec, environ)


@pytest.mark.parametrize(
    "name",
    (
        "HOME LOGNAME PATH SHELL TERM USER LANG LC_ALL LC_CTYPE TMPDIR TZ XDG_CACHE_HOME XDG_RUNTIME_DIR "
        "HTTP_PROXY https_proxy NO_PROXY no_proxy ALL_PROXY all_proxy SSL_CERT_FILE SSL_CERT_DIR "
        "REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS PIP_INDEX_URL PIP_CONFIG_FILE UV_DEFAULT_INDEX UV_CACHE_DIR "
        "NPM_CONFIG_REGISTRY npm_config_registry NVM_DIR SystemRoot APPDATA PATHEXT ComSpec "
        "ProgramFiles(x86) USERPROFILE TEMP"
    ).split(),
)
def test_what_programs_need_to_work_is_inherited(name: str):
    assert child({name: "value"})[name] == "value"


@pytest.mark.parametrize(
    "name",
    (
        "OPENAI_API_KEY DEEPSEEK_API_KEY GITHUB_TOKEN AWS_SECRET_ACCESS_KEY SSH_AUTH_SOCK MCPHOST_MODEL "
        "LD_PRELOAD PYTHONPATH NODE_OPTIONS UV_PUBLISH_TOKEN DATABASE_URL PATHS MY_HOME"
    ).split(),
)
def test_nothing_else_is(name: str):
    assert name not in child({name: "value", "HOME": "/h"})


@pytest.mark.parametrize(
    ("globs", "names"),
    [
        (("A_ONE",), {"A_ONE"}),
        (("A_*",), {"A_ONE", "A_TWO"}),
        (("a_*",), {"a_three"}),
        (("*",), {"A_ONE", "A_TWO", "a_three", "B"}),
        (("NONE",), set[str]()),
    ],
)
def test_inherit_env_names_more_with_globs(globs: tuple[str, ...], names: set[str]):
    environ = {"A_ONE": "1", "A_TWO": "2", "a_three": "3", "B": "4"}
    assert child(environ, inherit_env=globs).keys() & environ.keys() == names


def test_a_shell_function_is_never_inherited():
    environ = {"PATH": "() { :; }; echo", "F": "() { :; }", "G": "ok"}
    assert child(environ, inherit_env=("*",)) == {"G": "ok"}


def test_the_entrys_own_come_last_and_in_their_own_case():
    environ = {"PATH": "/bin", "HTTP_PROXY": "a"}
    env = {"PATH": "/opt/bin", "http_proxy": "b", "mixedCase": "c"}
    assert child(environ, env=env) == {
        "PATH": "/opt/bin",
        "HTTP_PROXY": "a",
        "http_proxy": "b",
        "mixedCase": "c",
    }


@pytest.mark.parametrize(
    "name",
    (
        "NPM_CONFIG__AUTH npm_config__password NPM_CONFIG_//registry.example/:_authToken NPM_CONFIG_KEY "
        "npm_config__auth_token UV_INDEX_X_PASSWORD UV_PUBLISH_PASSWORD PIP_PASSWORD UV_GITHUB_TOKEN"
    ).split(),
)
def test_credentials_of_registries_take_inherit_env(name: str):
    assert name not in child({name: "value"})
    assert child({name: "value"}, inherit_env=(name,))[name] == "value"


@pytest.mark.parametrize("name", "PIP_KEYRING_PROVIDER UV_KEYRING_PROVIDER UV_INDEX_X_USERNAME".split())
def test_how_a_registry_is_logged_into_is_inherited(name: str):
    assert child({name: "value"})[name] == "value"


def test_only_of_what_is_safe_a_keyring_provider_is_inherited():
    assert "MY_KEYRING_PROVIDER" not in child({"MY_KEYRING_PROVIDER": "value"})


def test_the_address_of_an_index_is_inherited_with_its_credentials():
    environ = {"PIP_INDEX_URL": "https://user:password@index.example/simple"}
    assert child(environ) == environ
