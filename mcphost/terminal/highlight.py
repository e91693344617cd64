"""Code in colours, a line at a time, so that a line that has been shown never changes."""

from collections.abc import Callable
from typing import Any, Final

from pygments import lexers
from pygments.lexer import Lexer
from pygments.token import Comment, Generic, Keyword, Name, Number, String
from pygments.util import ClassNotFound

from mcphost.terminal.cells import Line, merged

_CONTEXT: Final = 40
"""How many lines back are looked at, to know whether a line is inside a string or a comment."""

_STYLES: Final[tuple[tuple[Any, str], ...]] = (
    (Comment, "dim"),
    (Keyword, "ansimagenta"),
    (String, "ansigreen"),
    (Number, "ansicyan"),
    (Name.Function, "ansiblue"),
    (Name.Class, "ansiblue"),
    (Name.Decorator, "ansiblue"),
    (Name.Tag, "ansiblue"),
    (Name.Attribute, "ansicyan"),
    (Name.Builtin, "ansicyan"),
    (Generic.Deleted, "ansired"),
    (Generic.Inserted, "ansigreen"),
    (Generic.Heading, "bold"),
    (Generic.Subheading, "bold"),
)


_lexer_by_name: Final[Callable[..., Lexer]] = lexers.get_lexer_by_name  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


class Highlighter:
    """Colours the lines of one block of code in a language; one that is not known stays plain."""

    def __init__(self, language: str) -> None:
        self._lexer = _lexer(language)
        self._before: list[str] = []

    def line(self, text: str) -> Line:
        """The next line, coloured."""
        shown = self.peek(text)
        self._before = [*self._before[1 - _CONTEXT :], text]
        return shown

    def peek(self, text: str) -> Line:
        """The line that comes next as far as it is there yet."""
        if self._lexer is None:
            return [("", text)] if text else []
        tokens = self._lexer.get_tokens("\n".join([*self._before, text]))
        skip, line = len(self._before), Line()
        for kind, value in tokens:
            for number, part in enumerate(value.split("\n")):
                skip -= bool(number)
                if skip == 0 and part:
                    line.append((_style(kind), part))
        return merged(line)


def _lexer(language: str) -> Lexer | None:
    try:
        return _lexer_by_name(language, stripnl=False) if language else None
    except ClassNotFound:
        return None


def _style(kind: Any) -> str:
    return next((style for of, style in _STYLES if kind in of), "")
