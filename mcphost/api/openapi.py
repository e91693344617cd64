"""The OpenAPI description of the backend. What stands here holds: it is checked against the running thing."""

from typing import Any, Final

from mcphost import __version__

Schema = dict[str, Any]


def document(*, keyed: bool) -> Schema:
    """The description, as an object for JSON. `keyed`: whether callers must present a key."""
    paths = _paths()
    described: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "mcphost",
            "version": __version__,
            "summary": "OpenAI's chat completions, with the tools of MCP servers",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": paths,
        "components": {"schemas": _SCHEMAS, "responses": {"Error": _ERROR_RESPONSE}},
    }
    if keyed:
        described["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, operations in paths.items():
            for method in operations.keys() & {"get", "post"}:
                operations[method]["security"] = [] if path in _OPEN else [{"key": []}]
    return described


def _paths() -> Schema:
    named = [{"name": "name", "in": "path", "required": True, "schema": _TEXT | {"minLength": 1}}]
    upstream = (404, 408, 409, 422, 502, 503, 504)
    chat = _operation(
        "An answer", "ChatCompletion", body="ChatRequest", errors=(400, 402, 413, 415, *upstream)
    )
    call = _operation(
        "One call of a tool", "CallResult", body="CallRequest", errors=(400, 404, 408, 413, 502, 504)
    )
    return {
        "/v1/chat/completions": {"post": chat},
        "/v1/models": {"get": _operation("The models", "Models", errors=upstream)},
        "/v1/models/{name}": {
            "get": _operation("One model", "Model", errors=upstream),
            "parameters": named,
        },
        "/v1/tools": {"get": _operation("The tools, as a model is given them", "Tools")},
        "/v1/tools/call": {"post": call},
        "/v1/servers": {"get": _operation("How the servers are", "Servers")},
        "/v1/servers/{name}/reconnect": {
            "post": _operation("Connect to a server anew", "Server", errors=(404, 502)),
            "parameters": named,
        },
        "/healthz": {"get": _operation("Whether this process answers", "Health")},
        "/readyz": {"get": _operation("Whether all servers are ready", "Readiness")},
        "/metrics": {"get": _operation("Figures for Prometheus", "Metrics")},
        "/openapi.json": {"get": _operation("This description", "Description")},
    }


def _operation(summary: str, ok: str, *, body: str | None = None, errors: tuple[int, ...] = ()) -> Schema:
    answers: Schema = {"200": _answer(ok)}
    answers |= {str(status): {"$ref": "#/components/responses/Error"} for status in (*errors, *_ALWAYS)}
    if ok == "Readiness":
        answers["503"] = _answer(ok)
    operation: Schema = {"summary": summary, "responses": answers}
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _ref(body)}}}
    return operation


def _answer(schema: str) -> Schema:
    if schema in _TEXTS:
        return {"description": schema, "content": {_TEXTS[schema]: {"schema": {"type": "string"}}}}
    content: Schema = {"application/json": {"schema": _ref(schema)}}
    if schema == "ChatCompletion":
        content["text/event-stream"] = {"schema": _ref("Event")}
    return {"description": schema, "content": content}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: str, /, **properties: Schema) -> Schema:
    """An object with these properties; `required` names those that are always there."""
    return {"type": "object", "required": required.split(), "properties": properties}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _list_of(items: Schema) -> Schema:
    """OpenAI's envelope of a list."""
    return _object("object data", object={"const": "list"}, data=_list(items))


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


_TEXT: Final[Schema] = {"type": "string"}
_INT: Final[Schema] = {"type": "integer"}
_NUMBER: Final[Schema] = {"type": "number"}
_FLAG: Final[Schema] = {"type": "boolean"}
_ANYTHING: Final[Schema] = {}
_OPEN: Final = ("/healthz", "/readyz", "/openapi.json")
_ALWAYS: Final = (401, 403, 429)
_TEXTS: Final = {"Metrics": "text/plain"}

_USAGE: Final = _object(
    "prompt_tokens completion_tokens total_tokens",
    prompt_tokens=_INT,
    completion_tokens=_INT,
    total_tokens=_INT,
    prompt_tokens_details=_object("cached_tokens", cached_tokens=_INT),
    completion_tokens_details=_object("reasoning_tokens", reasoning_tokens=_INT),
)
_CALL_MADE: Final = _object(
    "name server tool arguments ok error cause seconds",
    id=_TEXT,
    name=_TEXT,
    server=_or_null(_TEXT),
    tool=_or_null(_TEXT),
    arguments=_or_null({"type": "object"}),
    ok=_FLAG,
    error=_or_null(_TEXT),
    cause={"enum": [None, "unknown", "invalid", "refused", "tool", "timeout", "server", "auth"]},
    seconds=_NUMBER,
)
_NARROWING: Final[Schema] = {
    "type": "object",
    "additionalProperties": False,
    "description": "What this request may use of the servers. It narrows, and never widens.",
    "properties": {
        "servers": _or_null(_list(_TEXT)),
        "tools": _or_null(_list(_TEXT | {"description": "a glob over names, or server/tool"})),
        "max_rounds": _or_null(_INT | {"minimum": 0}),
        "approve": {
            "description": "calls that are refused, as nobody can be asked",
            "anyOf": [{"enum": ["never", "writes", "always", None]}, _list(_TEXT)],
        },
        "events": _or_null(_FLAG),
    },
}
_REQUEST: Final = _object(
    "messages",
    messages=_list(_object("role", role=_TEXT)) | {"minItems": 1},
    model=_or_null(_TEXT),
    stream=_or_null(_FLAG),
    stream_options=_or_null(_object("", include_usage=_ANYTHING)),
    tools=_or_null(_list({"type": "object"})),
    tool_choice=_or_null({"anyOf": [_TEXT, {"type": "object"}]}),
    n=_or_null(_INT | {"minimum": 1, "description": "more than 1 only where there are no tools"}),
    mcphost=_or_null(_NARROWING),
) | {"description": "All other fields go to the model as they are."}
_MESSAGE: Final = _object(
    "role content",
    role={"const": "assistant"},
    content=_or_null(_TEXT),
    refusal=_or_null(_TEXT),
    reasoning_content=_TEXT,
    tool_calls=_list(
        _object(
            "id type function", id=_TEXT, type=_TEXT, function=_object("name", name=_TEXT, arguments=_TEXT)
        )
    ),
)
_CHOICE: Final = _object(
    "index message finish_reason", index=_INT, message=_MESSAGE, logprobs=_ANYTHING, finish_reason=_TEXT
)
_COMPLETION: Final = _object(
    "id object created model choices usage mcphost",
    id=_TEXT,
    object={"const": "chat.completion"},
    created=_INT,
    model=_TEXT,
    choices=_list(_CHOICE),
    usage=_USAGE,
    mcphost=_object(
        "stop rounds calls warnings",
        stop={"enum": ["answer", "limit", "calls"]},
        rounds=_INT,
        calls=_list(_CALL_MADE),
        warnings=_list(_TEXT),
    ),
)
_CHUNK: Final = _object(
    "id object created model choices",
    id=_TEXT,
    object={"const": "chat.completion.chunk"},
    created=_INT,
    model=_TEXT,
    choices=_list(
        _object("index delta", index=_INT, delta={"type": "object"}, finish_reason=_or_null(_TEXT))
    ),
    usage=_or_null(_USAGE),
    mcphost={"type": "object"},
)
_EVENT: Final[Schema] = {
    "type": "object",
    "description": "One server-sent event. The last one's data is `[DONE]`, or an error in an event `error`.",
    "properties": {
        "data": {
            "anyOf": [
                {"const": "[DONE]"},
                _TEXT | {"contentMediaType": "application/json", "contentSchema": _CHUNK},
            ]
        },
        "event": _TEXT,
    },
}
_SERVER: Final = _object(
    "name state since tools protocol info seconds error",
    name=_TEXT,
    state={"enum": ["disabled", "starting", "ready", "failed", "lost", "stopped"]},
    since=_INT,
    tools=_INT,
    protocol=_or_null(_TEXT),
    info=_or_null(_TEXT),
    seconds=_or_null(_NUMBER),
    error=_or_null(_TEXT),
)
_TOOL: Final = _object(
    "type function mcphost",
    type={"const": "function"},
    function=_object("name parameters", name=_TEXT, description=_TEXT, parameters={"type": "object"}),
    mcphost=_object("server tool", server=_TEXT, tool=_TEXT),
)

_SCHEMAS: Final[Schema] = {
    "ChatRequest": _REQUEST,
    "ChatCompletion": _COMPLETION,
    "Event": _EVENT,
    "Models": _list_of(_object("id", id=_TEXT)),
    "Model": _object("id", id=_TEXT),
    "Tools": _list_of(_TOOL),
    "CallRequest": _object("name", name=_TEXT, arguments=_or_null({"type": "object"})),
    "CallResult": _CALL_MADE
    | {"properties": {**_CALL_MADE["properties"], "content": _TEXT, "result": _ANYTHING}},
    "Servers": _list_of(_SERVER),
    "Server": _SERVER,
    "Health": _object("status", status={"const": "ok"}),
    "Readiness": _object("status ready of", status={"enum": ["ready", "waiting"]}, ready=_INT, of=_INT),
    "Description": {"type": "object"},
    "Error": _object(
        "error",
        error=_object(
            "message type param code request_id",
            message=_TEXT,
            type=_TEXT,
            param=_or_null(_TEXT),
            code=_or_null(_TEXT),
            request_id=_TEXT,
        ),
    ),
}
_ERROR_RESPONSE: Final[Schema] = {
    "description": "What is wrong, in OpenAI's form",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}
