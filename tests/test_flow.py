"""Markdown that is still being written: handed out once, and the same however it came."""

from itertools import pairwise
from unicodedata import normalize

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcphost.terminal.cells import Line, ansi, clusters, line_width, plain, width
from mcphost.terminal.flow import Flow, MarkdownFlow, PlainFlow

ANSWER = """\
# 苏州到北京 🚄

有 **6 趟** 高铁（`G902` 最早），详见 [12306](https://www.12306.cn)。这一段没有空格，要在任何宽度都能正确换行，对吗？
A second line of the same paragraph, in *English*, with a familiar 👩‍👩‍👧‍👦 and e\u0301.

1. first
2. second

   with a paragraph
   - nested
3. third
- [ ] to do
- [x] done
## Trains
| 车次 | from | left |
|---|:-:|--:|
| G902 | 苏州北 | 12 |
| G10 | 苏州 | 有 |

```python
def later(x):
\t\"\"\"Text of
    two lines.\"\"\"
    return x + 1  # 加一
```
> quoted
> - inside

    indented code

---
<b>html</b> \x1b[31mred\x1b[0m
The end"""


def lines_of(flow: Flow, chunks: list[str], columns: int) -> list[Line]:
    segments = [segment for chunk in chunks for segment in flow.feed(chunk)]
    return [line for segment in segments + flow.end() for line in segment(columns)]


def chunked(text: str, places: set[int]) -> list[str]:
    cuts = [0, *sorted(places), len(text)]
    return [text[begin:end] for begin, end in pairwise(cuts)]


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(0, len(ANSWER)), max_size=60), st.sampled_from([40, 80, 200]))
def test_the_pieces_in_which_it_comes_do_not_matter(places: set[int], columns: int):
    whole = lines_of(MarkdownFlow(), [ANSWER], columns)
    assert lines_of(MarkdownFlow(), chunked(ANSWER, places), columns) == whole


WORDS = st.sampled_from(
    ["- ", "1. ", "2) ", "> ", "# ", "```", "~~~", "\n", "\n\n", "    ", "a", "中文", "|", "|-|-|", "**",
     "---", "`", "=", "[x](y)", "[x]: y", "<p>", "</p>", "\t", "*", "👩‍👩‍👧", "\x1b[", "e\u0301"]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(WORDS, max_size=30), st.integers(1, 5), st.sampled_from([20, 40, 80]))
def test_any_text_comes_out_the_same_and_what_is_open_fits(words: list[str], size: int, columns: int):
    text = "".join(words)
    flow, segments = MarkdownFlow(), []
    for place in range(0, len(text), size):
        segments += flow.feed(text[place : place + size])
        assert all(line_width(line) <= columns for line in flow.open()(columns))
    lines = [line for segment in segments + flow.end() for line in segment(columns)]
    assert lines == lines_of(MarkdownFlow(), [text], columns)
    assert not any(char in plain(line) for line in lines for char in "\x1b\n\t")


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_line_but_code_is_longer_than_the_screen_is_wide(columns: int):
    for line in lines_of(MarkdownFlow(), [ANSWER], columns):
        assert line_width(line) <= columns, plain(line)


@pytest.mark.parametrize("columns", [13, 40, 80, 200])
def test_a_terminal_takes_as_many_columns_as_we_think(columns: int):
    """A line that were too long would be broken by the terminal, and the screen have more lines. (pyte drops
    what follows a joiner, so there is none here.)"""
    screen = pyte.Screen(columns, 200)
    answer = ANSWER.replace("\u200d", "")
    lines = [line for line in lines_of(MarkdownFlow(), [answer], columns) if line_width(line) <= columns]
    pyte.Stream(screen).feed("\r\n".join(map(ansi, lines)))
    shown = [line.rstrip() for line in screen.display]
    expected = [plain(line).rstrip() for line in lines]
    assert [_without_marks(line) for line in shown[: len(lines)]] == [
        _without_marks(line) for line in expected
    ]


def _without_marks(text: str) -> str:
    return "".join(cluster[0] for cluster in clusters(normalize("NFD", text)))


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("中文", 4), ("e\u0301", 1), ("👍🏽", 4), ("👩‍👧", 4), ("❤\ufe0f", 2), ("\u200b", 0)],
)
def test_width_is_the_most_that_a_terminal_takes(text: str, columns: int):
    assert width(text) == columns


def test_characters_stay_whole():
    assert list(clusters("e\u0301👩‍👧🇨🇳中नि")) == ["e\u0301", "👩‍👧", "🇨🇳", "中", "नि"]


def test_what_a_line_looks_like():
    shown = "\n".join(ansi(line) for line in lines_of(MarkdownFlow(), [ANSWER], 44))
    for part in (
        "\x1b[1;4m苏州到北京 🚄\x1b[0m\n\n有 \x1b[1m6 趟\x1b[0m 高铁（\x1b[36mG902\x1b[0m 最早），",
        "\x1b[36m3. \x1b[0mthird\n\x1b[36m• \x1b[0m☐ to do\n\x1b[36m• \x1b[0m☑ done\n\n\x1b[1mTrains\x1b[0m",
        "\x1b[1m车次\x1b[0m\x1b[2m │ \x1b[0m \x1b[1mfrom\x1b[0m \x1b[2m │ \x1b[0m\x1b[1mleft\x1b[0m\n",
        "\x1b[2m─────┼────────┼─────\x1b[0m\nG902\x1b[2m │ \x1b[0m苏州北\x1b[2m │ \x1b[0m  12\n",
        "\x1b[2m```python\x1b[0m\n\x1b[35mdef\x1b[0m \x1b[34mlater\x1b[0m(x):\n",
        "\x1b[2m│ \x1b[0mquoted\n\x1b[2m│ \x1b[0m\x1b[36m• \x1b[0minside",
        "<b>html</b> red\nThe end",
    ):
        assert part in shown, shown


def test_a_table_that_is_too_wide_becomes_a_list_of_its_rows():
    table = f"|{'|'.join('abcdefgh')}|\n|{'-|' * 8}\n|{'|'.join(['long text'] * 8)}|\n"
    lines = lines_of(MarkdownFlow(), [table], 20)
    assert [plain(line) for line in lines] == [f"{name}: long text" for name in "abcdefgh"]


def test_no_line_begins_with_what_closes():
    shown = [plain(line) for line in lines_of(MarkdownFlow(), ["一二三四五六，七八九十（百千）万。"], 12)]
    assert shown == ["一二三四五", "六，七八九十", "（百千）万。"]


def test_plain_text_is_as_it_was_written():
    text = "# no *Markdown*\n\n  at\x1b[2J all"
    lines = lines_of(PlainFlow(), chunked(text, {3, 7, 17, 21}), 8)
    assert [plain(line) for line in lines] == ["# no *Markdown*", "", "  at all"]
