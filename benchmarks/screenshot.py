"""Makes docs/chat.svg: a chat with the bundled demo, as a terminal shows it.

    python benchmarks/screenshot.py [FILE]

The program runs on a pseudo-terminal, pyte interprets what it writes, and the screen becomes an SVG.
"""

import fcntl
import html
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import pyte
from wcwidth import wcwidth

COLUMNS, ROWS = 92, 31
CELL, LINE, MARGIN = 8.4, 19, 16
QUESTION = "今天下午从苏州到北京的高铁票还有没"
COLOURS = {
    "black": "#1b1f24", "red": "#e5534b", "green": "#57ab5a", "brown": "#c69026", "blue": "#6cb6ff",
    "magenta": "#dcbdfb", "cyan": "#76e3ea", "white": "#adbac7", "brightblack": "#768390",
}  # fmt: skip
DIM = re.compile(rb"\x1b\[(0;)?2m")
"""What pyte does not know, shown in grey."""

SECONDS = 60


class Recorded:
    """The demo's chat on a terminal of its own."""

    def __init__(self, home: Path) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        env = {**os.environ, "HOME": str(home), "TERM": "xterm-256color"}
        env.pop("NO_COLOR", None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mcphost", "demo", "--chat"],
            stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True,
        )  # fmt: skip
        os.close(slave)

    def until(self, text: str) -> None:
        deadline = time.monotonic() + SECONDS
        while text not in "\n".join(self.screen.display):
            if time.monotonic() > deadline:
                raise SystemExit(f"{text!r} never came:\n" + "\n".join(self.screen.display))
            if select.select([self._master], [], [], 0.1)[0]:
                self._stream.feed(DIM.sub(b"\x1b[\\g<1>90m", os.read(self._master, 65536)))

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


def svg(screen: pyte.Screen) -> str:
    rows = [number for number, line in enumerate(screen.display) if line.strip()]
    first, last = min(rows), max(rows)
    width, height = COLUMNS * CELL + 2 * MARGIN, (last - first + 1) * LINE + 2 * MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        "<title>A chat with mcphost</title>",
        f'<rect width="100%" height="100%" rx="8" fill="{COLOURS["black"]}"/>',
        "<g font-family=\"ui-monospace, Menlo, Consolas, 'Noto Sans Mono CJK SC', monospace\" "
        'font-size="14" xml:space="preserve">',
    ]
    for row in range(first, last + 1):
        out += line_of(screen, row, MARGIN + (row - first + 0.75) * LINE)
    return "\n".join([*out, "</g>", "</svg>\n"])


def line_of(screen: pyte.Screen, row: int, y: float) -> list[str]:
    """Runs of one look, each where it belongs, whatever the font makes of its characters."""
    out: list[str] = []
    column = 0
    while column < COLUMNS:
        char = screen.buffer[row][column]
        look, text, begin = look_of(char), "", column
        while column < COLUMNS and look_of(screen.buffer[row][column]) == look:
            text += screen.buffer[row][column].data
            column += 1
        if text := text.rstrip():
            size = sum(max(wcwidth(each), 0) for each in text) * CELL
            out.append(
                f'<text x="{MARGIN + begin * CELL:.1f}" y="{y:.1f}" textLength="{size:.1f}" '
                f'lengthAdjust="spacingAndGlyphs"{look}>{html.escape(text)}</text>'
            )
    return out


def look_of(char: pyte.screens.Char) -> str:
    colour = COLOURS.get(char.fg, COLOURS["white"])
    bold = ' font-weight="bold"' if char.bold else ""
    italic = ' font-style="italic"' if char.italics else ""
    return f' fill="{colour}"{bold}{italic}'


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/chat.svg")
    with tempfile.TemporaryDirectory() as home:
        chat = Recorded(Path(home))
        try:
            chat.until("2 of 2 servers")
            chat.type(f"{QUESTION}\r")
            chat.until("以上为")
            chat.type("/tools maps_geo")
            chat.until("> /tools maps_geo")
        finally:
            chat.close()
    target.parent.mkdir(exist_ok=True)
    target.write_text(svg(chat.screen), encoding="utf-8")
    print(target)


if __name__ == "__main__":
    main()
