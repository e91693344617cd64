"""mcphost: an MCP host for OpenAI-style function calling.

    async with Host.from_config("servers.json") as host:
        reply = await host.chat("What is the weather in Suzhou?", model="deepseek/deepseek-chat")

Names are imported when they are first used, so that a program that wants little waits for little.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcphost.catalog import Catalog, Route
    from mcphost.config import Approve, Config, Limits, ServerSpec
    from mcphost.dialect import Dialect
    from mcphost.errors import (
        AuthRequired,
        ConfigError,
        ConnectFailed,
        LimitReached,
        McphostError,
        ModelError,
        ServerError,
        ServerLost,
        ToolError,
    )
    from mcphost.events import (
        Call,
        Done,
        Event,
        Failed,
        ListChanged,
        Progress,
        Reasoning,
        ResourceUpdated,
        Result,
        Round,
        RoundUsage,
        ServerChanged,
        ServerLog,
        Text,
        Warned,
    )
    from mcphost.hooks import (
        Accept,
        Allow,
        AllowAll,
        Answer,
        Asked,
        Decision,
        Decline,
        ElicitationAsked,
        Hooks,
        NoHooks,
        Refuse,
        SamplingAsked,
    )
    from mcphost.host import Host
    from mcphost.messages import Attachment, Message, ToolCall, ToolResult, Usage
    from mcphost.model import Model, Reply, ToolChoice
    from mcphost.oauth.loopback import Loopback
    from mcphost.oauth.visitor import NotVisited, Visit, Visitor
    from mcphost.offers import (
        Completion,
        Contents,
        Prompt,
        PromptArgument,
        PromptReply,
        Resource,
        ResourceTemplate,
    )
    from mcphost.openai_model import OpenAIModel
    from mcphost.server import Server
    from mcphost.specs import AuthSpec
    from mcphost.turn import ChatReply, Turn

__version__ = "0.1.0"

_MODULES = {
    "mcphost.dialect": ("Dialect",),
    "mcphost.catalog": ("Catalog", "Route"),
    "mcphost.config": ("Approve", "Config", "Limits", "ServerSpec"),
    "mcphost.errors": (
        "AuthRequired",
        "ConfigError",
        "ConnectFailed",
        "LimitReached",
        "McphostError",
        "ModelError",
        "ServerError",
        "ServerLost",
        "ToolError",
    ),
    "mcphost.events": (
        "Call",
        "Done",
        "Event",
        "Failed",
        "ListChanged",
        "Progress",
        "Reasoning",
        "ResourceUpdated",
        "Result",
        "Round",
        "RoundUsage",
        "ServerChanged",
        "ServerLog",
        "Text",
        "Warned",
    ),
    "mcphost.server": ("Server",),
    "mcphost.turn": ("ChatReply", "Turn"),
    "mcphost.hooks": (
        "Accept",
        "Allow",
        "AllowAll",
        "Answer",
        "Asked",
        "Decision",
        "Decline",
        "ElicitationAsked",
        "Hooks",
        "NoHooks",
        "Refuse",
        "SamplingAsked",
    ),
    "mcphost.host": ("Host",),
    "mcphost.messages": ("Attachment", "Message", "ToolCall", "ToolResult", "Usage"),
    "mcphost.model": ("Model", "Reply", "ToolChoice"),
    "mcphost.oauth.loopback": ("Loopback",),
    "mcphost.oauth.visitor": ("NotVisited", "Visit", "Visitor"),
    "mcphost.specs": ("AuthSpec",),
    "mcphost.offers": (
        "Completion",
        "Contents",
        "Prompt",
        "PromptArgument",
        "PromptReply",
        "Resource",
        "ResourceTemplate",
    ),
    "mcphost.openai_model": ("OpenAIModel",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Accept",
    "Allow",
    "AllowAll",
    "Answer",
    "Approve",
    "Asked",
    "Attachment",
    "AuthRequired",
    "AuthSpec",
    "Call",
    "Catalog",
    "ChatReply",
    "Completion",
    "Config",
    "ConfigError",
    "ConnectFailed",
    "Contents",
    "Decision",
    "Decline",
    "Dialect",
    "Done",
    "ElicitationAsked",
    "Event",
    "Failed",
    "Hooks",
    "Host",
    "LimitReached",
    "Limits",
    "ListChanged",
    "Loopback",
    "McphostError",
    "Message",
    "Model",
    "ModelError",
    "NoHooks",
    "NotVisited",
    "OpenAIModel",
    "Progress",
    "Prompt",
    "PromptArgument",
    "PromptReply",
    "Reasoning",
    "Refuse",
    "Reply",
    "Resource",
    "ResourceTemplate",
    "ResourceUpdated",
    "Result",
    "Round",
    "RoundUsage",
    "Route",
    "SamplingAsked",
    "Server",
    "ServerChanged",
    "ServerError",
    "ServerLog",
    "ServerLost",
    "ServerSpec",
    "Text",
    "ToolCall",
    "ToolChoice",
    "ToolError",
    "ToolResult",
    "Turn",
    "Usage",
    "Visit",
    "Visitor",
    "Warned",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
