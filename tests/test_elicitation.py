"""Forms and pages that servers ask the user for."""

from typing import Any

import pytest

from mcphost import elicitation
from mcphost.elicitation import Field

PROPERTIES: dict[str, Any] = {
    "name": {"type": "string", "title": "Your name", "minLength": 2, "maxLength": 5},
    "mail": {"type": "string", "format": "email"},
    "page": {"type": "string", "format": "uri"},
    "day": {"type": "string", "format": "date"},
    "at": {"type": "string", "format": "date-time"},
    "seats": {"type": "integer", "minimum": 1, "maximum": 4, "default": 2},
    "price": {"type": "number"},
    "quiet": {"type": "boolean", "default": False},
    "coach": {"type": "string", "enum": ["1", "2"], "enumNames": ["first", "second"]},
    "meal": {"type": "string", "oneOf": [{"const": "v", "title": "Vegetarian"}, {"const": "m"}]},
    "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue", "wed"]}, "maxItems": 2},
    "extras": {"type": "array", "items": {"anyOf": [{"const": "w", "title": "Window"}]}, "minItems": 1},
    "cities": {"type": "array", "items": {"type": "string", "enum": ["New York", "Suzhou"]}},
    "size": {"type": "integer", "enum": [38, 40]},
}
FIELDS = {
    field.name: field
    for field in elicitation.fields({"type": "object", "properties": PROPERTIES, "required": ["name"]})
}


def test_fields_of_all_kinds_are_read():
    assert [field.kind for field in FIELDS.values()] == (
        "text text text text text integer number".split()
        + ["yes or no", "choice", "choice"]
        + ["choices"] * 3
        + ["choice"]
    )
    assert FIELDS["name"] == Field("name", "text", "Your name", "", True, least=2, most=5)
    assert FIELDS["coach"].choices == (("1", "first"), ("2", "second"))
    assert FIELDS["meal"].choices == (("v", "Vegetarian"), ("m", "m"))
    assert (FIELDS["days"].most, FIELDS["extras"].least) == (2, 1)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string"},
        {"properties": []},
        {"properties": {"a": "string"}},
        {"properties": {"a": {"type": "object"}}},
        {"properties": {"a": {"type": "array", "items": {"type": "string"}}}},
        {"properties": {"a": {}}},
    ],
)
def test_what_is_no_form_is_told(schema: dict[str, Any]):
    with pytest.raises(elicitation.Unusable):
        elicitation.fields(schema)


@pytest.mark.parametrize(
    ("name", "line", "value"),
    [
        ("name", " 张三 ", "张三"),
        ("mail", "a@b.cn", "a@b.cn"),
        ("page", "https://a.cn/x", "https://a.cn/x"),
        ("day", "2026-11-30", "2026-11-30"),
        ("at", "2026-11-30T08:00:00Z", "2026-11-30T08:00:00Z"),
        ("seats", "3", 3),
        ("price", "2.5", 2.5),
        ("price", "2", 2),
        ("price", "9007199254740993", 9007199254740993),
        ("quiet", "YES", True),
        ("quiet", "否", False),
        ("coach", "2", "2"),
        ("coach", "First", "1"),
        ("meal", "vegetarian", "v"),
        ("meal", "2", "m"),
        ("days", "1, wed", ["mon", "wed"]),
        ("extras", "window", ["w"]),
        ("days", "1, mon,", ["mon"]),
        ("cities", "2", ["Suzhou"]),
        ("cities", "new york, suzhou", ["New York", "Suzhou"]),
        ("cities", "1 2", ["New York", "Suzhou"]),
        ("size", "2", 40),
    ],
)
def test_a_typed_line_becomes_a_value(name: str, line: str, value: Any):
    typed = elicitation.typed(FIELDS[name], line)
    assert typed == value
    assert type(typed) is type(value)


@pytest.mark.parametrize(
    ("name", "line", "complaint"),
    [
        ("name", "张", "at least 2 characters"),
        ("name", "too long", "at most 5 characters"),
        ("mail", "nobody", "e-mail"),
        ("page", "no page", "URI"),
        ("day", "tomorrow", "2026-11-30"),
        ("day", "20261130", "2026-11-30"),
        ("day", "2026-02-30", "2026-11-30"),
        ("at", "noon", "date and time"),
        ("at", "2026-11-30T08:00:00", "date and time"),
        ("seats", "2.5", "whole number"),
        ("seats", "5", "at most 4"),
        ("seats", "inf", "whole number"),
        ("price", "much", "number"),
        ("quiet", "maybe", "yes or no"),
        ("coach", "3", "one of 1, 2"),
        ("days", "mon tue wed", "at most 2 of them"),
        ("days", "sun", "some of mon, tue, wed"),
        ("extras", "", "at least 1"),
    ],
)
def test_a_line_that_does_not_fit_is_told_why(name: str, line: str, complaint: str):
    with pytest.raises(ValueError, match=complaint):
        elicitation.typed(FIELDS[name], line)


@pytest.mark.parametrize(
    "entry",
    [
        {"anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}], "default": None, "title": "A"},
        {"type": ["string", "null"], "minLength": 2, "title": "A"},
    ],
)
def test_what_may_also_be_null_is_a_field_of_what_it_is_else(entry: dict[str, Any]):
    assert elicitation.fields({"properties": {"a": entry}}) == [Field("a", "text", "A", "", False, least=2)]


def test_a_pattern_is_shown_and_never_run():
    (field,) = elicitation.fields({"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}})
    assert field.pattern == "^(a+)+$"
    assert elicitation.typed(field, "a" * 40 + "!") == "a" * 40 + "!"


def test_defaults_fill_in_what_is_absent_and_only_where_they_fit():
    fields = elicitation.fields(
        {
            "properties": {
                "a": {"type": "string", "default": "x"},
                "b": {"type": "integer", "default": "no number"},
                "c": {"type": "array", "items": {"enum": ["p", "q"]}, "default": ["p"]},
                "d": {"type": "string", "enum": ["s"], "default": "other"},
            }
        }
    )
    assert [field.default for field in fields] == ["x", None, ["p"], None]
    assert elicitation.with_defaults(fields, {}) == {"a": "x", "c": ["p"]}
    assert elicitation.with_defaults(fields, {"a": "y", "c": None}) == {"a": "y", "c": ["p"]}


def test_a_filled_form_is_checked():
    fields = list(FIELDS.values())
    assert elicitation.check(fields, {"name": "张三", "seats": 1}) is None
    assert elicitation.check(fields, {}) == "name is missing"
    assert elicitation.check(fields, {"name": "张三", "nam": "x"}) == "there is no field 'nam'"
    assert elicitation.check(fields, {"name": 3}) == "name must be a text"
    assert elicitation.check(fields, {"name": "张三", "quiet": "yes"}) == "quiet must be yes or no"
    assert elicitation.check(fields, {"name": "张三", "price": 10**400}) is None
    assert elicitation.check(fields, {"name": "张三", "price": float("nan")}) == "price must be a number"
    assert elicitation.check(fields, {"name": "张三", "meal": object()}) == "meal must be one of v, m"
    assert elicitation.check(fields, {"name": "张三", "seats": True}) == "seats must be a whole number"


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("https://bank.example/pay?id=1", None),
        ("http://127.0.0.1:8000/x", None),
        ("http://localhost/x", None),
        ("http://bank.example/", "not https"),
        ("ftp://bank.example/", "no web address"),
        ("javascript:alert(1)", "no web address"),
        ("https://bank.example@evil.example/", "user's name"),
        ("https://bank.example/\u202egnp", "characters"),
        ("https://bank.example/ x", "characters"),
        ("https://bank.example\\@evil.example", "characters"),
        ("https://[half", "cannot be read"),
        ("https://bank%2eexample/", "escapes"),
        ("https://", "no web address"),
        ("", "no url"),
        (None, "no url"),
    ],
)
def test_only_safe_pages_are_shown(url: object, problem: str | None):
    found = elicitation.url_problem(url)
    assert found is None if problem is None else problem in (found or "")


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Bank.Example:8443/x", "bank.example"),
        ("https://b\u0430nk.example/", "xn--bnk-6cd.example"),
        ("https://bank.example\u3002evil.example/", "bank.example.evil.example"),
        ("https://\uff42ank\uff61example/", "bank.example"),
        ("http://[::1]:80/", "::1"),
    ],
)
def test_a_host_is_shown_as_it_is_looked_up(url: str, host: str):
    assert elicitation.shown_host(url) == host
