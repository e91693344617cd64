"""JSON as people write it by hand: comments, trailing commas and a BOM are allowed (RFC 8259 otherwise).

Our own reader, because `json` can neither say where a key stands nor that it stands there twice, and
taking comments out beforehand goes wrong at the `//` of a URL.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

KeyPath = tuple[str | int, ...]
"""Where a value is: `("mcpServers", "a", "args", 0)`."""

_MAX_DEPTH: Final = 100
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[\w.+$-]+")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}
_MEANT: Mapping[str, str] = {
    "True": "true",
    "TRUE": "true",
    "False": "false",
    "FALSE": "false",
    "None": "null",
    "NULL": "null",
    "nil": "null",
    "undefined": "null",
}
_ESCAPES: Mapping[str, str] = {
    '"': '"',
    "\\": "\\",
    "/": "/",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
}
_LOOKALIKES: Mapping[str, str] = dict(zip("“”„‟＂，：｛｝［］", '"""""' + ",:{}[]", strict=True))


class JsoncError(ValueError):
    """Text that is not JSON. `reason` says so in words, without quoting values, which may be secret."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.reason = reason
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Document:
    """A value, the line (from 1) of each key and item in it, and the keys that stood there twice.

    Of two equal keys the later counts, as it does in every JSON reader.
    """

    value: object
    lines: Mapping[KeyPath, int]
    repeated: tuple[str, ...] = ()


def parse(text: str) -> Document:
    """Reads one JSON value. Raises `JsoncError`."""
    reader = _Reader(text)
    return Document(reader.document(), reader.lines, tuple(reader.repeated))


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.start = 1 if text.startswith("\ufeff") else 0
        self.at = self.start
        self.line_starts = [self.start, *(found.end() for found in re.finditer(r"\r\n?|\n", text))]
        self.lines: dict[KeyPath, int] = {}
        self.repeated: list[str] = []

    def document(self) -> object:
        self.skip()
        if self.at == len(self.text):
            self.fail("there is nothing in it")
        value = self.value(())
        self.skip()
        if self.at < len(self.text):
            self.fail(f"something follows the end of the JSON value: {self.shown()}")
        return value

    def value(self, path: KeyPath) -> object:
        if len(path) > _MAX_DEPTH:
            self.fail(f"more than {_MAX_DEPTH} levels deep")
        match self.peek():
            case "{":
                return self.members(path)
            case "[":
                return self.items(path)
            case '"':
                return self.string()
            case _:
                return self.scalar()

    def members(self, path: KeyPath) -> dict[str, object]:
        start, result, first_lines = self.open(), dict[str, object](), dict[str, int]()
        while self.peek() != "}":
            self.needs_value(start, "{")
            key_at = self.at
            key, line = self.key(), self.line(key_at)
            if key in first_lines:
                self.repeated.append(f"{dotted((*path, key))} (lines {first_lines[key]} and {line})")
            first_lines[key] = self.lines[(*path, key)] = line
            self.skip()
            if self.peek() != ":":
                self.fail(f"a colon belongs after a key, not {self.shown()}")
            self.at += 1
            self.skip()
            self.needs_value(start, "{")
            result[key] = self.value((*path, key))
            self.separator(start, "{", "}")
        self.at += 1
        return result

    def items(self, path: KeyPath) -> list[object]:
        start, result = self.open(), list[object]()
        while self.peek() != "]":
            self.needs_value(start, "[")
            here = (*path, len(result))
            self.lines[here] = self.line(self.at)
            result.append(self.value(here))
            self.separator(start, "[", "]")
        self.at += 1
        return result

    def open(self) -> int:
        start, self.at = self.at, self.at + 1
        self.skip()
        return start

    def needs_value(self, start: int, opening: str) -> None:
        """Fails, in the fitting words, where neither a key nor a value can begin."""
        match self.peek():
            case "":
                self.fail(f"the file ends before the {opening} of line {self.line(start)} is closed")
            case ",":
                self.fail("there is a comma with nothing before it")
            case ("}" | "]") as closing:
                if closing == ("}" if opening == "{" else "]"):
                    self.fail(f"a value is missing before the {closing}")
                self.fail(f"a {closing} cannot close the {opening} of line {self.line(start)}")
            case _:
                return

    def separator(self, start: int, opening: str, closing: str) -> None:
        end = self.at
        self.skip()
        match self.peek():
            case ",":
                self.at += 1
                self.skip()
            case char if char == closing:
                return
            case "" | "}" | "]":
                self.needs_value(start, opening)
            case char if char in _LOOKALIKES:
                self.fail(f"a comma or a {closing} belongs here, not {self.shown()}")
            case "/" | "#":
                self.fail(f"this is no comment: {self.shown()}")
            case _:
                self.fail("a comma is missing after this value", at=end)

    def key(self) -> str:
        if self.peek() == '"':
            return self.string()
        if word := _WORD.match(self.text, self.at):
            self.fail(f'a key stands in double quotes: "{word[0]}"')
        self.fail(f"a key in double quotes belongs here, not {self.shown()}")

    def string(self) -> str:
        start, parts = self.at, list[str]()
        self.at += 1
        while True:
            if plain := _PLAIN.match(self.text, self.at):
                parts.append(plain[0])
                self.at = plain.end()
            match self.peek():
                case '"':
                    self.at += 1
                    return "".join(parts)
                case "\\":
                    parts.append(self.escape())
                case "" | "\n" | "\r":
                    self.fail("a string begins here and has no closing quote on its line", at=start)
                case char:
                    self.fail(f"a string holds the bare control character U+{ord(char):04X}; write an escape")

    def escape(self) -> str:
        char = self.text[self.at + 1 : self.at + 2]
        if char in _ESCAPES:
            self.at += 2
            return _ESCAPES[char]
        if char != "u":
            self.fail("a backslash before a character that needs none; write two for a backslash itself")
        code = self.hex4(self.at + 2)
        self.at += 6
        if 0xD800 <= code < 0xDC00 and self.text.startswith("\\u", self.at):
            low = self.hex4(self.at + 2)
            if 0xDC00 <= low < 0xE000:
                self.at += 6
                return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
        if 0xD800 <= code < 0xE000:
            self.fail("a \\u escape is half of a surrogate pair, which is no character", at=self.at - 6)
        return chr(code)

    def hex4(self, at: int) -> int:
        digits = self.text[at : at + 4]
        if not re.fullmatch(r"[0-9a-fA-F]{4}", digits):
            self.fail(
                "\\u takes four hexadecimal digits; write two backslashes for a backslash itself", at=at - 2
            )
        return int(digits, 16)

    def scalar(self) -> object:
        word = _WORD.match(self.text, self.at)
        if word is None:
            self.fail(f"a value belongs here, not {self.shown()}")
        if word[0] in _WORDS:
            self.at = word.end()
            return _WORDS[word[0]]
        if word[0] in _MEANT:
            self.fail(f"{word[0]} is not JSON; write {_MEANT[word[0]]}")
        return self.number(word[0])

    def number(self, word: str) -> int | float:
        if word[0] not in "0123456789+-." and word not in ("NaN", "Infinity"):
            self.fail("a string stands in double quotes")
        number = _NUMBER.fullmatch(word)
        if number is None or len(word) > 400:
            self.fail("this is no number that JSON has")
        value = float(word) if number[1] or number[2] else int(word)
        if math.isinf(value):
            self.fail("this number is too large")
        self.at += len(word)
        return value

    def skip(self) -> None:
        """Passes white space and comments."""
        while (char := self.peek()) and char in " \t\r\n/":
            if char != "/":
                self.at += 1
            elif self.text.startswith("//", self.at):
                end = re.compile(r"[\r\n]|\Z").search(self.text, self.at)
                self.at = end.start() if end else len(self.text)
            elif self.text.startswith("/*", self.at):
                end = self.text.find("*/", self.at + 2)
                if end < 0:
                    self.fail("a /* comment has no */")
                self.at = end + 2
            else:
                return

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def shown(self) -> str:
        """The character at hand in words, with the reason it is wrong where that is known."""
        char = self.peek()
        if char in _LOOKALIKES:
            return f"{char} (a different character from the plain {_LOOKALIKES[char]})"
        if char in ("'", "`", "‘", "’"):
            return f"{char} (strings stand in double quotes)"
        if char in ("#", "/"):
            return f"{char} (comments begin with //)"
        if char == '"':
            return "a string"
        if char == "":
            return "the end of the file"
        return char if char.isprintable() and char != " " else f"the invisible character U+{ord(char):04X}"

    def line(self, at: int) -> int:
        return bisect_right(self.line_starts, at)

    def fail(self, reason: str, *, at: int | None = None) -> NoReturn:
        at = self.at if at is None else at
        line = self.line(at)
        raise JsoncError(reason, line, at - self.line_starts[line - 1] + 1)


def dotted(path: KeyPath) -> str:
    """A path for people: `mcpServers.a.args[0]`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")
