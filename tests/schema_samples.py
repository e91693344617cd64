"""Schemas that servers have sent, or could, and that no endpoint takes as they are."""

from typing import Any

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_6 = "http://json-schema.org/draft-06/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"

TEXT = {"type": "string"}
COUNT = {"type": "integer"}

KEYWORDS = (
    "$ref $id $defs $schema $anchor definitions properties required type items enum const anyOf oneOf allOf "
    "not if default description title additionalProperties format nullable"
).split()


def arguments(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def nested(levels: int, inside: Any, around: Any) -> Any:
    for _ in range(levels):
        inside = around(inside)
    return inside


NODE = {
    "type": "object",
    "properties": {"name": TEXT, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
    "required": ["name"],
    "additionalProperties": False,
}

VALID: dict[str, dict[str, Any]] = {
    "oneOf at the root": {
        "type": "object",
        "oneOf": [
            {"properties": {"kind": {"const": "id"}, "id": COUNT}, "required": ["kind", "id"]},
            {"properties": {"kind": {"const": "name"}, "id": TEXT}, "required": ["kind"]},
        ],
    },
    "anyOf of required at the root": {
        "type": "object",
        "properties": {"a": TEXT, "b": COUNT},
        "required": ["b"],
        "anyOf": [{"required": ["a"]}, {"required": ["b", "a"]}],
    },
    "allOf at the root": {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]},
            {"properties": {"a": {"minLength": 2}, "b": COUNT}, "required": ["b"]},
            {"anyOf": [{"properties": {"c": TEXT}}, {"properties": {"c": COUNT}}]},
        ],
    },
    "if, then and else at the root": {
        "type": "object",
        "properties": {"mode": {"enum": ["x", "y"]}},
        "if": {"properties": {"mode": {"const": "x"}}, "required": ["mode"]},
        "then": {"properties": {"a": TEXT}, "required": ["a"]},
        "else": {"properties": {"a": COUNT, "b": TEXT}, "required": ["b"]},
    },
    "not, enum and const at the root": {
        "type": "object",
        "properties": {"a": TEXT},
        "not": {"required": ["b"]},
        "enum": [{"a": "x"}, {"a": "y"}],
    },
    "dependencies at the root": {
        "$schema": DRAFT_7,
        "type": "object",
        "properties": {"a": TEXT},
        "dependencies": {"a": ["b"], "c": {"properties": {"d": COUNT}, "required": ["d"]}},
    },
    "dependentSchemas": {
        "type": "object",
        "properties": {
            "p": {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"a": {"maxProperties": 3}}}
        },
        "dependentSchemas": {"q": {"properties": {"r": COUNT}}},
    },
    "reference at the root": {
        "$schema": DRAFT_7,
        "$ref": "#/definitions/input",
        "definitions": {"input": {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}},
    },
    "siblings of a reference, ignored": {
        "$schema": DRAFT_7,
        **arguments(a={"$ref": "#/definitions/a", "maxLength": 1, "description": "An a"}),
        "definitions": {"a": {"type": "string", "minLength": 2}},
    },
    "siblings of a reference, meant": {
        **arguments(a={"$ref": "#/$defs/a", "maxLength": 4, "description": "An a"}),
        "$defs": {"a": {"type": "string", "minLength": 2}},
    },
    "references of every kind": {
        "$id": "https://example.com/tools/input.json",
        **arguments(
            a=TEXT,
            b={"$ref": "#/properties/a"},
            c={"$ref": "#named"},
            d={"$ref": "other.json"},
            e={"$ref": "/tools/other.json#/$defs/inner"},
            f={"$ref": "https://example.com/tools/input.json#/properties/a"},
            g={"$ref": "#/$defs/with~1slash%20and~0tilde"},
        ),
        "$defs": {
            "x": {"$anchor": "named", "type": "integer"},
            "with/slash and~tilde": {"type": "boolean"},
            "y": {
                "$id": "other.json",
                "type": "object",
                "properties": {"p": {"$ref": "#/$defs/inner"}},
                "$defs": {"inner": {"type": "number"}},
            },
        },
    },
    "recursive": {**arguments(tree={"$ref": "#/$defs/node"}), "$defs": {"node": NODE}},
    "recursive root": {**arguments(name=TEXT, inner={"$ref": "#"}), "required": ["name"]},
    "recursive through anyOf": {
        **arguments(value={"$ref": "#/$defs/json"}),
        "$defs": {
            "json": {
                "anyOf": [
                    {"type": ["string", "number", "null"]},
                    {"type": "array", "items": {"$ref": "#/$defs/json"}},
                    {"type": "object", "additionalProperties": {"$ref": "#/$defs/json"}},
                ]
            }
        },
    },
    "recursive and exclusive": {
        **arguments(tree={"$ref": "#/$defs/t"}),
        "$defs": {
            "t": {
                "oneOf": [
                    {"type": "object", "properties": {"l": {"$ref": "#/$defs/t"}}, "required": ["l"]},
                    {"type": "object", "properties": {"r": {"$ref": "#/$defs/t"}}, "required": ["r"]},
                    {"not": {"anyOf": [{"$ref": "#/$defs/t/oneOf/0"}, {"$ref": "#/$defs/t/oneOf/1"}]}},
                ]
            }
        },
    },
    "nullable in every spelling": arguments(
        a={"type": ["string", "null"]},
        b={"anyOf": [TEXT, {"type": "null"}], "default": None},
        c={"oneOf": [TEXT, COUNT, {"type": "null"}], "title": "C"},
        d={"type": ["object", "null"], "properties": {"x": TEXT}, "required": ["x"]},
        e={"type": ["array", "null"], "items": TEXT},
        f={"enum": ["x", None]},
        g={"type": ["string", "null"], "enum": ["x", "y", None]},
        h={"type": "null"},
        i={"anyOf": [{"type": ["integer", "null"], "minimum": 1}, {"const": None}]},
        j={"const": None},
    ),
    "values of several types": arguments(
        a={"enum": [1, "one", True, None, [1], {"n": 1}]},
        b={"enum": [1, 2.5]},
        c={"type": "integer", "enum": [1, 2]},
        d={"enum": ["", "x"]},
        e={"type": "string", "enum": [""]},
        f={"const": 3},
        g={"type": ["boolean", "string"], "minLength": 1, "enum": [True, "x"]},
        h={"type": "object", "enum": [{"a": 1}]},
    ),
    "no type": arguments(
        a={"properties": {"x": TEXT}, "required": ["x"]},
        b={"items": TEXT, "minLength": 2},
        c={"description": "Anything"},
        d={"minimum": 3, "format": "int64"},
        e={"pattern": "^x"},
    ),
    "constraints beside a union": arguments(
        a={
            "type": "object",
            "properties": {"x": TEXT, "y": COUNT},
            "anyOf": [{"required": ["x"]}, {"required": ["y"], "properties": {"y": {"minimum": 1}}}],
        },
        b={"type": "string", "oneOf": [{"pattern": "^a"}, {"minLength": 5}]},
        c={"anyOf": [TEXT, COUNT], "oneOf": [{"maximum": 3}, {"maxLength": 3}]},
        d={"minLength": 2, "anyOf": [{"type": ["string", "array"]}, {"type": "null"}]},
        e={"anyOf": [TEXT]},
    ),
    "allOf inside": arguments(
        a={
            "allOf": [
                {"properties": {"x": TEXT}},
                {"properties": {"y": COUNT}, "additionalProperties": False},
            ]
        },
        b={"allOf": [{"type": "integer", "minimum": 2}, {"type": "number", "maximum": 5}], "minimum": 1},
        c={"allOf": [{"anyOf": [TEXT, COUNT]}, {"anyOf": [COUNT, {"type": "null"}]}]},
        d={"allOf": [{"enum": [1, 2, 3]}, {"enum": [3.0, 2, True]}]},
        e={"allOf": [{"items": TEXT}, {"prefixItems": [COUNT]}]},
        f={"allOf": [{"pattern": "^a"}, {"pattern": "b$"}, {"allOf": [{"type": "string"}]}]},
        g={
            "oneOf": [
                {"allOf": [{"properties": {"x": {}}, "additionalProperties": False}, {"minProperties": 1}]}
            ]
        },
    ),
    "tuples": arguments(
        a={"type": "array", "prefixItems": [COUNT, TEXT], "minItems": 2, "maxItems": 2},
        b={"type": "array", "prefixItems": [COUNT, COUNT], "items": False},
        c={"type": "array", "prefixItems": [COUNT], "items": TEXT},
        d={"prefixItems": [COUNT]},
        e={"type": "array", "items": False},
    ),
    "tuples of draft 7": {
        "$schema": DRAFT_7,
        **arguments(
            a={"type": "array", "items": [COUNT, TEXT], "additionalItems": False},
            b={"type": "array", "items": [COUNT], "additionalItems": TEXT},
            c={"type": "array", "items": [COUNT, TEXT]},
            d={"type": "array", "items": TEXT, "additionalItems": False, "contains": {"minLength": 1}},
        ),
    },
    "draft 4": {
        "$schema": DRAFT_4,
        "id": "http://example.com/root",
        **arguments(
            a={"type": "integer", "minimum": 0, "exclusiveMinimum": True},
            b={"type": "number", "maximum": 2.5, "exclusiveMaximum": True},
            c={"type": "integer", "minimum": 0, "exclusiveMinimum": False},
            d={"$ref": "inner"},
            e={"const": 3, "type": "integer"},
        ),
        "definitions": {"x": {"id": "inner", "type": "string"}},
    },
    "draft 6 anchors": {
        "$schema": DRAFT_6,
        **arguments(a={"$ref": "#here"}, b={"const": "x"}),
        "definitions": {"x": {"$id": "#here", "type": "string", "examples": ["y"]}},
    },
    "boolean schemas": {
        **arguments(
            a=True, b=False, c={"type": "array", "items": True}, d={"anyOf": [False, TEXT]}, e={"not": False}
        ),
        "required": ["a"],
        "additionalProperties": True,
    },
    "maps": arguments(
        a={"type": "object"},
        b={"type": "object", "additionalProperties": TEXT},
        c={"type": "object", "patternProperties": {"^x-": TEXT}, "additionalProperties": False},
        d={"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}, "minProperties": 1},
        e={"type": "object", "properties": {}, "additionalProperties": False},
    ),
    "bounds": arguments(
        a={"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10.5},
        b={"type": "number", "exclusiveMinimum": 0, "minimum": 0.5},
        c={"type": "number", "multipleOf": 0.5},
        d={
            "type": "array",
            "items": TEXT,
            "uniqueItems": True,
            "contains": TEXT,
            "minContains": 1,
            "maxContains": 2,
        },
    ),
    "conditions inside": arguments(
        a={
            "type": "object",
            "properties": {"k": TEXT, "v": {}},
            "if": {"properties": {"k": {"const": "n"}}, "required": ["k"]},
            "then": {"properties": {"v": COUNT}},
            "else": {"required": ["v"]},
        },
        b={"not": {"type": "string", "pattern": "^no"}},
        c={"not": {"$ref": "#/properties/c/not/anyOf/0", "anyOf": [{"type": "null"}]}},
    ),
    "unevaluated": arguments(
        a={
            "allOf": [{"properties": {"x": TEXT}}],
            "properties": {"y": COUNT},
            "unevaluatedProperties": False,
        },
        b={"prefixItems": [TEXT], "unevaluatedItems": False},
    ),
    "names that are keywords": {
        **arguments(
            **dict.fromkeys(KEYWORDS, TEXT),
            inner=arguments(type={"type": "boolean"}, properties={"type": "object"}, **{"$ref": COUNT}),
        ),
        "required": ["$ref", "required", "type"],
    },
    "names without a property": {
        **arguments(
            a={"type": "object", "required": ["x"]}, b={"type": "array", "items": {"required": ["y"]}}
        ),
        "required": ["a", "missing"],
    },
    "formats": arguments(
        a={"type": "string", "format": "uri"},
        b={"type": "string", "format": "date-time"},
        c={"type": "integer", "format": "int32"},
        d={"type": "string", "format": "int64"},
        e={"type": ["string", "null"], "format": "date"},
    ),
    "deep": arguments(a=nested(15, TEXT, lambda inside: {"type": "array", "items": arguments(a=inside)})),
    "wide union": arguments(
        a={
            **arguments(**{f"p{i}": TEXT for i in range(30)}),
            "anyOf": [{"required": [f"p{i}"]} for i in range(30)],
        }
    ),
}
"""Valid by their own draft, so that arguments can be checked against them."""

ODD: dict[str, Any] = {
    "null": None,
    "true": True,
    "false": False,
    "a list": [{"type": "object"}],
    "a string": "object",
    "a number": float("nan"),
    "only $schema": {"$schema": DRAFT_7},
    "an array": {"type": "array", "items": TEXT},
    "null everywhere": {"type": None, "properties": None, "required": None, "$schema": None, "$ref": None},
    "nullable root": {"type": ["object", "null"], "properties": {"a": TEXT}, "nullable": True},
    "properties in a list": {"type": "object", "properties": [{"name": "a"}], "required": "a"},
    "wrong kinds": arguments(
        a={
            "type": 5,
            "properties": [1],
            "required": True,
            "items": None,
            "anyOf": {},
            "allOf": 5,
            "not": 3,
            "if": [],
            "enum": "x",
            "const": float("nan"),
            "patternProperties": [],
            "dependencies": 3,
            "dependentSchemas": 3,
            "additionalProperties": "no",
            "format": 5,
            "pattern": 5,
            "description": {"a": 1},
            "title": None,
            "examples": 3,
            "uniqueItems": "x",
            "minimum": "3",
            "nullable": "yes",
            "propertyNames": 7,
            "contains": [],
            "prefixItems": {},
            "oneOf": [1, None, "x"],
            "minLength": -1,
            "maxLength": 2.5,
            "multipleOf": 0,
            "dependentRequired": {"a": [1], "b": 2},
        },
        b="string",
        c=None,
        d=[TEXT],
        e={"items": [None, TEXT], "additionalItems": 3},
    ),
    "empty lists": arguments(a={"enum": []}, b={"anyOf": []}, c={"type": []}, d={"allOf": [], "oneOf": [{}]}),
    "other names of types": arguments(
        a={"type": "any"},
        b={"type": "int"},
        c={"type": "str"},
        d={"type": ["float", "None"]},
        e={"type": "File"},
        f={"type": "STRING"},
        g={"type": ["string", "string"]},
    ),
    "numbers JSON has not": arguments(
        a={
            "default": float("nan"),
            "minimum": float("-inf"),
            "enum": [float("inf"), "x"],
            "examples": [float("nan")],
        },
        b={"minimum": 10**5000, "default": 10**5000, "maxLength": 10**30, "minLength": 1e300},
    ),
    "lone surrogates": {
        **arguments(
            **{"\ud800": TEXT},
            a={"enum": ["\ud800"], "description": "\ud83d\ude00 \ud800", "\udfff": 1},
            b={"type": "object", "properties": {"\udfff": TEXT}, "additionalProperties": False},
        ),
        "required": ["\ud800", "a"],
    },
    "patterns": arguments(
        **{
            f"p{place}": {"type": "string", "pattern": pattern}
            for place, pattern in enumerate(
                [
                    "(" * 499,
                    "[[a]",
                    "a{99999999999}",
                    r"^[^\0]+$",
                    r"(?<=a+)b",
                    r"\p{L}",
                    "(?P<x>a)",
                    r"\1",
                    "x" * 9000,
                ]
            )
        },
        a={"patternProperties": {"[": TEXT}, "additionalProperties": False},
    ),
    "dangling references": {
        "$id": "http://[",
        **arguments(
            a={"$ref": "https://example.com/schema.json"},
            b={"$ref": "#/$defs/none"},
            c={"$ref": "#none"},
            d={"$ref": "http://[x"},
            e={"$ref": "#/properties/9" + "9" * 30},
            f={"$ref": 5},
            g={"$ref": ""},
            h={"$ref": "#/properties"},
            i={"$id": 5, "$anchor": [], "type": "string"},
            j={"$ref": "#/%zz/~2"},
        ),
    },
    "references in circles": {
        **arguments(a={"$ref": "#/$defs/a"}, b={"$ref": "#/properties/b"}),
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}},
    },
    "a root that is itself": {"$ref": "#"},
    "2**30 leaves": {
        **arguments(x={"$ref": "#/$defs/n0"}, y={"type": "string", "description": "Kept"}),
        "$defs": {
            **{
                f"n{i}": arguments(a={"$ref": f"#/$defs/n{i + 1}"}, b={"$ref": f"#/$defs/n{i + 1}"})
                for i in range(30)
            },
            "n30": TEXT,
        },
    },
    "3**50 members of allOf": {
        **arguments(x={"$ref": "#/$defs/n0"}),
        "$defs": {f"n{i}": {"allOf": [{"$ref": f"#/$defs/n{i + 1}"}] * 3} for i in range(50)},
    },
    "a long chain": {
        **arguments(x={"$ref": "#/$defs/n0"}),
        "$defs": {**{f"n{i}": {"$ref": f"#/$defs/n{i + 1}"} for i in range(5_000)}, "n5000": TEXT},
    },
    "a large definition, used often": {
        **arguments(**{f"p{i}": {"$ref": "#/$defs/x"} for i in range(500)}),
        "$defs": {"x": {"description": "x" * 15_000, "enum": [f"value {i}" for i in range(1_000)]}},
    },
    "10,000 levels of properties": nested(10_000, TEXT, lambda inside: arguments(a=inside)),
    "10,000 levels of anyOf": nested(10_000, TEXT, lambda inside: {"anyOf": [inside, {"type": "null"}]}),
    "10,000 levels of allOf": arguments(a=nested(10_000, TEXT, lambda inside: {"allOf": [inside]})),
    "10,000 levels of values": arguments(
        a={
            key: nested(10_000, 1, lambda inside: [inside])
            for key in ("default", "const", "enum", "examples", "x-y")
        }
    ),
    "20,000 properties": {
        **arguments(**{f"p{i}": {"type": "string", "description": "d" * 40} for i in range(20_000)}),
        "required": [f"p{i}" for i in range(20_000)],
    },
    "3,000 arrays": arguments(**{f"p{i}": {"type": "array"} for i in range(3_000)}),
    "20,000 branches": {"anyOf": [arguments(a={"const": i}) for i in range(20_000)]},
    "100,000 members": arguments(a={"type": "string", "enum": [f"v{i}" for i in range(100_000)]}, b=TEXT),
    "10 MB of description": arguments(a={"type": "string", "description": "x" * 10_000_000}),
}
"""What breaks converters: wrong, hostile, or very large."""
