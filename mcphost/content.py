"""From an MCP `CallToolResult` to what the model reads, pure: text or blocks, attachments, warnings.

Works on the result's JSON as it came. One that breaks the protocol is still shown as far as it can be read.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from mcphost.blocks import Piece, as_object, json_without_base64, read_block, text_piece
from mcphost.jsontext import well_formed
from mcphost.media import Shelf, follow_up
from mcphost.messages import Attachment
from mcphost.text import fitted, json_text, one_line, printable, trimmed
from mcphost.validation import SchemaCheck, Unusable

__all__ = ["Flat", "Mode", "OutputCheck", "failed", "flatten", "follow_up", "printable"]

Mode = Literal["text", "blocks"]

_NO_OUTPUT = "(no output)"
_SILENT = "the tool reported an error and did not say which"
_HINT = (
    "The tool itself reported this failure. If its message shows what was wrong with the arguments, call "
    "again with better ones; otherwise tell the user what failed. Do not make up a result."
)
_LEAST_TEXT = 200
"""A text block is not trimmed to less; where that would be needed, the blocks become one."""


@dataclass(frozen=True, slots=True)
class Flat:
    """A result as the model gets it. `error` is the reason exactly when not `ok`."""

    content: str
    ok: bool
    error: str | None = None
    attachments: tuple[Attachment, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Result:
    """A `CallToolResult` as far as it could be read."""

    content: Sequence[object]
    structured: object
    failed: bool
    warnings: tuple[str, ...]


def flatten(raw: object, *, call_id: str, mode: Mode, limit: int, folder: Path | None) -> Flat:
    """What becomes of a server's result. Raises nothing, writes nothing.

    In `text` mode content is the blocks' texts, a blank line between; in `blocks` mode the JSON of the
    content array. Base64 is in neither: it becomes an attachment, and a label stands in its place.
    `structuredContent` counts only where the content has no text. With `isError` the content is what `failed`
    makes of it. `limit` is the most characters that the content has (a failed one has some 400 at least):
    what is longer is trimmed in the middle, and the whole is an attachment of kind "text". Attachments have
    a path in `folder`, none without a folder.
    """
    result = _read(raw)
    shelf = Shelf(call_id, folder)
    pieces = [read_block(block, shelf) for block in result.content if block is not None]
    if result.structured is not None and not any(piece.prose for piece in pieces):
        pieces.append(text_piece(json_without_base64(result.structured)))
    text = well_formed("\n\n".join(piece.text for piece in pieces if piece.text and not piece.text.isspace()))
    if result.failed:
        text = text or _SILENT
        content = _failed_tool(text, mode=mode)
    else:
        content = _array(piece.block for piece in pieces) if mode == "blocks" else text or _NO_OUTPUT
    warnings = result.warnings
    if len(content) > limit:
        text = text or content
        path = shelf.add("text", "text/plain", text.encode()).path
        where = "; ask for a smaller part to see them" if path is None else f"; the whole is saved as {path}"
        where = well_formed(where)
        warnings += (f"the result was cut from {len(content)} to {limit} characters",)
        if result.failed:
            content = fitted(text, limit, partial(_failed_tool, mode=mode), where=where)
        elif mode == "blocks":
            content = _fitted_blocks(pieces, text, limit, where)
        else:
            content = trimmed(text, limit, where=where)
    error = trimmed(text, limit) if result.failed else None
    return Flat(content, not result.failed, error, tuple(shelf.attachments), warnings)


def failed(error: str, hint: str | None, *, mode: Mode) -> str:
    """The content of a failed call: `{"status": "failed", "error": …, "hint": …}`.

    In `blocks` mode a text block holds it. A status of its own keeps a model from skimming past the failure
    and inventing an answer.
    """
    content = json_text({"status": "failed", "error": error} | ({"hint": hint} if hint else {}))
    return _one_block(content) if mode == "blocks" else content


def _failed_tool(error: str, *, mode: Mode) -> str:
    return failed(error, _HINT, mode=mode)


def _one_block(text: str) -> str:
    return _array([{"type": "text", "text": text}])


def _array(blocks: Iterable[Mapping[str, Any]]) -> str:
    """The blocks' JSON, each by itself: one that cannot be written does not take the others with it."""
    return f"[{','.join(map(json_text, blocks))}]"


def _read(raw: object) -> _Result:
    fields = as_object(raw)
    if fields is None:
        content, problems = _read_content(raw)
        return _Result(content, None, False, problems or ("the result is not an object",))
    structured = fields.get("structuredContent")
    if structured is None:
        structured = fields.get("toolResult")  # MCP of October 2024
    content, problems = _read_content(fields.get("content"))
    if not content and structured is not None:
        problems = ()
    return _Result(content, structured, _is_true(fields.get("isError")), problems)


def _read_content(value: object) -> tuple[list[object], tuple[str, ...]]:
    """The blocks, and what is wrong with the array that should hold them."""
    match value:
        case list():
            return cast("list[object]", value), ()
        case None:
            return [], ("the result has no content",)
        case str() | Mapping():
            return [cast("object", value)], ("the result's content is not a list of blocks",)
        case _:
            return [json_text(value)], ("the result's content is not a list of blocks",)


def _is_true(value: object) -> bool:
    """`isError` where it is no boolean: "true" and 1 are meant as true, "false" and "" are not."""
    return value.strip().lower() == "true" if isinstance(value, str) else bool(value)


def _fitted_blocks(pieces: Sequence[Piece], text: str, limit: int, where: str) -> str:
    """The blocks' JSON in `limit` characters: the long texts trimmed to one length inside their blocks.

    Where that would leave too little of each, one block with the trimmed `text` of all.
    """
    room = limit - len(_array(_with_text(piece.block, "") for piece in pieces))
    cap = _level([len(_text_of(piece.block)) for piece in pieces], room)
    while cap >= _LEAST_TEXT:
        shorter = (trimmed(_text_of(piece.block), cap, where=where) for piece in pieces)
        content = _array(_with_text(piece.block, text) for piece, text in zip(pieces, shorter, strict=True))
        if len(content) <= limit:
            return content
        cap = min(cap * limit // len(content), cap * 19 // 20)
    return fitted(text, limit, _one_block, where=where)


def _level(lengths: Sequence[int], total: int) -> int:
    """The cap at which `lengths` add up to `total`: the short stay whole, the long share what they leave."""
    ordered = sorted(lengths)
    for index, length in enumerate(ordered):
        share = total // (len(ordered) - index)
        if length >= share:
            return share
        total -= length
    return ordered[-1] if ordered else 0


def _text_of(block: Mapping[str, Any]) -> str:
    text = (as_object(block.get("resource")) or block).get("text")
    return text if isinstance(text, str) else ""


def _with_text(block: dict[str, Any], text: str) -> dict[str, Any]:
    resource = as_object(block.get("resource"))
    if resource is None:
        return block | {"text": text} if "text" in block else block
    return block | {"resource": resource | {"text": text}} if "text" in resource else block


class OutputCheck:
    """Holds a tool's results against its `outputSchema`. Made once a tool, as that takes time.

    MCP has a tool with an `outputSchema` answer with a `structuredContent` that conforms to it. Nothing is
    said of a failed result, nor where the schema cannot be used.
    """

    def __init__(self, output_schema: object) -> None:
        self._declared = bool(as_object(output_schema))
        self._schema: SchemaCheck | None = None
        if self._declared:
            with suppress(Unusable):
                self._schema = SchemaCheck(output_schema)

    def warning(self, raw: object) -> str | None:
        """What is wrong with a result, given as the server's `CallToolResult`; None for nothing."""
        result = _read(raw)
        if not self._declared or result.failed:
            return None
        if result.structured is None:
            return "the tool declares an output schema, and its result has no structured content"
        try:
            errors = self._schema.errors(result.structured, limit=1) if self._schema else []
        except Unusable:
            self._schema = None  # it would be found out at every result
            return None
        if not errors:
            return None
        rule = one_line(json_text({str(errors[0].validator): errors[0].validator_value}), 200)
        place = errors[0].json_path
        return f"the structured content does not match the tool's output schema: {place} fails {rule}"
