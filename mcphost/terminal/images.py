"""Pictures in terminals that can draw them: kitty's protocol, and iTerm2's."""

from base64 import b64encode
from collections.abc import Mapping

from mcphost.messages import Attachment

_PIECE = 4096
"""Bytes of base64 that kitty takes at once."""


def drawn(attachment: Attachment, environ: Mapping[str, str]) -> str | None:
    """What draws a picture in the terminal that the environment tells of; None where none can.

    https://sw.kovidgoyal.net/kitty/graphics-protocol, https://iterm2.com/documentation-images.html
    """
    if attachment.kind != "image" or environ.get("TMUX") or environ.get("STY"):
        return None
    program, term = environ.get("TERM_PROGRAM", ""), environ.get("TERM", "")
    data = b64encode(attachment.data).decode("ascii")
    if environ.get("KITTY_WINDOW_ID") or term in ("xterm-kitty", "xterm-ghostty") or program == "ghostty":
        return _kitty(data) if attachment.mime_type == "image/png" else None
    if program in ("iTerm.app", "WezTerm", "vscode", "mintty") or environ.get("LC_TERMINAL") == "iTerm2":
        return f"\x1b]1337;File=inline=1;preserveAspectRatio=1;size={len(attachment.data)}:{data}\x07"
    return None


def _kitty(data: str) -> str:
    pieces = [data[start : start + _PIECE] for start in range(0, len(data), _PIECE)] or [""]
    last = len(pieces) - 1
    return "".join(
        f"\x1b_G{'a=T,f=100,q=2,' if number == 0 else ''}m={int(number < last)};{piece}\x1b\\"
        for number, piece in enumerate(pieces)
    )
