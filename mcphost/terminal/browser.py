"""Opening a page in the user's browser, which is none that would take over the terminal."""

import os
import sys
import webbrowser

import anyio.to_thread


async def open_page(url: str) -> bool:
    """Whether a browser was opened."""
    return await anyio.to_thread.run_sync(_open, url)


def _open(url: str) -> bool:
    screens = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    if sys.platform not in ("darwin", "win32") and not any(os.environ.get(name) for name in screens):
        return False
    try:
        return webbrowser.open(url)
    except (OSError, webbrowser.Error):
        return False
