"""The client under test for MCP's official conformance suite: a `Host`, and nothing less.

The suite starts it with a server's URL as its last argument, and what the scenario lets the client know as
JSON in MCP_CONFORMANCE_CONTEXT. Whatever the scenario, it does what a host does: it connects, lists, and uses
everything that it finds once.
"""

import fcntl
import json
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2

from mcphost import Accept, Allow, Answer, Asked, Decision, ElicitationAsked, Hooks, Host, SamplingAsked

REFUSED = {
    "auth/iss-normalized",
    "auth/iss-supported-missing",
    "auth/iss-unexpected",
    "auth/iss-wrong-issuer",
    "auth/metadata-issuer-mismatch",
    "auth/resource-mismatch",
    "auth/scope-retry-limit",
}
"""The scenarios in which to give up is right. Elsewhere an error is raised, for `make conformance` to see:
the suite itself looks at its own checks alone."""

SAMPLES: Mapping[str, Any] = {"string": "sample", "integer": 1, "number": 1.5, "boolean": True, "array": []}


class Willing(Hooks):
    """Agrees to everything, and fills in only what a form requires."""

    async def approve(self, asked: Asked) -> Decision:
        del asked
        return Allow()

    async def sample(self, asked: SamplingAsked) -> Decision:
        del asked
        return Allow()

    async def elicit(self, asked: ElicitationAsked) -> Answer:
        return Accept(None if asked.url else sample(asked.schema))


class Browser:
    """Goes to the page where access is granted, which the suite's servers do at once, and back."""

    redirect_uri = "http://127.0.0.1:3456/callback"

    @asynccontextmanager
    async def receiving(self, redirect_uri: str | None) -> AsyncGenerator["Browser"]:
        assert redirect_uri is None
        yield self

    async def visit(self, url: str) -> str:
        async with httpx2.AsyncClient() as client:
            return (await client.get(url)).headers["location"]


AUTH: Mapping[str, tuple[str, str]] = {
    "private_key_pem": ("private_key", "client_credentials"),
    "idp_id_token": ("id_token", "jwt_bearer"),
    "valid_jwt": ("assertion", "jwt_bearer"),
    "issuer": ("issuer", "authorization_code"),
    "client_secret": ("client_secret", "client_credentials"),
}
"""What the context tells of a login: our setting for it, and the grant that the first of them means."""

SAME = {
    "signing_algorithm": "algorithm",
    "idp_client_id": "id_client_id",
    "idp_token_endpoint": "id_token_url",
}


def auth(context: Mapping[str, Any]) -> dict[str, Any]:
    """The `auth` of the server's entry, from what the scenario tells."""
    if "client_id" not in context:
        return {"client_metadata_url": "https://conformance-test.local/client-metadata.json"}
    grants = [grant for key, (_, grant) in AUTH.items() if key in context]
    settings = {key: name for key, (name, _) in AUTH.items()} | SAME
    known = {name: context[key] for key, name in settings.items() if key in context}
    return {"client_id": context["client_id"], "grant": grants[0], **known}


def sample(schema: Any) -> Any:
    """A value of the schema, with no more than it requires."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type", "object") != "object":
        return SAMPLES[schema["type"]]
    properties = schema.get("properties", {})
    return {name: sample(properties.get(name, {})) for name in schema.get("required", [])}


async def use_everything(host: Host, context: Mapping[str, Any]) -> None:
    """Get every prompt, read every resource, call every tool: with the arguments that the context has."""
    for prompt in await host.prompts():
        await host.get_prompt(
            prompt.name, {each.name: "sample" for each in prompt.arguments if each.required}
        )
    for resource in await host.resources():
        await host.read_resource(resource.uri)
    tools = {tool["name"]: tool["inputSchema"] for tool in host.servers["server"].tools}
    known = [(call["name"], call["arguments"]) for call in context.get("toolCalls", [])]
    for name, arguments in known or [(name, sample(schema)) for name, schema in tools.items()]:
        if "schema" in arguments:  # what is to be echoed is the first tool's own
            arguments = {"schema": next(iter(tools.values()))}
        result = await host.call_tool(f"server/{name}", arguments, validate=False)
        print(f"{name}: {result.content[:200]}")


async def main(url: str) -> int:
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    server = {"type": "http", "url": url, "auth": auth(context)}
    config = {"mcpServers": {"server": server}}
    async with Host.from_config(config, hooks=Willing(), visitor=Browser(), save=False) as host:
        await host.ready()
        if (error := host.servers["server"].error) is not None:
            if os.environ["MCP_CONFORMANCE_SCENARIO"] not in REFUSED:
                raise error
            print(f"{error}\n{error.hint or ''}", file=sys.stderr)
            return 1
        await use_everything(host, context)
    return 0


if __name__ == "__main__":
    # the suite starts all its clients at once: one at a time they are quick, as their timeouts expect
    with open(__file__) as turn, tempfile.TemporaryDirectory() as home:
        fcntl.flock(turn, fcntl.LOCK_EX)
        # no login of one scenario is there in another
        os.environ |= {"HOME": home, "XDG_DATA_HOME": home}
        sys.exit(anyio.run(main, sys.argv[-1]))
