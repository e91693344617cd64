"""What a server may write on stdout without being lost."""

import json

import pytest
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCResponse

from mcphost.transport.lines import parse_line

RESULT = {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}


def line(message: object) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode()


def test_a_plain_message_is_itself():
    messages, complaint = parse_line(line(RESULT))
    assert [type(message) for message in messages] == [JSONRPCResponse]
    assert complaint is None


@pytest.mark.parametrize("blank", [b"", b"   ", b"\r", b"\xef\xbb\xbf"])
def test_blank_lines_are_nothing(blank: bytes):
    assert parse_line(blank) == ([], None)


@pytest.mark.parametrize("framed", [b"\xef\xbb\xbf%s", b"%s\r", b"  %s  "])
def test_marks_around_a_message_are_fine(framed: bytes):
    messages, complaint = parse_line(framed % line(RESULT))
    assert len(messages) == 1
    assert complaint is None


def test_bytes_that_are_no_utf8_are_replaced():
    raw = line({"jsonrpc": "2.0", "id": 1, "result": {"text": "ab"}}).replace(b"ab", b"a\xffb")
    [message], complaint = parse_line(raw)
    assert isinstance(message, JSONRPCResponse)
    assert message.result == {"text": "a�b"}
    assert complaint is None


def test_half_a_surrogate_pair_is_replaced():
    [message], _ = parse_line(b'{"jsonrpc": "2.0", "id": 1, "result": {"text": "\\ud83d"}}')
    assert isinstance(message, JSONRPCResponse)
    assert message.result["text"].encode() == b"?"


def test_a_batch_is_taken_apart():
    note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
    messages, complaint = parse_line(line([RESULT, note]))
    assert [type(message) for message in messages] == [JSONRPCResponse, JSONRPCNotification]
    assert complaint is None


@pytest.mark.parametrize(
    "junk", ["Server listening on stdio", "{", '"text"', "[1, 2]", '{"level": "info"}', "[" * 99_999]
)
def test_what_is_no_message_is_dropped_with_its_beginning_quoted(junk: str):
    messages, complaint = parse_line(junk.encode())
    assert messages == []
    assert complaint is not None
    assert junk[:20] in complaint
    assert len(complaint) < 200


@pytest.mark.parametrize(
    "answer",
    [
        {"jsonrpc": "2.0", "id": 7, "result": "done"},
        {"jsonrpc": "2.0", "id": 7, "result": None},
        {"jsonrpc": "2.0", "id": 7, "error": "no such city"},
        {"jsonrpc": "2.0", "id": 7, "error": {"message": "no such city"}},
        {"id": 7, "result": [1]},
    ],
)
def test_a_malformed_answer_fails_its_own_request(answer: dict[str, object]):
    [message], _ = parse_line(line(answer))
    assert isinstance(message, JSONRPCError)
    assert message.id == 7
    assert "malformed" in message.error.message


def test_an_error_that_is_a_text_is_handed_on():
    [message], _ = parse_line(line({"jsonrpc": "2.0", "id": 7, "error": "no such city"}))
    assert isinstance(message, JSONRPCError)
    assert "no such city" in message.error.message


def test_a_missing_envelope_is_added():
    [message], complaint = parse_line(line({"id": 7, "result": {"content": []}}))
    assert isinstance(message, JSONRPCResponse)
    assert complaint is None
