"""Prompts, resources and completions of a real server, over each transport and revision."""

from contextlib import ExitStack
from functools import partial

import pytest

from mcphost import ConfigError, Host, ServerError, ToolError
from mcphost.hooks import Accept, Decline
from mcphost.offers import Completion, Contents, PromptArgument

from .full_servers import IN_ONE_WAY, Answers, Full, said

pytestmark = pytest.mark.anyio

PROMPTS = ["hello", "journey", "talk", "picture", "papers", "letter", "odd"]
RESOURCES = ["today", "logo", "all", "empty", "sealed", "odd", "end"]
TEMPLATES = ["people", "huge", "files", "gates"]


async def test_all_pages_of_all_lists_are_read(full: Full):
    async with full.host() as host:
        assert [prompt.name for prompt in await host.prompts()] == PROMPTS
        assert [resource.name for resource in await host.resources()] == RESOURCES
        assert [template.name for template in await host.resource_templates("full")] == TEMPLATES


@IN_ONE_WAY
async def test_what_is_listed_is_described(full: Full):
    async with full.host() as host:
        hello, journey, *_ = await host.prompts()
        today, *_ = await host.resources()
        people, *_ = await host.resource_templates()
    assert (hello.server, hello.title, hello.description, hello.arguments) == (
        "full",
        "A greeting",
        "Greets.",
        (),
    )
    assert journey.arguments == (
        PromptArgument("city", "where to", required=True),
        PromptArgument("station"),
        PromptArgument("days"),
    )
    assert (today.uri, today.title, today.mime_type, today.size) == (
        "memo://today",
        "Today",
        "text/plain",
        11,
    )
    assert today.definition["uri"] == today.uri
    assert (people.uri_template, people.mime_type) == ("memo://people/{name}", "text/plain")


async def test_unusable_entries_cost_nobody_else_a_place(full: Full):
    async with full.host("--unusable") as host:
        prompts, resources = await host.prompts(), await host.resources()
        templates = await host.resource_templates()
        assert {prompt.name for prompt in prompts} == {*PROMPTS, "bare"}
        assert {resource.uri for resource in resources} > {"memo://today", "memo://end", "memo://bare"}
        assert len(resources) == len(RESOURCES) + 1
        assert len(templates) == len(TEMPLATES) + 1
        assert await said(host, "heard", method="nothing", times=0) == "[]"


async def test_a_prompt_is_filled_in(full: Full):
    async with full.host() as host:
        reply = await host.get_prompt("full/journey", {"city": "苏州", "days": 3})
    assert reply.description == "the prompt journey"
    assert reply.messages == [{"role": "user", "content": "Plan a journey to 苏州, 3 days."}]
    assert reply.raw["messages"][0]["content"]["type"] == "text"


async def test_a_prompt_keeps_its_roles(full: Full):
    async with full.host() as host:
        reply = await host.get_prompt("talk")
    assert [(message["role"], message["content"]) for message in reply.messages] == [
        ("user", "Tea?"),
        ("assistant", "Green or black?"),
        ("user", "Green."),
    ]


async def test_pictures_and_documents_of_a_prompt_reach_the_model(full: Full):
    async with full.host() as host:
        picture, papers = await host.get_prompt("picture"), await host.get_prompt("papers")
    question, shown, sound = picture.messages
    assert question["content"] == "What is this?"
    assert "image/png" in str(shown["content"])
    assert "wav" in str(sound["content"])
    document, logo, link = papers.messages
    assert document["content"] == "memo://today\nmilk, bread"
    assert "image/png" in str(logo["content"])
    assert "memo://all" in link["content"]


async def test_odd_messages_of_a_prompt_are_taken_as_far_as_they_go(full: Full):
    async with full.host() as host:
        reply = await host.get_prompt("odd")
    contents = [message["content"] for message in reply.messages]
    assert contents[0] == "good"
    assert "hologram" in contents[1]
    assert contents[2] == "nobody's"
    assert {message["role"] for message in reply.messages} == {"user"}


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        (Accept({"tone": "first"}), "Write a letter: {'tone': 'first'}."),
        (Decline(), "Write a letter: {'action': 'decline'}."),
    ],
    ids=["accepted", "declined"],
)
async def test_a_prompt_may_ask_the_user_first(full: Full, answer: Accept | Decline, letter: str):
    hooks = Answers(answer)
    async with full.host(hooks=hooks) as host:
        reply = await host.get_prompt("letter")
    assert reply.messages == [{"role": "user", "content": letter}]
    assert [asked.message for asked in hooks.asked] == ["In what tone?"]


@IN_ONE_WAY
async def test_arguments_of_a_prompt_are_looked_at_before_it_is_sent(full: Full):
    async with full.host() as host:
        with pytest.raises(ConfigError, match="the prompt journey needs city"):
            await host.get_prompt("journey")
        with pytest.raises(ConfigError, match="has no argument 'town'"):
            await host.get_prompt("journey", {"city": "Suzhou", "town": "Suzhou"})
        assert await said(host, "heard", method="prompts/get", times=0) == "[]"


async def test_a_text_is_read(full: Full):
    async with full.host() as host:
        (today,) = await host.read_resource("memo://today")
        assert today == Contents("memo://today", None, text="milk, bread")
        (person,) = await host.read_resource("memo://people/Li Bai")
        assert person == Contents("memo://people/Li Bai", "text/plain", text="Li Bai is kind")
        (file,) = await host.read_resource("memo://files/a/b?c#d")
        assert file.text == "the file a/b?c#d"


async def test_a_resource_may_hold_bytes_or_several_or_nothing(full: Full):
    async with full.host() as host:
        (logo,) = await host.read_resource("memo://logo", server="full")
        assert logo.data is not None and logo.data.startswith(b"\x89PNG")
        assert (logo.mime_type, logo.text) == ("image/png", None)
        one, two = await host.read_resource("memo://all")
        assert (one.uri, one.text) == ("memo://all/1", "one")
        assert two.uri == "memo://all/2" and two.data is not None
        assert await host.read_resource("memo://empty") == ()


async def test_odd_contents_are_taken_as_far_as_they_go(full: Full, caplog: pytest.LogCaptureFixture):
    async with full.host() as host:
        assert await host.read_resource("memo://odd") == (Contents("memo://odd", None, text="good"),)
    assert "of the contents of memo://odd left out: neither text nor base64" in caplog.text


async def test_a_resource_may_ask_the_user_first(full: Full):
    async with full.host(hooks=Answers(Accept({"tone": "first"}), Decline(cancelled=True))) as host:
        assert (await host.read_resource("memo://sealed"))[0].text == "accept"
        assert (await host.read_resource("memo://sealed"))[0].text == "cancel"


async def test_a_huge_resource_comes_whole(full: Full):
    async with full.host() as host:
        (huge,) = await host.read_resource("memo://huge/3000000")
    assert huge.text == "0123456789abcdef" * (3_000_000 // 16)


async def test_a_resource_over_the_limit_is_refused_and_the_next_is_read(full: Full):
    async with full.host(limits={"message_bytes": 200_000}) as host:
        with pytest.raises((ToolError, ServerError), match="larger than 200,000 bytes"):
            await host.read_resource("memo://huge/1000000")
        (small,) = await host.read_resource("memo://huge/16")
        assert small.text == "0123456789abcdef"
        assert host.servers["full"].state == "ready"


async def test_values_are_completed(full: Full):
    async with full.host() as host:
        assert await host.complete("su", prompt="journey", argument="city") == Completion(
            ("Suzhou", "Suqian"), 2, False
        )
        people = await host.complete("person", template="memo://people/{name}", argument="name")
        assert (len(people.values), people.total, people.has_more) == (100, 150, True)
        assert await host.complete("", prompt="journey", argument="days") == Completion((), 0, False)


async def test_completions_depend_on_the_other_arguments(full: Full):
    async with full.host() as host:
        station = partial(host.complete, "suzhou n", prompt="full/journey", argument="station")
        assert (await station(context={"city": "Suzhou"})).values == ("Suzhou North",)
        assert (await station()).values == ()


async def test_a_server_without_completions_completes_nothing(full: Full):
    async with full.host("--only=tools,prompts,resources") as host:
        assert await host.complete("su", prompt="journey", argument="city") == Completion()
        assert await said(host, "heard", method="completion/complete", times=0) == "[]"


@IN_ONE_WAY
async def test_what_nobody_offers_is_said_to_be_unknown(full: Full):
    async with full.host() as host:
        with pytest.raises(ConfigError, match="no server offers a prompt 'jorney'") as raised:
            await host.get_prompt("jorney")
        assert "journey" in str(raised.value.hint)
        with pytest.raises(ConfigError, match=r"no server has a template 'memo://person/\{name\}'"):
            await host.complete("a", template="memo://person/{name}", argument="name")
        with pytest.raises(ConfigError, match="no server is called 'ful'") as raised:
            await host.prompts("ful")
        assert "full" in str(raised.value.hint)


async def test_what_the_server_does_not_know_is_its_error(full: Full):
    async with full.host() as host:
        with pytest.raises(ToolError, match="there is no resource memo://nothing"):
            await host.read_resource("memo://nothing")


async def test_a_server_with_nothing_but_tools_is_not_asked_for_more(full: Full):
    async with full.host("--only=tools") as host:
        assert await host.prompts() == []
        assert await host.resources("full") == []
        assert await host.resource_templates() == []
        with pytest.raises(ConfigError, match="no server offers a prompt 'hello'"):
            await host.get_prompt("hello")
        with pytest.raises(ConfigError, match="no server is known to have the resource"):
            await host.read_resource("memo://today")
        for method in ("prompts/list", "resources/list", "resources/templates/list"):
            assert await said(host, "heard", method=method, times=0) == "[]"


async def test_a_server_without_tools_is_ready_all_the_same(full: Full):
    async with full.host("--only=prompts") as host:
        assert host.tools == []
        assert [prompt.name for prompt in await host.prompts()] == PROMPTS


@IN_ONE_WAY
async def test_what_two_servers_offer_must_be_named(full: Full):
    with ExitStack() as stack:
        entries = {name: stack.enter_context(full.entry()) for name in ("one", "two")}
        async with Host.from_config({"mcpServers": entries}) as host:
            await host.ready()
            assert [prompt.server for prompt in await host.prompts()] == ["one"] * 7 + ["two"] * 7
            with pytest.raises(ConfigError, match="several servers offer a prompt 'hello'") as raised:
                await host.get_prompt("hello")
            assert raised.value.hint == "Name one of one/hello, two/hello."
            with pytest.raises(ConfigError, match="several servers have the resource 'memo://today'"):
                await host.read_resource("memo://today")
            assert (await host.get_prompt("hello", server="two")).messages
            assert (await host.get_prompt("one/hello")).messages
            assert (await host.read_resource("memo://today", server="two"))[0].text == "milk, bread"


async def test_a_server_that_is_lost_while_it_reads_is_said_to_be(full: Full):
    async with full.host(limits={"call_seconds": 10}) as host:
        with pytest.raises(ServerError, match=r"^full: ") as raised:
            await host.read_resource("memo://end")
        assert any(word in str(raised.value) for word in ("went away", "refused", "lost"))
        if full.way.transport == "stdio":  # it is started anew
            assert (await host.read_resource("memo://today"))[0].text == "milk, bread"
