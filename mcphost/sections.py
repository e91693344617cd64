"""The sections of a file beside its servers: `model`, `tools`, `limits`. A wrong value there is an error."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, get_args

from mcphost import dialect
from mcphost.dialect import DIALECTS, Provider, named_provider
from mcphost.documents import Place, as_list, as_number, as_object, fold, kind, suggestion
from mcphost.endpoints import clean_base_url
from mcphost.prices import Price
from mcphost.specs import Limits, ToolsSpec
from mcphost.variables import Scope, expand

_MODEL_KEYS: Final = ("name", "base_url", "api_key", "dialect", "options", "extra_body", "context_tokens")
_OF_ENDPOINT: Final = ("api_key", "dialect", "extra_body", "context_tokens")
_MOST: Mapping[str, int] = {
    "rounds": 10_000,
    "parallel": 1_000,
    "call_seconds": 7 * 24 * 3600,
    "call_seconds_max": 7 * 24 * 3600,
    "result_chars": 1_000_000_000,
    "calls": 1_000_000,
    "sampling_tokens": 10_000_000,
    "message_bytes": 4 * 1024**3,
}
"""The most of each limit that can be meant."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What one file says, by key. `problems` are those of `model`, for when it is needed; `unknown` are keys
    as `section.key`."""

    model: dict[str, object] = field(default_factory=dict[str, object], repr=False)
    problems: dict[str, str] = field(default_factory=dict[str, str])
    tools: Mapping[str, str | bool] = field(default_factory=dict[str, str | bool])
    limits: Mapping[str, int | float] = field(default_factory=dict[str, int | float])
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    unknown: tuple[str, ...] = ()

    def then(self, later: "Settings") -> "Settings":
        """Both, where the later wins by key. What an earlier file gives for its endpoint, such as the key,
        does not go to a later file's."""
        moved = _is_elsewhere(self.model, later.model)
        over = {*later.model, *later.problems, *(_OF_ENDPOINT if moved else ())}
        return Settings(
            model={key: value for key, value in self.model.items() if key not in over} | later.model,
            problems={key: text for key, text in self.problems.items() if key not in over} | later.problems,
            tools={**self.tools, **later.tools},
            limits={**self.limits, **later.limits},
            prices={**self.prices, **later.prices},
        )


def _is_elsewhere(earlier: Mapping[str, object], later: Mapping[str, object]) -> bool:
    """Whether `later` names another endpoint than `earlier`: by its address, else by the provider, or none,
    before the model's name."""
    if "base_url" in later or "base_url" in earlier:
        return later.get("base_url") not in (None, earlier.get("base_url"))
    return "name" in later and _provider(later) is not _provider(earlier)


def _provider(model: Mapping[str, object]) -> Provider | None:
    return named_provider(str(model.get("name", "")))


def read(sections: Mapping[str, object], place: Place, scope: Scope) -> Settings:
    """The sections of one file. Raises `ConfigError` for a wrong value, naming file, line and key."""
    unknown: list[str] = []
    model, problems = _model(sections.get("model"), place, scope, unknown)
    tools = _tools(_keys("tools", sections, ("naming", "results", "think"), place, unknown), place)
    limits = _limits(_keys("limits", sections, tuple(_MOST), place, unknown), place)
    prices = _prices(sections.get("prices"), place)
    return Settings(model, problems, tools, limits, prices, tuple(unknown))


def _keys(
    section: str, sections: Mapping[str, object], known: tuple[str, ...], place: Place, unknown: list[str]
) -> dict[str, object]:
    """The known keys of a section, in their own spelling; null counts as absent."""
    value = sections.get(section)
    if value is None:
        return {}
    given = as_object(value)
    if given is None:
        raise place.error((section,), f"must be an object, not {kind(value)}")
    names = {fold(name): name for name in known}
    unknown += [f"{section}.{key}{suggestion(key, known)}" for key in given if fold(key) not in names]
    return {names[fold(key)]: item for key, item in given.items() if fold(key) in names and item is not None}


def _tools(given: Mapping[str, object], place: Place) -> dict[str, str | bool]:
    tools: dict[str, str | bool] = {}
    for key, value in given.items():
        if key == "think":
            if not isinstance(value, bool):
                raise place.error(("tools", key), f"must be true or false, not {kind(value)}")
            tools[key] = value
            continue
        choices = [str(choice) for choice in get_args(ToolsSpec.model_fields[key].annotation)]
        if not isinstance(value, str) or value not in choices:
            guess = suggestion(value, choices) if isinstance(value, str) else ""
            shown = repr(value) if isinstance(value, str) else kind(value)
            raise place.error(("tools", key), f"must be one of {', '.join(choices)}, not {shown}{guess}")
        tools[key] = value
    return tools


def _limits(given: Mapping[str, object], place: Place) -> dict[str, int | float]:
    limits: dict[str, int | float] = {}
    for key, value in given.items():
        whole = isinstance(getattr(Limits(), key), int)
        number = as_number(value)
        unit = "a whole number" if whole else "a number"
        if number is None:
            raise place.error(("limits", key), f"must be {unit}, not {kind(value)}")
        if not 0 < number <= _MOST[key] or (whole and number != int(number)):
            raise place.error(("limits", key), f"must be {unit} above 0 and at most {_MOST[key]}")
        limits[key] = int(number) if whole else float(number)
    return limits


def _prices(value: object, place: Place) -> dict[str, Price]:
    """`{"a-model": {"input": 0.3, "output": 1.2, "cached": 0.03, "currency": "USD"}}`, per million tokens."""
    if value is None:
        return {}
    if (given := as_object(value)) is None:
        raise place.error(("prices",), f"must be an object of prices by model, not {kind(value)}")
    return {model: _price(price, place, ("prices", model)) for model, price in given.items()}


def _price(value: object, place: Place, where: tuple[str, ...]) -> Price:
    parts = as_object(value) or {}
    if not parts.keys() >= {"input", "output"} or not parts.keys() <= Price.model_fields.keys():
        raise place.error(where, "must have input and output, and may have cached and currency")
    for key, part in parts.items():
        number = as_number(part)
        if key == "currency" and not (isinstance(part, str) and part.strip()):
            raise place.error((*where, key), f"must be a string such as USD, not {kind(part)}")
        if key != "currency" and (number is None or not 0 <= number < 1e9):
            raise place.error((*where, key), "must be a number: money for a million tokens")
    return Price.model_validate(parts)


def _model(
    value: object, place: Place, scope: Scope, unknown: list[str]
) -> tuple[dict[str, object], dict[str, str]]:
    """The model's keys, expanded; a key whose variables are not set is left out, and in the problems."""
    section = {"name": value} if isinstance(value, str) else value
    given = _keys("model", {"model": section}, _MODEL_KEYS, place, unknown)
    model: dict[str, object] = {}
    problems: dict[str, str] = {}
    for key, item in given.items():
        missing: list[str] = []
        expanded = _expanded(item, scope, missing)
        if missing:
            problems[key] = f"{place.at(('model', key))}: model.{key}: {' and '.join(missing)}"
            continue
        if isinstance(expanded, str):
            expanded = expanded.strip()
        if expanded != "":
            model[key] = _checked(key, expanded, place)
    return model, problems


def _expanded(value: object, scope: Scope, missing: list[str]) -> object:
    """`value` with the variables of every string in it expanded."""
    if isinstance(value, str):
        text, unset = expand(value, scope)
        missing += [variable.what for variable in unset if variable.what not in missing]
        return text
    if (entries := as_object(value)) is not None:
        return {key: _expanded(item, scope, missing) for key, item in entries.items()}
    if (items := as_list(value)) is not None:
        return [_expanded(item, scope, missing) for item in items]
    return value


def _checked(key: str, value: object, place: Place) -> object:
    where = ("model", key)
    if key in ("options", "extra_body"):
        if as_object(value) is None:
            raise place.error(where, f"must be an object, not {kind(value)}")
        return value
    if key == "context_tokens":
        if not isinstance(value, int) or not 1000 <= value <= 1_000_000_000:
            raise place.error(where, "must be a whole number of tokens, at least 1000")
        return value
    if not isinstance(value, str):
        raise place.error(where, f"must be a string, not {kind(value)}")
    try:
        if key == "dialect":
            return dialect.named(value).name
        return clean_base_url(value) if key == "base_url" else value
    except ValueError as exc:
        guess = suggestion(value, DIALECTS) if key == "dialect" else ""
        raise place.error(where, f"{exc}{guess}") from None
