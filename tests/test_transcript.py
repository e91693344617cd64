"""Conversations as Markdown, JSON and pages."""

import json
from html.parser import HTMLParser
from typing import Any

import pytest

from mcphost.messages import Message, Usage
from mcphost.transcript import Format, Transcript

from .talks import WHOLE


def transcript(*messages: Message, title: str = "A title") -> Transcript:
    return Transcript("261201-k3f7", title, "m", 1_000_000_000.0, messages, [{"id": "c1"}], Usage(10, 5))


class Page(HTMLParser):
    """The elements and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.elements.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_page_has_every_text_and_nothing_that_runs_or_is_fetched():
    hostile = "</pre></details><script>alert(1)</script><img src=http://x onerror=1>&amp;"
    calling: Message = {
        "role": "assistant",
        "content": hostile,
        "reasoning_content": hostile,
        "tool_calls": [{"id": "c1", "function": {"name": hostile, "arguments": hostile}}],
    }
    answer = {"role": "tool", "tool_call_id": "c1", "content": hostile}
    page = Page(
        transcript({"role": "user", "content": hostile}, calling, answer, title=hostile).as_text("html")
    )
    assert not {"script", "img", "link", "iframe"} & set(page.elements)
    assert page.elements.count("details") == 3
    assert page.texts.count(hostile) == 7  # twice as the title
    assert sum(hostile in text for text in page.texts) == 9  # and in the names of the call and of its result


def test_markdown_keeps_results_in_their_fences():
    answer = {"role": "tool", "content": "```\n# no heading\n````"}
    text = transcript(answer).as_text("md")
    assert "`````\n```\n# no heading\n````\n`````\n" in text


@pytest.mark.parametrize("form", ["md", "html"])
def test_what_is_read_has_no_control_characters(form: Format):
    text = transcript({"role": "user", "content": "a\x1b[2Jb\u202e"}, title="\x1b]0;x\x07t").as_text(form)
    assert text.isprintable() or not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "ab" in text


def test_results_are_cut_where_that_is_asked_for():
    answer = {"role": "tool", "content": json.dumps({"key": "x" * 5000})}
    assert len(transcript(answer).as_text("md", limit=100)) < 400
    assert "x" * 5000 in transcript(answer).as_text("md")


@pytest.mark.parametrize(
    "content", ["half \ud83d", "\x1b[2J", "高铁", 1e308, [{"type": "text", "text": "a"}]]
)
def test_json_has_everything_as_it_was(content: Any):
    messages = [*WHOLE, {"role": "user", "content": content, "unknown": [None]}]
    text = transcript(*messages).as_text("json")
    assert json.loads(text.encode())["messages"] == messages
    assert json.loads(text)["created"] == "2001-09-09T01:46:40Z"


def test_pictures_are_named_and_data_has_line_breaks():
    picture = {"role": "user", "content": [{"type": "image_url"}, {"type": "text", "text": "see"}]}
    text = transcript(picture, {"role": "tool", "content": '{"a":[1]}'}).as_text("md")
    assert "[image_url]\nsee" in text
    assert '```json\n{\n  "a": [\n    1\n  ]\n}\n```' in text
