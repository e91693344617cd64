"""Tools as data, without MCP: name, schema, and a function from arguments to text; and today's date."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any

from jsonschema import Draft7Validator

DATE_VARIABLE = "MCPHOST_DEMO_DATE"
"""Environment variable that holds the servers' today (YYYY-MM-DD) instead of the real one."""

JsonSchema = dict[str, Any]
"""The schema of a tool's arguments: an object with `properties`."""

Handler = Callable[[Mapping[str, Any]], str]


class Refusal(Exception):
    """A tool cannot do what was asked. The message goes back as an error result, for the model to read."""


@dataclass(frozen=True, slots=True)
class DemoTool:
    """`handler` gets arguments that fit `schema`, defaults filled in, and gives the result's text."""

    name: str
    description: str
    schema: JsonSchema
    handler: Handler

    def __call__(self, arguments: Mapping[str, Any]) -> str:
        """The result's text. Raises `Refusal`, also for arguments that miss the schema."""
        problems: list[str] = []
        for error in Draft7Validator(self.schema).iter_errors(dict(arguments)):  # pyright: ignore[reportUnknownMemberType]
            where = ".".join(str(part) for part in error.absolute_path)
            problems.append(f"{where}: {error.message}" if where else error.message)
        if problems:
            raise Refusal("参数有误：" + "；".join(problems))
        defaults = {k: v["default"] for k, v in self.schema["properties"].items() if "default" in v}
        return self.handler(defaults | dict(arguments))


def today() -> date:
    """The date in China (UTC+8 all year round, so no time zone database is needed).

    Raises ValueError when `DATE_VARIABLE` is set to something that is no date.
    """
    fixed = os.environ.get(DATE_VARIABLE)
    return date.fromisoformat(fixed) if fixed else datetime.now(timezone(timedelta(hours=8))).date()


def weekday(day: date) -> str:
    return f"星期{'一二三四五六日'[day.weekday()]}"
