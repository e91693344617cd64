"""What a server's process finds in its environment: what programs need to work, and none of our secrets."""

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase

from mcphost.redact import is_secret_name
from mcphost.specs import ServerSpec

_SAFE = (
    # who and where one is
    "HOME LOGNAME PATH SHELL TERM USER LANG LANGUAGE LC_* TZ TMPDIR TEMP TMP XDG_* "
    # how the network is reached
    "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY FTP_PROXY SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE "
    "CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS NODE_USE_ENV_PROXY NODE_USE_SYSTEM_CA "
    # where npx, uvx and their like find registries, versions and caches
    "NPM_CONFIG_* UV_* PIP_* NVM_* FNM_* VOLTA_HOME PNPM_HOME BUN_INSTALL BUN_CONFIG_REGISTRY DENO_DIR "
    "COREPACK_HOME ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR MISE_CONFIG_DIR PYENV_ROOT PYENV_VERSION PYTHONUTF8 "
    # Windows
    "SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES* "
    "COMMONPROGRAMFILES* ALLUSERSPROFILE USERPROFILE USERNAME USERDOMAIN HOMEDRIVE HOMEPATH COMPUTERNAME OS "
    "PROCESSOR_ARCHITECTURE NUMBER_OF_PROCESSORS PSMODULEPATH"
).split()
"""Names, in capitals, that every server gets. Proxies and npm's settings are written in small letters too."""

_HARMLESS = ("*_KEYRING_PROVIDER",)
"""Named like secrets, and none."""


def child_environment(spec: ServerSpec, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server's process: the safe ones of `environ`, those that `inherit_env` names, then
    the entry's own in their own case. A shell function (a value that begins with `()`) is never inherited.

    What is named like a secret is not safe, such as a registry's token or password: it takes `inherit_env`.
    Credentials inside the URL of an index or a proxy go along, as npx and uvx reach nothing without them.
    """
    inherited = {
        name: value
        for name, value in environ.items()
        if not value.startswith("()") and (_is_safe(name) or _is_named(name, spec.inherit_env))
    }
    if os.name == "nt":
        inherited.setdefault("PYTHONUTF8", "1")
        own = {name.upper() for name in spec.env}
        inherited = {name: value for name, value in inherited.items() if name.upper() not in own}
    return inherited | dict(spec.env)


def _is_safe(name: str) -> bool:
    name = name.upper()
    secret = is_secret_name(name) and not any(fnmatchcase(name, glob) for glob in _HARMLESS)
    return not secret and any(fnmatchcase(name, glob) for glob in _SAFE)


def _is_named(name: str, globs: tuple[str, ...]) -> bool:
    if os.name == "nt":
        return any(fnmatchcase(name.upper(), glob.upper()) for glob in globs)
    return any(fnmatchcase(name, glob) for glob in globs)
