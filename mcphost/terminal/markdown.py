"""Markdown as styled lines of a given width."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from mcphost.terminal.cells import Line, line_width, merged, plain, width, wrapped
from mcphost.terminal.highlight import Highlighter

PARSER: Final = MarkdownIt("commonmark").enable(["table", "strikethrough"])

_LEAST_CELL: Final = 6
"""Columns below which a table's cells are not wrapped, but listed."""

_HEADINGS: Final = {"h1": "bold underline", "h2": "bold"}


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the top level, or an item of a list there. `start` and `end` are lines of the source.

    `number` is the item's in an ordered list, None in all other blocks.
    """

    tokens: Sequence[Token]
    start: int
    end: int
    number: int | None = None

    @property
    def kind(self) -> str:
        return self.tokens[0].type.removesuffix("_open")


def blocks(source: str) -> list[Block]:
    """The blocks of the top level."""
    return _grouped(PARSER.parse(source))


def items(block: Block, first: int | None = None) -> list[Block]:
    """The items of a list; an ordered one is counted from `first`, or as it says itself."""
    ordered = block.kind == "ordered_list"
    start = int(block.tokens[0].attrs.get("start", 1)) if first is None else first
    found = _grouped(block.tokens[1:-1])
    return [
        Block(item.tokens, item.start, item.end, start + place if ordered else None)
        for place, item in enumerate(found)
    ]


def render(block: Block, columns: int) -> list[Line]:
    """A block in at most `columns` columns, except for code, whose lines are as long as they are."""
    return list(_block(block, columns))


def code_lines(text: str, language: str) -> list[Line]:
    highlighter = Highlighter(language)
    return [highlighter.line(line.expandtabs(4)) for line in text.removesuffix("\n").split("\n")]


def _grouped(tokens: Sequence[Token]) -> list[Block]:
    found: list[Block] = []
    depth = begin = 0
    for place, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            start, end = tokens[begin].map or (0, 0)
            found.append(Block(tokens[begin : place + 1], start, end))
            begin = place + 1
    return found


def _block(block: Block, columns: int) -> Iterator[Line]:  # noqa: C901 (one case a kind)
    first = block.tokens[0]
    match block.kind:
        case "heading":
            style = _HEADINGS.get(first.tag, "bold")
            for line in _inline(block.tokens[1], style):
                yield from wrapped(line, columns)
        case "paragraph":
            for line in _inline(block.tokens[1]):
                yield from wrapped(line, columns)
        case "fence" | "code_block":
            language = first.info.split()[0] if first.info.split() else ""
            if first.type == "fence":
                yield [("dim", f"```{language}")]
            yield from code_lines(first.content, language)
            if first.type == "fence":
                yield [("dim", "```")]
        case "hr":
            yield [("dim", "─" * min(columns, 40))]
        case "bullet_list" | "ordered_list":
            yield from _spaced(items(block), columns)
        case "list_item":
            yield from _item(block, columns)
        case "blockquote":
            for line in _spaced(_grouped(block.tokens[1:-1]), max(columns - 2, 4)):
                yield [("dim", "│ "), *line]
        case "table":
            yield from _table(block.tokens, columns)
        case _:  # HTML, which is shown as it is
            for text in first.content.removesuffix("\n").split("\n"):
                yield from wrapped([("", text.expandtabs(4))], columns)


def needs_gap(before: Block | None, block: Block, *, blank: bool) -> bool:
    """Whether an empty line goes before `block`. `blank`: there is one in the source."""
    if before is None:
        return False
    apart = ("heading", "fence", "table", "hr")
    return blank or block.kind in apart or before.kind in ("fence", "table")


def _spaced(inner: Sequence[Block], columns: int) -> Iterator[Line]:
    """Blocks inside another, with empty lines where the source has them."""
    before: Block | None = None
    for block in inner:
        blank = before is not None and block.start > _text_end(before)
        if needs_gap(before, block, blank=blank) and not (before and block.kind == "list_item" and not blank):
            yield []
        yield from _block(block, columns)
        before = block


def _text_end(block: Block) -> int:
    """The line after the last one of `block` that holds something: its own end may lie behind empty lines."""
    inner = [token.map[1] for token in block.tokens if token.map and token.type in _LEAVES]
    return max(inner, default=block.end)


_LEAVES: Final = ("inline", "fence", "code_block", "hr", "html_block")


def _item(block: Block, columns: int) -> Iterator[Line]:
    marker = "• " if block.number is None else f"{block.number}. "
    indent = " " * width(marker)
    inner = _grouped(block.tokens[1:-1])
    lines = list(_spaced(inner, max(columns - width(marker), 4)))
    for place, line in enumerate(lines or [[]]):
        if place == 0:
            yield [("ansicyan", marker), *_task(line)]
        else:
            yield [("", indent), *line] if line else []


def _task(line: Line) -> Line:
    """The box of a task list, as a box."""
    text = plain(line)
    for written, box in (("[ ] ", "☐ "), ("[x] ", "☑ "), ("[X] ", "☑ ")):
        if text.startswith(written) and line[0][1].startswith(written):
            style, first = line[0]
            return [(style, box + first.removeprefix(written)), *line[1:]]
    return line


def _inline(token: Token, style: str = "") -> list[Line]:
    """The lines of an inline token: a line break of the source is one here."""
    lines: list[Line] = [[]]
    styles, links = [style], list[str]()
    for child in token.children or ():
        match child.type:
            case "text" | "html_inline":
                lines[-1].append((styles[-1], child.content))
            case "code_inline":
                lines[-1].append((f"{styles[-1]} ansicyan".strip(), child.content))
            case "softbreak" | "hardbreak":
                lines.append([])
            case "strong_open" | "em_open" | "s_open" | "link_open":
                words = {"strong_open": "bold", "em_open": "italic", "s_open": "strike"}
                styles.append(f"{styles[-1]} {words.get(child.type, 'underline')}".strip())
                if child.type == "link_open":
                    links.append(str(child.attrs.get("href", "")))
            case "strong_close" | "em_close" | "s_close":
                styles.pop()
            case "link_close":
                styles.pop()
                address = links.pop()
                if address not in plain(lines[-1]):
                    lines[-1].append((f"{styles[-1]} dim".strip(), f" ({address})"))
            case "image":
                lines[-1].append((styles[-1], f"[{child.content or 'image'}]"))
                lines[-1].append((f"{styles[-1]} dim".strip(), f" ({child.attrs.get('src', '')})"))
            case _:
                lines[-1].append((styles[-1], child.content))
    return [
        merged((style, " ".join(text.splitlines()).replace("\t", " ")) for style, text in line)
        for line in lines
    ]


def _table(tokens: Sequence[Token], columns: int) -> Iterator[Line]:
    rows, sides = _cells(tokens)
    count = max(len(row) for row in rows)
    rows = [[*row, *([[]] * (count - len(row)))] for row in rows]
    natural = [max(1, *(line_width(row[column]) for row in rows)) for column in range(count)]
    widths = _fitted(natural, columns - 3 * (count - 1))
    if widths is None:
        yield from _records(rows, columns)
        return
    for place, row in enumerate(rows):
        yield from _row(row, widths, sides)
        if place == 0:
            yield [("dim", "─┼─".join("─" * size for size in widths))]


def _cells(tokens: Sequence[Token]) -> tuple[list[list[Line]], list[str]]:
    """The cells by row, and how the columns are aligned."""
    rows: list[list[Line]] = []
    sides: list[str] = []
    style = ""
    for place, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            style = "bold" if token.type == "th_open" else ""
            if len(rows) == 1:
                sides.append(str(token.attrs.get("style", "")).removeprefix("text-align:"))
            content = [piece for line in _inline(tokens[place + 1], style) for piece in line]
            rows[-1].append(content)
    return rows, sides


def _fitted(natural: Sequence[int], room: int) -> list[int] | None:
    """The columns' widths within `room`: the widest give first. None where some would get too little."""
    widths = list(natural)
    while sum(widths) > room:
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= _LEAST_CELL:
            return None
        widths[widest] -= 1
    return widths


def _row(row: Sequence[Line], widths: Sequence[int], sides: Sequence[str]) -> Iterator[Line]:
    cells = [wrapped(cell, size) for cell, size in zip(row, widths, strict=True)]
    for number in range(max(map(len, cells))):
        line: Line = []
        for column, cell in enumerate(cells):
            text = cell[number] if number < len(cell) else []
            space = widths[column] - line_width(text)
            left = {"right": space, "center": space // 2}.get(sides[column] if column < len(sides) else "", 0)
            after = " " * (space - left) if column < len(cells) - 1 else ""
            line += [("dim", " │ ")] if column else []
            line += [("", " " * left), *text, ("", after)]
        yield merged(line)


def _records(rows: Sequence[Sequence[Line]], columns: int) -> Iterator[Line]:
    """A table that is too wide: each row as a list of its cells, named by the header."""
    header = rows[0]
    for place, row in enumerate(rows[1:]):
        if place:
            yield []
        for name, cell in zip(header, row, strict=True):
            yield from wrapped([*name, ("", ": "), *cell], columns, rest=[("", "  ")])
