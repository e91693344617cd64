"""The model: whether it is known whom to ask, and whether it answers."""

import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from mcphost import config as configuration
from mcphost.config import Config
from mcphost.dialect import OPENAI, Dialect
from mcphost.doctor.findings import Finding, of_error
from mcphost.errors import ConfigError, McphostError
from mcphost.events import Reasoning, Text
from mcphost.specs import ModelSpec

_QUESTION = "Answer with the one word: ready"


def about_model(
    config: Config,
    *,
    name: str | None,
    base_url: str | None,
    api_key: str | None,
    environ: Mapping[str, str],
    needed: bool,
) -> tuple[Finding, ModelSpec | None]:
    """What is configured, and the model if it is complete. What lacks is an error only if one is `needed`."""
    try:
        spec = configuration.resolve_model(
            config, flag_model=name, flag_base_url=base_url, flag_api_key=api_key, environ=environ
        )
    except configuration.NoModel as exc:
        if needed:
            return of_error(exc, "model"), None
        hint = "For `run` and `chat` name one: -m provider/name. Tools can be called without."
        return Finding("note", "no model is configured", "model", hint), None
    except ConfigError as exc:
        return Finding("error" if needed else "warning", exc.message, "model", exc.hint, code=2), None
    return Finding("ok", f"{spec.name}, in the dialect {spec.dialect}", _host(spec)), spec


def dialect_of(config: Config, spec: ModelSpec | None, environ: Mapping[str, str]) -> Dialect:
    """The dialect that tools are shown in."""
    try:
        resolved = config if spec is None else config.model_copy(update={"model": spec})
        return configuration.model_dialect(resolved, environ=environ)
    except ConfigError:
        return OPENAI


async def ask(spec: ModelSpec) -> Finding:
    """Have the model answer something short."""
    # the openai client takes half a second to import: only who asks a model pays for it
    from mcphost.openai_model import OpenAIModel

    began = time.monotonic()
    try:
        model = OpenAIModel.from_spec(spec)
        try:
            messages = [{"role": "user", "content": _QUESTION}]
            reply = await model.reply(messages, tools=[], tool_choice=None, emit=_unheard)
        finally:
            await model.aclose()
    except McphostError as exc:
        return of_error(exc, _host(spec))
    seconds, usage = time.monotonic() - began, reply.usage
    tokens = usage.prompt_tokens + usage.completion_tokens
    cost = f", for {tokens} tokens" if tokens else ""
    if not reply.text.strip():
        hint = "A model that thinks first may need a larger max_tokens in model.options."
        return Finding("warning", f"it answered without a word in {seconds:.1f} s{cost}", _host(spec), hint)
    return Finding("ok", f"it answered in {seconds:.1f} s{cost}", _host(spec))


def _host(spec: ModelSpec) -> str:
    return urlsplit(spec.base_url or "").netloc.rpartition("@")[2] or "model"


async def _unheard(event: Text | Reasoning) -> None:
    del event
