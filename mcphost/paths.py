"""Where files of ours live, by the platform's conventions."""

import re
from collections.abc import Mapping
from pathlib import Path

import platformdirs

APP = "mcphost"


def user_config() -> Path:
    """The user's own servers.json, whether or not it is there."""
    return platformdirs.user_config_path(APP) / "servers.json"


def data_folder() -> Path:
    """What the user would miss: sessions, results that were saved, files that were confirmed."""
    return platformdirs.user_data_path(APP)


def cache_folder() -> Path:
    """What can be found out anew: which servers speak only the old handshake."""
    return platformdirs.user_cache_path(APP)


def log_folder() -> Path:
    """What servers wrote to stderr, a file each."""
    return platformdirs.user_log_path(APP) / "servers"


def results_folder() -> Path:
    """Images, files and long texts from tool results."""
    return data_folder() / "results"


def file_name(name: str) -> str:
    """`name` as a file name: letters of any script, digits, `-` and `_` stay; never empty, hidden or long."""
    return re.sub(r"[^\w-]+", "_", name)[:80] or "_"


def command_path(environ: Mapping[str, str]) -> str | None:
    """The PATH that a child with this environment would see."""
    return environ.get("PATH") or None
