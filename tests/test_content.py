import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcphost.content import Flat, Mode, OutputCheck, failed, flatten, follow_up, printable
from mcphost.messages import Attachment, ToolResult
from mcphost.text import json_line

from .work import counted

SHARED = Path(__file__).resolve().parents[2] / "shared"
MODES: tuple[Mode, ...] = ("text", "blocks")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(12_000)
WAV = b"RIFF\x10\0\0\0WAVEfmt " + bytes(900)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def text(value: object) -> dict[str, Any]:
    return {"type": "text", "text": value}


def image(data: bytes = PNG, **more: object) -> dict[str, Any]:
    return {"type": "image", "data": b64(data), "mimeType": "image/png"} | more


def flat(
    raw: object,
    *,
    mode: Mode = "text",
    limit: int = 100_000,
    folder: Path | None = None,
    call_id: str = "call_x",
) -> Flat:
    return flatten(raw, call_id=call_id, mode=mode, limit=limit, folder=folder)


def content(*blocks: object, **more: object) -> dict[str, Any]:
    return {"content": list(blocks)} | more


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (content(text("2025-08-01")), "2025-08-01"),
        (content(text("a"), text("b")), "a\n\nb"),
        (content(text("a"), text(" \n"), text("b")), "a\n\nb"),
        (content(text("  a \n")), "  a \n"),
        (content(text("a\0\x1b[31mb")), "a\0\x1b[31mb"),
        (content(text("half \ud83d, whole \ud83d\ude00")), "half \ufffd, whole 😀"),
        (content(text(" \n\t")), "(no output)"),
        (content(), "(no output)"),
        ({"content": None}, "(no output)"),
        ({}, "(no output)"),
        (None, "(no output)"),
        ({"resultType": "complete", "_meta": {"a": 1}, "content": [text("x")]}, "x"),
        (content(structuredContent={"城市": "北京", "n": [1, None]}), '{"城市":"北京","n":[1,null]}'),
        (content(text(" "), structuredContent=[1, 2]), "[1,2]"),
        (content(structuredContent=0), "0"),
        (content(structuredContent=False), "false"),
        (content(structuredContent="x"), '"x"'),
        (content(structuredContent=None), "(no output)"),
        (content(structuredContent={"n": float("nan"), "i": float("-inf")}), '{"n":null,"i":null}'),
        ({"structuredContent": {"a": 1}}, '{"a":1}'),
        ({"toolResult": {"a": 1}}, '{"a":1}'),
        (content(text('{"a": 1}'), structuredContent={"a": 1}), '{"a": 1}'),
        ({"content": "plain"}, "plain"),
        ({"content": text("alone")}, "alone"),
        ({"content": ["one", text("two"), None, 3, ["four"]]}, 'one\n\ntwo\n\n3\n\n["four"]'),
        ({"content": 5}, "5"),
        ("plain", "plain"),
        ([text("x")], "x"),
        (content({"text": "no type"}), "no type"),
        (content({"type": None, "text": "null type"}), "null type"),
        (content(text({"a": "é"})), '{"a":"é"}'),
        (content(text(7)), "7"),
        (content(text(None)), "(no output)"),
        (content({"type": "text", "content": "elsewhere"}), '{"type":"text","content":"elsewhere"}'),
        (content({"type": "novel", "x": 1}), '{"type":"novel","x":1}'),
        (content({"type": ["text"], "x": 1}), '{"type":["text"],"x":1}'),
    ],
)
def test_flattening_to_text(raw: object, expected: str):
    result = flat(raw)
    assert (result.content, result.ok, result.error, result.attachments) == (expected, True, None, ())


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (content(text("2025-08-01")), '[{"type":"text","text":"2025-08-01"}]'),
        (content(text("苏州\n"), text("")), '[{"type":"text","text":"苏州\\n"},{"type":"text","text":""}]'),
        (content({"text": "x", "type": "text"}), '[{"text":"x","type":"text"}]'),
        (
            content({"type": "text", "text": "x", "annotations": {"priority": 1.0}}),
            '[{"type":"text","text":"x","annotations":{"priority":1.0}}]',
        ),
        (content(text("\ud83d \ud83d\ude00")), '[{"type":"text","text":"\ufffd 😀"}]'),
        (content(), "[]"),
        (content(structuredContent={"a": 1}), '[{"type":"text","text":"{\\"a\\":1}"}]'),
        (content(text("x"), structuredContent={"a": 1}), '[{"type":"text","text":"x"}]'),
        ({"content": ["x", None]}, '[{"type":"text","text":"x"}]'),
        (content({"text": "x"}), '[{"text":"x","type":"text"}]'),
        (content({"type": "novel", "n": float("inf")}), '[{"type":"novel","n":null}]'),
        (
            content({"type": "resource_link", "uri": "file:///a", "name": "a"}),
            '[{"type":"resource_link","uri":"file:///a","name":"a"}]',
        ),
    ],
)
def test_blocks_are_the_json_of_the_content_array(raw: object, expected: str):
    assert flat(raw, mode="blocks").content == expected


@pytest.mark.skipif(not SHARED.exists(), reason="the recorded conversation is not here")
def test_the_recorded_results_come_out_as_recorded():
    sent = json.loads((SHARED / "trace" / "request4.json").read_text("utf-8"))["messages"]
    recorded = [message["content"] for message in sent if message["role"] == "tool"]
    calls = json.loads((SHARED / "trace" / "12306-mcp.server.json").read_text("utf-8"))["calls"]
    results = {flat(call["result"], mode="blocks").content for call in calls}
    assert recorded and set(recorded) <= results


@pytest.mark.parametrize("value", [True, "true", " True ", 1])
def test_an_error_is_a_failed_object(value: object):
    result = flat(content(text("no such city"), isError=value))
    shown = json.loads(result.content)
    assert list(shown) == ["status", "error", "hint"]
    assert (shown["status"], shown["error"], result.ok, result.error) == (
        "failed",
        "no such city",
        False,
        "no such city",
    )


@pytest.mark.parametrize("value", [False, None, 0, "false", ""])
def test_what_does_not_say_error_is_none(value: object):
    assert flat(content(text("fine"), isError=value)).ok


def test_an_error_in_blocks_is_one_text_block():
    result = flat(content(text("a"), text("b"), isError=True), mode="blocks")
    [block] = json.loads(result.content)
    assert block["type"] == "text"
    assert json.loads(block["text"])["error"] == "a\n\nb"


def test_an_error_without_a_word_still_says_that_it_failed():
    assert json.loads(flat(content(isError=True)).content)["error"]
    assert "code" in json.loads(flat(content(structuredContent={"code": 7}, isError=True)).content)["error"]


def test_a_failed_result_keeps_its_pictures():
    result = flat(content(text("page broken"), image(), isError=True))
    assert [attachment.kind for attachment in result.attachments] == ["image"]
    assert "page broken\n\n[image 1 of call_x" in json.loads(result.content)["error"]


@pytest.mark.parametrize(
    ("hint", "keys"), [("try x", ["status", "error", "hint"]), (None, ["status", "error"])]
)
def test_failed_has_a_hint_only_where_there_is_one(hint: str | None, keys: list[str]):
    assert list(json.loads(failed("e", hint, mode="text"))) == keys
    assert failed('"\ud800', None, mode="blocks") == (
        '[{"type":"text","text":"{\\"status\\":\\"failed\\",\\"error\\":\\"\\\\\\"\ufffd\\"}"}]'
    )


def test_an_image_becomes_an_attachment_and_a_label():
    result = flat(content(text("Map:"), image(), image()))
    assert result.content == (
        "Map:\n\n[image 1 of call_x: image/png, 12 kB]\n\n[image 2 of call_x: image/png, 12 kB]"
    )
    first = result.attachments[0]
    assert (first.kind, first.mime_type, first.data, first.path) == ("image", "image/png", PNG, None)
    assert first.label in result.content


def test_with_a_folder_an_attachment_has_a_path_and_the_label_says_it(tmp_path: Path):
    result = flat(content(image()), folder=tmp_path)
    path = tmp_path / "call_x-1.png"
    assert result.content == f"[image 1 of call_x: image/png, 12 kB] saved as {path}"
    assert (result.attachments[0].path, result.attachments[0].name) == (path, "call_x-1.png")
    assert list(tmp_path.iterdir()) == []


def test_blocks_keep_an_images_block_with_the_label_for_its_data():
    result = flat(
        content({"type": "image", "data": b64(PNG), "mimeType": "image/png", "_meta": {}}), mode="blocks"
    )
    label = "[image 1 of call_x: image/png, 12 kB]"
    assert json.loads(result.content) == [
        {"type": "image", "data": label, "mimeType": "image/png", "_meta": {}}
    ]


def test_structured_content_is_shown_beside_a_picture_without_text():
    assert flat(content(image(), structuredContent={"a": 1})).content == (
        '[image 1 of call_x: image/png, 12 kB]\n\n{"a":1}'
    )


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (b"\x89PNG\r\n\x1a\n..", "image/png"),
        (b"\xff\xd8\xff\xe0..", "image/jpeg"),
        (b"GIF89a..", "image/gif"),
        (b"RIFF\x0a\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
@pytest.mark.parametrize("declared", [None, 5, "", "nonsense", "image/bmp", "application/octet-stream"])
def test_a_pictures_own_bytes_say_what_it_is(data: bytes, mime: str, declared: object):
    [attachment] = flat(content(image(data, mimeType=declared))).attachments
    assert attachment.mime_type == mime


@pytest.mark.parametrize(
    ("declared", "mime", "extension"),
    [
        ("image/svg+xml", "image/svg+xml", ".svg"),
        ("IMAGE/JPG; q=1", "image/jpeg", ".jpg"),
        ("image/x-unheard-of", "image/x-unheard-of", ".bin"),
    ],
)
def test_a_declared_type_stands_where_the_bytes_do_not_tell(declared: str, mime: str, extension: str):
    [attachment] = flat(content(image(b"<svg/>", mimeType=declared))).attachments
    assert (attachment.mime_type, attachment.name) == (mime, f"call_x-1{extension}")


@pytest.mark.parametrize(
    "data",
    [
        "data:image/png;base64," + b64(PNG),
        "\n".join(b64(PNG)[i : i + 76] for i in range(0, len(b64(PNG)), 76)),
        base64.urlsafe_b64encode(PNG).decode(),
        b64(PNG).rstrip("="),
    ],
)
def test_base64_as_servers_write_it(data: str):
    assert flat(content(image() | {"data": data})).attachments[0].data == PNG


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "data": b64(b"no magic here"), "mimeType": None},
        {"type": "image", "data": b64(b"no magic here")},
        {"type": "image", "data": "*broken* base64!", "mimeType": "image/png"},
        {"type": "image", "data": "", "mimeType": "image/png"},
        {"type": "image", "data": 5, "mimeType": "image/png"},
        {"type": "audio", "data": "AAA!", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "a:b", "blob": "*broken*"}},
        {"type": "resource", "resource": "a:b"},
        {"type": "resource", "resource": {}},
        {"type": "resource_link", "name": "no uri"},
        {"type": "video", "data": b64(bytes(900)), "mimeType": "video/mp4"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": b64(PNG)}},
    ],
)
def test_a_block_that_cannot_be_used_is_shown_as_json_without_its_data(mode: Mode, block: dict[str, Any]):
    result = flat(content(block, text("more")), mode=mode)
    assert (result.attachments, result.ok) == ((), True)
    if mode == "text":
        shown = json.loads(result.content.removesuffix("\n\nmore"))
    else:
        shown, last = json.loads(result.content)
        assert last == text("more")
    assert shown.keys() == block.keys()
    for base64_text in (b64(b"no magic here"), "*broken*", b64(PNG)[:64], b64(bytes(900))[:64]):
        assert base64_text not in result.content


@pytest.mark.parametrize("mode", MODES)
def test_a_block_of_no_known_kind_is_shortened(mode: Mode):
    result = flat(content({"type": "novel", "words": "word " * 5000}), mode=mode)
    assert len(result.content) < 3000
    assert "novel" in result.content


@pytest.mark.parametrize("mode", MODES)
def test_base64_in_structured_content_does_not_reach_the_model(mode: Mode):
    picture = {"type": "image", "mimeType": "image/png", "data": b64(PNG[:90])}
    structured = {
        "result": [picture],
        "shot": b64(bytes(range(256)) * 9),
        "url": f"data:image/png;base64,{b64(PNG)}",
    }
    shown = flat(content(image(), structuredContent=structured), mode=mode).content
    assert "data left out" in shown
    assert b64(PNG)[:60] not in shown
    assert b64(bytes(range(256)))[:60] not in shown


def test_base64_beside_what_a_block_says_does_not_reach_the_model():
    icons = {"icons": [{"src": f"data:image/png;base64,{b64(PNG)}", "mimeType": "image/png"}]}
    link = {"type": "resource_link", "uri": "file:///a", "name": "a"} | icons
    resource = {"type": "resource", "resource": {"uri": "file:///a", "text": "hello"} | icons}
    shown = flat(content(link, resource, text("x") | {"_meta": icons}), mode="blocks").content
    assert b64(PNG)[:60] not in shown
    assert [block["type"] for block in json.loads(shown)] == ["resource_link", "resource", "text"]


@pytest.mark.parametrize("value", ["0f" * 2000, "ACGT" * 1000, "word" * 1000, "x y Z 1 " * 500])
def test_long_strings_that_are_no_base64_stay(value: str):
    assert flat(content(structuredContent={"v": value})).content == f'{{"v":"{value}"}}'


def test_text_of_another_type_in_data_stays():
    structured = {"mimeType": "text/plain", "data": "hello, world"}
    assert flat(content(structuredContent=structured)).content == json.dumps(
        structured, separators=(",", ":")
    )


def test_audio_is_an_attachment():
    result = flat(content({"type": "audio", "data": b64(WAV), "mimeType": "audio/x-wav"}))
    assert result.content == "[audio 1 of call_x: audio/wav, 916 B]"
    assert (result.attachments[0].kind, result.attachments[0].name) == ("audio", "call_x-1.wav")


@pytest.mark.parametrize(
    ("resource", "expected", "kinds"),
    [
        ({"uri": "file:///a.txt", "text": "hello", "mimeType": "text/plain"}, "file:///a.txt\nhello", []),
        ({"text": "hello"}, "hello", []),
        ({"uri": "a:b", "text": {"x": 1}}, 'a:b\n{"x":1}', []),
        ({"uri": "a:b\n[image]", "text": "x"}, "a:b [image]\nx", []),
        (
            {"uri": "a:b.png", "blob": b64(PNG), "mimeType": "image/png"},
            "[image 1 of call_x: image/png, 12 kB]",
            ["image"],
        ),
        ({"uri": "a:b", "blob": b64(WAV)}, "[audio 1 of call_x: audio/wav, 916 B]", ["audio"]),
        (
            {"uri": "a:b.pdf", "blob": b64(b"%PDF-1.7"), "mimeType": "application/pdf"},
            "[file: a:b.pdf, application/pdf, 8 B]",
            ["file"],
        ),
        ({"uri": "a:b", "blob": b64(b"?")}, "[file: a:b, application/octet-stream, 1 B]", ["file"]),
        ({"blob": b64(b"?")}, "[file 1 of call_x: application/octet-stream, 1 B]", ["file"]),
        ({"uri": "a:b", "name": "B"}, "[resource: B <a:b>]", []),
    ],
)
def test_embedded_resources(resource: dict[str, Any], expected: str, kinds: list[str]):
    result = flat(content({"type": "resource", "resource": resource}))
    assert result.content == expected
    assert [attachment.kind for attachment in result.attachments] == kinds


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ({"uri": "file:///a", "name": "a"}, "[resource: a <file:///a>]"),
        ({"uri": "file:///a", "title": "A"}, "[resource: A <file:///a>]"),
        ({"uri": "file:///a", "name": 5}, "[resource: <file:///a>]"),
        ({"uri": "file:///a", "name": "x]\n\x1b[31m  y"}, "[resource: x] y <file:///a>]"),
    ],
)
def test_resource_links(link: dict[str, Any], expected: str):
    assert flat(content({"type": "resource_link"} | link)).content == expected


@pytest.mark.parametrize(
    "call_id",
    [
        "../../x",
        "/etc/passwd",
        "",
        ".",
        "..",
        "a\0b",
        "c:\\x",
        "x" * 400,
        "-rf",
        "\ud800",
        "呼",
        "a/b",
        "a\nb",
    ],
)
def test_a_hostile_call_id_makes_a_safe_file_name(call_id: str, tmp_path: Path):
    result = flat(content(image(), image()), call_id=call_id, folder=tmp_path)
    paths = [attachment.path for attachment in result.attachments]
    assert len(set(paths)) == 2
    for path in paths:
        assert path is not None and path.parent == tmp_path
        assert path.name.isascii() and len(path.name) < 100 and path.name[0].isalnum()
        path.write_bytes(b"")
    result.content.encode()
    assert "\n" not in result.content.split(" saved as ")[0]


def test_call_ids_that_are_alike_do_not_share_a_file():
    names = {
        flat(content(image()), call_id=call_id).attachments[0].name
        for call_id in ("a/b", "a_b", "a?b", "a:b")
    }
    assert len(names) == 4


@pytest.mark.parametrize("limit", [0, 1, 20, 60, 100, 1000, 9_999])
def test_text_over_the_limit_is_head_and_tail(limit: int, tmp_path: Path):
    long = "".join(f"{n:9}\n" for n in range(1000))
    result = flat(content(text(long)), limit=limit, folder=tmp_path)
    assert len(result.content) <= limit
    [whole] = result.attachments
    assert (whole.kind, whole.mime_type, whole.data) == ("text", "text/plain", long.encode())
    assert whole.path == tmp_path / "call_x-1.txt"
    assert result.warnings and "10000" in result.warnings[0]
    if limit >= 1000:
        head, _, rest = result.content.partition("\n[… ")
        gap, _, tail = rest.partition(" …]\n")
        assert long.startswith(head) and long.endswith(tail) and head and tail
        count = 10_000 - len(head) - len(tail)
        assert gap == f"{count} characters left out; the whole is saved as {whole.path}"


def test_without_a_folder_the_line_between_names_no_path():
    result = flat(content(text("x" * 5000)), limit=1000)
    assert "characters left out; ask for a smaller part" in result.content
    assert result.attachments[0].path is None


def test_text_at_the_limit_is_whole():
    assert flat(content(text("x" * 500)), limit=500) == Flat("x" * 500, True)


@pytest.mark.parametrize("unit", ["e\u0301", "👩\u200d🚀", "👍🏽", "न\u093f"])
@pytest.mark.parametrize("limit", range(300, 306))
def test_a_cut_leaves_a_character_with_its_marks(unit: str, limit: int):
    result = flat(content(text(unit * 1000)), limit=limit).content
    head, _, rest = result.partition("\n[… ")
    tail = rest.partition(" …]\n")[2]
    assert head == unit * (len(head) // len(unit))
    assert tail == unit * (len(tail) // len(unit))


@pytest.mark.parametrize("limit", range(300, 306))
def test_a_cut_leaves_a_line_end_whole(limit: int):
    head, _, rest = flat(content(text(".\r\n" * 1000)), limit=limit).content.partition("\n[… ")
    assert not head.endswith("\r") and not rest.partition(" …]\n")[2].startswith("\n")


@pytest.mark.parametrize(
    "blocks",
    [
        [text("long " * 5000)],
        [text("short"), text("long " * 5000), text("longer " * 9000), text("end")],
        [text('\n"\\\x01' * 5000)],
        [text("x")] * 5000,
        [{"type": "resource", "resource": {"uri": "a:b", "text": "long " * 5000}}, text("end")],
        [image(), text("long " * 5000)],
        [{"type": "novel", "x": "y" * 1500}] * 100,
        [{"type": "text", "text": "x", "_meta": {"m": "y" * 9000}}],
        [{"type": "text", "text": "", "_meta": {"m": "y" * 9000}}],
    ],
)
@pytest.mark.parametrize("limit", [100, 700, 3000, 8000])
def test_blocks_over_the_limit_stay_json_within_it(blocks: list[Any], limit: int):
    result = flat({"content": blocks}, mode="blocks", limit=limit)
    assert len(result.content) <= limit
    shown = json.loads(result.content)
    assert all(isinstance(block, dict) for block in shown)
    assert result.attachments[-1].kind == "text"


def test_long_text_is_trimmed_inside_its_block_and_short_blocks_stay():
    blocks = [text("start"), text("long " * 5000), image(), text("end")]
    shown = json.loads(flat({"content": blocks}, mode="blocks", limit=3000).content)
    assert [block["type"] for block in shown] == ["text", "text", "image", "text"]
    assert (shown[0], shown[3]) == (blocks[0], blocks[3])
    assert "characters left out" in shown[1]["text"]
    assert len(shown[1]["text"]) > 2000


@pytest.mark.parametrize("mode", MODES)
def test_a_long_failure_stays_a_failed_object_within_the_limit(mode: Mode):
    result = flat(content(text('trace "\n' * 5000), isError=True), mode=mode, limit=1000)
    assert len(result.content) <= 1000
    shown = json.loads(result.content)
    shown = json.loads(shown[0]["text"]) if mode == "blocks" else shown
    assert shown["status"] == "failed" and "left out" in shown["error"] and shown["hint"]
    assert result.error is not None and len(result.error) <= 1000


@pytest.mark.parametrize("mode", MODES)
def test_a_deep_value_costs_itself_only(mode: Mode):
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    for block in ({"type": "novel", "x": deep}, {"type": "text", "text": "t", "_meta": deep}):
        shown = flat(content(block, text("other"), structuredContent=deep), mode=mode).content
        assert "other" in shown
        assert mode == "text" or isinstance(json.loads(shown), list)
    assert flat(content(structuredContent=deep), mode=mode).ok


@pytest.mark.parametrize(
    ("raw", "count"),
    [
        (content(text("x")), 0),
        ({"structuredContent": {}}, 0),
        ({}, 1),
        ("x", 1),
        ({"content": "x"}, 1),
    ],
)
def test_what_was_read_in_spite_of_the_protocol_is_warned_about(raw: object, count: int):
    assert len(flat(raw).warnings) == count


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=20)
    | st.just("x" * 3000)
    | st.just(b64(PNG)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
keys = st.sampled_from(
    ["text", "data", "mimeType", "resource", "uri", "blob", "name", "annotations", "_meta"]
)
kinds = st.sampled_from(["text", "image", "audio", "resource", "resource_link", "novel"])
any_blocks = json_values | st.builds(
    lambda kind, rest: {"type": kind} | rest,
    kinds | json_values,
    st.dictionaries(keys, json_values | st.dictionaries(keys, json_values, max_size=3), max_size=4),
)
any_results = json_values | st.fixed_dictionaries(
    {"content": json_values | st.lists(any_blocks, max_size=6)},
    optional={"structuredContent": json_values, "isError": json_values, "_meta": json_values},
)


@given(any_results, st.sampled_from(MODES), st.sampled_from([600, 1500, 100_000]), st.text(max_size=9))
@settings(max_examples=300, deadline=None)
def test_any_result_gives_bounded_encodable_content(raw: object, mode: Mode, limit: int, call_id: str):
    result = flat(raw, mode=mode, limit=limit, call_id=call_id)
    result.content.encode()
    assert len(result.content) <= limit
    assert result.ok == (result.error is None)
    if mode == "blocks":
        assert isinstance(json.loads(result.content, parse_constant=pytest.fail), list)
    elif not result.ok:
        assert json.loads(result.content)["status"] == "failed"


def of(*attachments: Attachment, name: str = "shot") -> ToolResult:
    return ToolResult("call_x", name, True, "", attachments=attachments)


def attachment(kind: str, mime: str, data: bytes = b"x") -> Attachment:
    return Attachment(kind, mime, data, f"[{kind} 1 of call_x]")


def parts(results: Sequence[ToolResult], *, images: bool = True, audio: bool = True) -> list[str]:
    message = follow_up(results, images=images, audio=audio)
    return [] if message is None else [part["type"] for part in message["content"]]


def test_pictures_follow_in_a_user_message_with_labels():
    png, wav = attachment("image", "image/png", b"picture"), attachment("audio", "audio/wav", b"sound")
    assert follow_up([of(png), of(), of(wav, name="say")], images=True, audio=True) == {
        "role": "user",
        "content": [
            {"type": "text", "text": "From the result of shot: [image 1 of call_x]"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64(b'picture')}"}},
            {"type": "text", "text": "From the result of say: [audio 1 of call_x]"},
            {"type": "input_audio", "input_audio": {"data": b64(b"sound"), "format": "wav"}},
        ],
    }


def test_nothing_follows_where_nothing_is_taken():
    png, mp3 = attachment("image", "image/png"), attachment("audio", "audio/mpeg")
    assert parts([of(png, mp3)], images=False, audio=False) == []
    assert parts([of(png, mp3)], audio=False) == ["text", "image_url"]
    assert parts([of(png, mp3)], images=False) == ["text", "input_audio"]
    assert parts([]) == []


@pytest.mark.parametrize(
    ("kind", "mime", "size"),
    [
        ("image", "image/svg+xml", 1),
        ("image", "image/bmp", 1),
        ("audio", "audio/ogg", 1),
        ("file", "application/pdf", 1),
        ("text", "text/plain", 1),
        ("image", "image/png", 20_000_001),
    ],
)
def test_what_endpoints_do_not_take_is_not_sent(kind: str, mime: str, size: int):
    assert parts([of(attachment(kind, mime, bytes(size)))]) == []


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("raw", "schema"),
    [
        (content(structuredContent={"n": 1}), SCHEMA),
        (content(text("x")), None),
        (content(text("x")), {}),
        (content(text("x")), "not a schema"),
        (content(text("x"), isError=True), SCHEMA),
        (content(structuredContent={"n": "x"}), {"type": "nonsense"}),
        (content(structuredContent={"n": "x"}), {"$ref": "https://example.com/schema"}),
        (content(structuredContent={"n": "x"}), {"properties": {"n": {"pattern": "(x+x+)+y"}}}),
        (None, None),
    ],
)
def test_output_that_conforms_or_cannot_be_judged_is_not_warned_about(raw: object, schema: object):
    assert OutputCheck(schema).warning(raw) is None


@pytest.mark.parametrize(
    ("raw", "schema", "words"),
    [
        (content(text("x")), SCHEMA, "no structured content"),
        ({}, SCHEMA, "no structured content"),
        (content(structuredContent={"n": "x"}), SCHEMA, '$.n fails {"type":"integer"}'),
        (content(structuredContent={}), SCHEMA, '$ fails {"required":["n"]}'),
        (content(structuredContent=[1]), SCHEMA, '$ fails {"type":"object"}'),
    ],
)
def test_output_that_breaks_its_declaration_is_warned_about(raw: object, schema: object, words: str):
    assert words in (OutputCheck(schema).warning(raw) or "")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain\n\ttext 北京 😀", "plain\n\ttext 北京 😀"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[1;38;5;3mx\x1b[K\x1b[2J", "x"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred\x9d0;title\x9cx", "redx"),
        ("\x1bP1$r0m\x1b\\x\x1b_secret\x1b\\y", "xy"),
        ("a\x1b]0;never ended", "a0;never ended"),
        ("\x1b\x1b[31m[31m", "[31m"),
        ("\x1b(B\x1b7\x1bcx\x1b", "x"),
        ("a\r\nb\rc\0\x07\x08\x7f\x85", "a\nbc"),
        ("a\u202eb\u2066c\u2069", "abc"),
        ("\ud83d", "\ufffd"),
    ],
)
def test_printable(given: str, shown: str):
    assert printable(given) == shown


@given(st.text(st.sampled_from("\x1b\x9b\x9d\x9c\x07[]P\\;m0a\n\u202e\ud800") | st.characters(), max_size=40))
def test_printable_leaves_nothing_that_a_terminal_would_obey(value: str):
    shown = printable(value)
    assert printable(shown) == shown
    assert all(char in "\n\t" or not (ord(char) < 32 or 127 <= ord(char) < 160) for char in shown)
    shown.encode()


def test_a_declaration_is_read_once_for_many_results():
    check = OutputCheck(SCHEMA)
    wrong = 'the structured content does not match the tool\'s output schema: $.n fails {"type":"integer"}'
    assert check.warning(content(structuredContent={"n": 1})) is None
    assert check.warning(content(structuredContent={"n": "x"})) == wrong
    assert check.warning(content(structuredContent={"n": 2})) is None
    assert OutputCheck({}).warning(content()) is None


def test_a_declaration_that_takes_too_long_is_given_up_for_good():
    check = OutputCheck({"items": {"enum": [[n] for n in range(5_000)]}})
    large = content(structuredContent=[[4_999]] * 5_000)
    with counted() as first:
        assert check.warning(large) is None
    with counted() as second:
        assert check.warning(large) is None
    assert second.calls < first.calls // 100


def test_json_for_a_terminal_shows_what_would_act_on_it_and_is_the_same_json():
    value = {"a\x1b[2J": "\x9b2J\u202egnp.exe\u2028\x07", "城": "苏州"}
    line = json_line(value)
    assert json.loads(line) == value
    assert not set("\x1b\x9b\u202e\u2028\x07") & set(line)
    assert "苏州" in line
