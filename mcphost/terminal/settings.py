"""The flags that every command takes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class Settings:
    """The shared flags as they were typed. `wait` is in seconds."""

    configs: tuple[Path, ...] = ()
    model: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    servers: tuple[str, ...] = ()
    naming: Literal["cherry", "mcp", "plain"] | None = None
    results: Literal["text", "blocks"] | None = None
    wait: float | None = None
    verbose: bool = False
    trace: Path | None = None
