"""Prompts and resources, from whatever JSON a server has for them."""

import base64
from dataclasses import replace

import pytest

from mcphost import finding, offers
from mcphost.dialect import OPENAI
from mcphost.errors import ConfigError
from mcphost.offers import Contents, Prompt, Resource, ResourceTemplate

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 8
SEEING = replace(OPENAI, images=True)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def test_unusable_entries_are_left_out_and_the_others_stay():
    listed = [{"name": "a"}, "b", {"title": "no name"}, {"name": 3}, None, {"name": "a", "title": "again"}]
    assert [prompt.name for prompt in offers.prompts("s", listed)] == ["a"]
    assert [each.uri for each in offers.resources("s", [{"uri": "x://1"}, {"name": "n"}])] == ["x://1"]
    assert [each.name for each in offers.resource_templates("s", [{"uriTemplate": "x://{n}"}])] == ["x://{n}"]


def test_odd_fields_are_read_as_absent():
    (prompt,) = offers.prompts("s", [{"name": "a", "description": 3, "arguments": [{"name": "x"}, 4]}])
    assert prompt.description == ""
    assert [(each.name, each.required) for each in prompt.arguments] == [("x", False)]
    (resource,) = offers.resources("s", [{"uri": "x://1", "size": "big", "mimeType": []}])
    assert (resource.name, resource.size, resource.mime_type) == ("x://1", None, None)


def test_contents_are_text_or_bytes():
    blob = base64.b64encode(PNG).decode()
    raw = {
        "contents": [
            {"uri": "x://1", "mimeType": "text/plain", "text": "hello"},
            {"blob": blob},
            {"blob": ""},
            {"blob": "%%%"},
            7,
        ]
    }
    assert offers.contents(raw, "x://0") == (
        Contents("x://1", "text/plain", text="hello"),
        Contents("x://0", None, data=PNG),
        Contents("x://0", None, data=b""),
    )


def test_a_prompt_becomes_chat_messages():
    raw = {
        "description": "d",
        "messages": [
            {"role": "user", "content": text("look")},
            {"role": "assistant", "content": [text("I"), text("see")]},
            {"role": "user", "content": {"type": "resource", "resource": {"uri": "x://1", "text": "body"}}},
            "odd",
        ],
    }
    reply = offers.prompt_reply(raw, OPENAI)
    assert reply.description == "d"
    assert reply.messages == [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": "I\n\nsee"},
        {"role": "user", "content": "x://1\nbody"},
    ]


@pytest.mark.parametrize(("dialect", "kinds"), [(SEEING, ["text", "image_url"]), (OPENAI, None)])
def test_pictures_go_to_models_that_take_them(dialect, kinds):
    picture = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(PNG).decode()}
    raw = {"messages": [{"role": "user", "content": [text("what is this?"), picture]}]}
    (message,) = offers.prompt_reply(raw, replace(dialect, images=kinds is not None)).messages
    if kinds is None:
        assert message["content"].startswith("what is this?\n\n[image 1")
    else:
        assert [part["type"] for part in message["content"]] == kinds


def test_completions_are_texts():
    raw = {"completion": {"values": ["Suzhou", 3, "Suqian"], "total": 9, "hasMore": True}}
    assert offers.completion(raw) == offers.Completion(("Suzhou", "Suqian"), 9, True)
    assert offers.completion({"completion": []}) == offers.Completion()


def prompt(server: str, name: str, *arguments: tuple[str, bool]) -> Prompt:
    made = tuple(offers.PromptArgument(each, required=required) for each, required in arguments)
    return Prompt(server, name, "", "", made, {})


def resource(server: str, uri: str) -> Resource:
    return Resource(server, uri, uri, "", "", None, None, {})


def template(server: str, uri_template: str) -> ResourceTemplate:
    return ResourceTemplate(server, uri_template, "", "", "", None, {})


def test_a_prompt_is_found_by_its_name_or_with_its_servers():
    offered = [prompt("a", "plan"), prompt("b", "plan"), prompt("b", "review")]
    assert finding.prompt(offered, "review").server == "b"
    assert finding.prompt(offered, "a/plan").server == "a"
    with pytest.raises(ConfigError, match="several servers offer a prompt 'plan'") as raised:
        finding.prompt(offered, "plan")
    assert raised.value.hint == "Name one of a/plan, b/plan."
    with pytest.raises(ConfigError, match="no server offers a prompt 'reveiw'") as raised:
        finding.prompt(offered, "reveiw")
    assert raised.value.hint == "There is review."


def test_arguments_of_a_prompt_are_texts_and_complete():
    plan = prompt("a", "plan", ("city", True), ("days", False))
    assert finding.arguments(plan, {"city": "苏州", "days": 3}) == {"city": "苏州", "days": "3"}
    with pytest.raises(ConfigError, match="needs city"):
        finding.arguments(plan, {"days": 3})
    with pytest.raises(ConfigError, match="has no argument 'town'"):
        finding.arguments(plan, {"town": "苏州"})


def test_a_resource_belongs_to_the_server_that_lists_it_or_has_a_template_for_it():
    listed = [resource("a", "x://1"), resource("b", "x://2"), resource("b", "x://1")]
    templates = [template("c", "y://{id}/body"), template("d", "z://{+path}")]
    assert finding.resource_server("x://2", listed, templates) == "b"
    assert finding.resource_server("y://7/body", listed, templates) == "c"
    assert finding.resource_server("anything://", [resource("a", "x://1")], []) == "a"
    with pytest.raises(ConfigError, match="several servers have the resource 'x://1'"):
        finding.resource_server("x://1", listed, templates)
    with pytest.raises(ConfigError, match="no server is known to have the resource 'q://'"):
        finding.resource_server("q://", listed, templates)


@pytest.mark.parametrize(
    ("uri_template", "uri", "fits"),
    [
        ("x://{id}", "x://1", True),
        ("x://{id}", "x://1/2", False),
        ("x://{+path}", "x://1/2?q#f", True),
        ("x://{id}{?q,r}", "x://1?q=2", True),
        ("x://{id}{?q}", "x://1", True),
        ("x://a.b/{id}", "x://axb/1", False),
        ("x://{/parts*}", "x:///a/b", True),
        ("x://{open", "x://{open", True),
    ],
)
def test_templates_fit_what_they_can_expand_to(uri_template, uri, fits):
    assert finding.fits(uri_template, uri) is fits
