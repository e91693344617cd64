"""Prompts and resources of the full test server, and what their arguments may be completed to."""

import base64
import os

from full_features import FORM, Asker, exists, form
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    Completion,
    GetPromptResult,
    Prompt,
    PromptArgument,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
)

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(16)).decode()
WAV = base64.b64encode(b"RIFF\x24\x00\x00\x00WAVEfmt ").decode()
CITIES = ("Shanghai", "Shenzhen", "Suzhou", "Suqian", "Xi'an")
STATIONS = {"Suzhou": ("Suzhou", "Suzhou North", "Suzhou Park")}
TONE = {"type": "object", "properties": {"tone": FORM["properties"]["class"]}, "required": ["tone"]}

PROMPTS = (
    Prompt(name="hello", title="A greeting", description="Greets."),
    Prompt(
        name="journey",
        description="Plans a journey.",
        arguments=[
            PromptArgument(name="city", description="where to", required=True),
            PromptArgument(name="station"),
            PromptArgument(name="days"),
        ],
    ),
    Prompt(name="talk", description="A question, an answer, another question."),
    Prompt(name="picture", description="A picture and a sound."),
    Prompt(name="papers", description="Documents that come with it."),
    Prompt(name="letter", description="Asks the user for its tone first."),
    Prompt(name="odd", description="Not all of its messages are what they should be."),
)

RESOURCES = (
    Resource(uri="memo://today", name="today", title="Today", mime_type="text/plain", size=11),
    Resource(uri="memo://logo", name="logo", mime_type="image/png", description="a picture"),
    Resource(uri="memo://all", name="all", description="several in one"),
    Resource(uri="memo://empty", name="empty"),
    Resource(uri="memo://sealed", name="sealed", description="asks the user first"),
    Resource(uri="memo://odd", name="odd", description="not all of it is what it should be"),
    Resource(uri="memo://end", name="end", description="ends the server's process"),
)

TEMPLATES = (
    ResourceTemplate(uri_template="memo://people/{name}", name="people", mime_type="text/plain"),
    ResourceTemplate(uri_template="memo://huge/{size}", name="huge", title="So many bytes"),
    ResourceTemplate(uri_template="memo://files/{+path}", name="files"),
    ResourceTemplate(uri_template="memo://gates{+file}", name="gates", description="there when a file is"),
)

ODD = {
    ("prompts/get", "odd"): {
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "good"}},
            {"role": "user", "content": {"type": "hologram", "volume": 3}},
            {"content": {"type": "text", "text": "nobody's"}},
            "not a message",
        ]
    },
    ("resources/read", "memo://odd"): {
        "contents": [
            {"uri": "memo://odd", "text": "good"},
            {"uri": "memo://odd/bytes", "blob": "%%%"},
            {"uri": "memo://odd/nothing"},
            "not contents",
        ]
    },
}
"""Results that are no good MCP, by method and by name or URI."""

UNUSABLE = {
    "tools": [{"description": "no name"}, "not a tool", {"name": "schemaless"}],
    "prompts": [
        {"description": "no name"},
        "not a prompt",
        {"name": 3},
        {"name": "bare", "arguments": "none"},
    ],
    "resources": [{"name": "no uri"}, None, {"uri": "memo://bare", "size": "big"}],
    "resourceTemplates": [{"name": "no template"}, 7, {"uriTemplate": "memo://bare/{x}"}],
}
"""Entries that spoil a list for who takes it all or not at all."""


def _said(text, role="user"):
    return {"role": role, "content": {"type": "text", "text": text}}


async def get_prompt(asker: Asker, name, given):
    """A prompt, filled in."""
    match name:
        case "hello":
            messages = [_said("Say hello.")]
        case "journey":
            stay = f", {given['days']} days" if "days" in given else ""
            messages = [_said(f"Plan a journey to {given['city']}{stay}.")]
        case "talk":
            messages = [_said("Tea?"), _said("Green or black?", "assistant"), _said("Green.")]
        case "picture":
            messages = [
                _said("What is this?"),
                {"role": "user", "content": {"type": "image", "data": PNG, "mimeType": "image/png"}},
                {"role": "user", "content": {"type": "audio", "data": WAV, "mimeType": "audio/wav"}},
            ]
        case "papers":
            text = {"uri": "memo://today", "mimeType": "text/plain", "text": "milk, bread"}
            blob = {"uri": "memo://logo", "mimeType": "image/png", "blob": PNG}
            messages = [
                {"role": "user", "content": {"type": "resource", "resource": text}},
                {"role": "user", "content": {"type": "resource", "resource": blob}},
                {"role": "user", "content": {"type": "resource_link", "uri": "memo://all", "name": "all"}},
            ]
        case "letter":
            answer = (await asker.ask(tone=form("In what tone?", TONE)))["tone"]
            messages = [_said(f"Write a letter: {answer.get('content', answer)}.")]
        case _ if name in asker.features.added["prompts"]:
            messages = [_said(f"{name} was added.")]
        case _:
            raise MCPError(INVALID_PARAMS, f"there is no prompt {name}")
    return GetPromptResult.model_validate({"description": f"the prompt {name}", "messages": messages})


async def read_resource(asker: Asker, uri):
    """What a resource holds."""
    head, _, rest = uri.removeprefix("memo://").partition("/")
    match head:
        case "logo":
            contents = [{"uri": uri, "mimeType": "image/png", "blob": PNG}]
        case "all":
            contents = [
                {"uri": "memo://all/1", "mimeType": "text/plain", "text": "one"},
                {"uri": "memo://all/2", "blob": PNG},
            ]
        case "empty":
            contents = []
        case "sealed":
            answer = await asker.ask(seal=form("Break the seal?", TONE))
            contents = [{"uri": uri, "text": answer["seal"].get("action", "refused")}]
        case "end":
            os._exit(7)
        case "people":
            contents = [{"uri": uri, "mimeType": "text/plain", "text": f"{rest} is kind"}]
        case "huge":
            contents = [{"uri": uri, "text": "0123456789abcdef" * (int(rest) // 16)}]
        case "files":
            contents = [{"uri": uri, "text": f"the file {rest}"}]
        case "gates":
            await exists(f"/{rest}")
            contents = [{"uri": uri, "text": "it is there"}]
        case _ if uri in asker.features.texts or uri in asker.features.added["resources"]:
            contents = [{"uri": uri, "text": asker.features.texts.get(uri, f"{uri} was added")}]
        case _:
            raise MCPError(-32002 if not asker.modern else INVALID_PARAMS, f"there is no resource {uri}")
    return ReadResourceResult.model_validate({"contents": contents})


def complete(of, name, value, context):
    """What the value of an argument may go on with."""
    match of, name:
        case ("journey", "city"):
            known = CITIES
        case ("journey", "station"):
            known = STATIONS.get(context.get("city", ""), ())
        case ("memo://people/{name}", "name"):
            known = tuple(f"person {number}" for number in range(150))
        case _:
            known = ()
    found = [each for each in known if each.lower().startswith(value.lower())]
    return Completion(values=found[:100], total=len(found), has_more=len(found) > 100)
