"""server-everything, the reference server: over each transport, and every kind of result."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from . import real_servers
from .commandline import CommandLine, Outcome

pytestmark = pytest.mark.interop

TRANSPORTS = ("stdio", "http", "sse")
WAYS = (*TRANSPORTS, "npx", "url-http", "url-sse")

TOOLS = (
    "echo",
    "get_annotated_message",
    "get_env",
    "get_resource_links",
    "get_resource_reference",
    "get_structured_content",
    "get_sum",
    "get_tiny_image",
    "gzip_file_as_resource",
    "toggle_simulated_logging",
    "toggle_subscriber_updates",
    "trigger_long_running_operation",
    "get_roots_list",
    "trigger_elicitation_request",
    "trigger_url_elicitation",
    "trigger_sampling_request",
)


@pytest.fixture
def over(mcphost: CommandLine, way: str, request: pytest.FixtureRequest) -> CommandLine:
    """The command line with server-everything, reached in one `way`."""
    mcphost.configure(everything=_entry(way, request))
    return mcphost


def _entry(way: str, request: pytest.FixtureRequest) -> real_servers.Entry:
    match way:
        case "stdio":
            return real_servers.everything()
        case "npx":  # a shell and a second process stand between us and the server
            folder = str(real_servers.INSTALLED)
            return {"command": "npx", "args": ["--no-install", "--prefix", folder, "mcp-server-everything"]}
        case "http" | "sse":
            return {"type": way, "url": request.getfixturevalue(f"everything_{way}")}
        case _:
            return {"url": request.getfixturevalue(f"everything_{way.removeprefix('url-')}")}


@pytest.fixture
def stdio(mcphost: CommandLine) -> CommandLine:
    mcphost.configure(everything=real_servers.everything())
    return mcphost


@pytest.mark.parametrize("way", WAYS)
def test_its_tools_are_listed(over: CommandLine):
    listed = over("tools", "--output", "openai").data
    assert [entry["function"]["name"] for entry in listed] == [f"everyth-{tool}" for tool in TOOLS]
    total = next(entry for entry in listed if entry["function"]["name"] == "everyth-get_sum")
    assert total["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "a": {"type": "number", "description": "First number"},
            "b": {"type": "number", "description": "Second number"},
        },
        "required": ["a", "b"],
    }


@pytest.mark.parametrize("way", WAYS)
def test_text_comes_back_as_it_was_sent(over: CommandLine):
    message = 'é 高铁 🙂 "quoted"\u2028\nnext'
    done = over.call("everything/echo", "--output", "json", message=message)
    assert done.data["content"] == f"Echo: {message}"
    assert (done.data["server"], done.data["tool"]) == ("everything", "echo")


@pytest.mark.parametrize("way", TRANSPORTS)
def test_progress_is_reported_while_a_long_call_runs(over: CommandLine):
    done = over.call("everyth-trigger_long_running_operation", duration=0.6, steps=3)
    assert done.out == "Long running operation completed. Duration: 0.6 seconds, Steps: 3.\n"
    reports = done.notified("everything", "notifications/progress")
    assert [(report["progress"], report["total"]) for report in reports] == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("way", TRANSPORTS)
def test_an_image_is_saved_and_its_base64_is_not_shown(over: CommandLine):
    done = over.call("everything/get-tiny-image", "--output", "json")
    sent = base64.b64decode(_block(done, "image")["data"])
    assert _saved(done, "image/png") == sent
    assert sent.startswith(b"\x89PNG")
    before, label, after = done.data["content"].split("\n\n")
    assert before.startswith("Here's the image")
    assert "image/png" in label
    assert str(done.data["attachments"][0]["path"]) in label
    assert after.startswith("The image above")


@pytest.mark.parametrize("way", TRANSPORTS)
def test_an_error_of_the_tool_ends_the_command(over: CommandLine):
    done = over.call("everything/get-resource-reference", resourceId=-1, code=5)
    assert done.out == ""
    assert "Invalid resourceId: -1" in done.err


def test_a_url_without_a_type_falls_back_to_sse(mcphost: CommandLine, everything_sse: str):
    mcphost.configure(everything={"url": everything_sse})
    done = mcphost("servers", "--output", "json")
    assert done.data[0]["state"] == "ready"
    sent = done.sent("everything")
    assert sent[0] == "server/discover"  # over HTTP, which knows nothing of SSE
    assert sent[-3:] == ["initialize", "notifications/initialized", "tools/list"]


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_a_wrong_type_fails_without_another_try(
    mcphost: CommandLine, kind: str, everything_http: str, everything_sse: str
):
    url = everything_sse if kind == "http" else everything_http
    mcphost.configure(everything={"type": kind, "url": url})
    done = mcphost("servers", "--output", "json", code=4)
    assert done.data[0]["state"] == "failed"
    assert "HTTP 4" in done.data[0]["error"]


def test_numbers_are_added(stdio: CommandLine):
    assert stdio.call("everyth-get_sum", a=2, b=3.5).out == "The sum of 2 and 3.5 is 5.5.\n"


def test_numbers_given_as_text_are_taken_for_numbers(stdio: CommandLine):
    assert stdio.call("everyth-get_sum", a="2", b="40").out == "The sum of 2 and 40 is 42.\n"


def test_structured_content_is_not_said_twice(stdio: CommandLine):
    done = stdio.call("everything/get-structured-content", "--output", "json", location="Chicago")
    weather = {"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82}
    assert json.loads(done.data["content"]) == weather
    assert done.data["result"]["structuredContent"] == weather
    assert done.err == ""


def test_an_annotated_message_reads_like_any_other(stdio: CommandLine):
    done = stdio.call("everything/get-annotated-message", messageType="error", includeImage=True)
    assert done.out.startswith("Error: Operation failed\n\n[image 1")


def test_resource_links_are_named_with_their_uris(stdio: CommandLine):
    lines = stdio.call("everything/get-resource-links", count=2).out.strip().split("\n\n")
    assert lines[1:] == [
        "[resource: Blob Resource 1 <demo://resource/dynamic/blob/1>]",
        "[resource: Text Resource 2 <demo://resource/dynamic/text/2>]",
    ]


def test_an_embedded_text_stands_under_its_uri(stdio: CommandLine):
    done = stdio.call("everything/get-resource-reference", resourceType="Text", resourceId=2)
    uri, text = done.out.split("\n\n")[1].splitlines()
    assert uri == "demo://resource/dynamic/text/2"
    assert text.startswith("Resource 2: This is a plaintext resource")


def test_an_embedded_file_is_saved(stdio: CommandLine):
    data = "data:text/plain,hello"
    done = stdio.call(
        "everything/gzip-file-as-resource", "--output", "json", data=data, outputType="resource"
    )
    sent = base64.b64decode(_block(done, "resource")["resource"]["blob"])
    assert _saved(done, "application/gzip") == sent
    assert done.data["content"].startswith("[file: demo://resource/session/")


def test_blocks_keep_their_form_without_the_base64(stdio: CommandLine):
    done = stdio.call("everything/get-tiny-image", "--output", "json", "--results", "blocks")
    blocks = json.loads(done.data["content"])
    assert [block["type"] for block in blocks] == ["text", "image", "text"]
    assert len(done.data["content"]) < 1000


def test_arguments_against_the_schema_are_not_sent(stdio: CommandLine):
    done = stdio.call("everything/get-sum", a="x", code=2)
    assert "missing: b" in done.err
    assert "tools/call" not in done.sent("everything")


def test_unchecked_arguments_are_for_the_server_to_judge(stdio: CommandLine):
    done = stdio.call("everything/get-sum", "--no-validate", a="x", code=5)
    assert "expected number" in done.err


def test_an_unknown_tool_is_answered_with_the_nearest(stdio: CommandLine):
    done = stdio.call("everything/ecco", code=2)
    assert "no tool named 'everything/ecco'" in done.err
    assert "everyth-echo" in done.err


def test_a_tool_that_runs_only_as_a_task_is_left_out_and_said_so(stdio: CommandLine):
    server = stdio("servers", "--output", "json").data[0]
    assert server["tools"] == len(TOOLS) + 1
    (left_out,) = server["left_out"]
    assert left_out.startswith("simulate-research-query: ")


def test_a_call_that_takes_too_long_is_cancelled(mcphost: CommandLine):
    mcphost.configure(everything={**real_servers.everything(), "timeout": 1})
    done = mcphost.call("everything/trigger-long-running-operation", duration=60, code=5)
    assert "no answer within 1 s" in done.err
    assert done.sent("everything")[-1] == "notifications/cancelled"


def test_only_what_is_named_of_our_environment_reaches_the_server(mcphost: CommandLine):
    entry = real_servers.everything()
    mcphost.configure(everything={**entry, "env": {"GIVEN": "1"}, "inherit_env": ["PASSED_*"]})
    ours = {"PASSED_ON": "2", "A_TOKEN": "secret"}
    environment = json.loads(mcphost("call", "everything/get-env", env=ours).out)
    assert (environment["GIVEN"], environment["PASSED_ON"]) == ("1", "2")
    assert "A_TOKEN" not in environment
    assert "PATH" in environment


def _block(done: Outcome, kind: str) -> dict[str, Any]:
    """The one block of a kind in the server's own result."""
    (block,) = [block for block in done.data["result"]["content"] if block["type"] == kind]
    return block


def _saved(done: Outcome, mime_type: str) -> bytes:
    """What was saved of the one attachment."""
    (attachment,) = done.data["attachments"]
    assert attachment["mime_type"] == mime_type
    return Path(attachment["path"]).read_bytes()
