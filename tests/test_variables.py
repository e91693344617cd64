"""Every form of `${…}`."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcphost.variables import Inputs, Scope, expand, expand_home, expand_shell_style

ENVIRON = {
    "NAME": "value",
    "EMPTY": "",
    "DOLLARS": "${NAME} $1",
    "HOME": "/home/ada",
    "my.dotted-name": "d",
    "ProgramFiles(x86)": "p",
}


def scope(inputs: Inputs | None = None, environ: dict[str, str] = ENVIRON) -> Scope:
    return Scope(environ, workspace=Path("/srv/shop"), cwd=Path("/elsewhere"), inputs=inputs or Inputs())


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("${NAME}", "value"),
        ("a${NAME}b${NAME}", "avaluebvalue"),
        ("${env:NAME}", "value"),
        ("${env://NAME}", "value"),
        ("${NAME:-other}", "value"),
        ("${NONE:-other}", "other"),
        ("${NONE:-}", ""),
        ("${EMPTY}", ""),
        ("${EMPTY:-other}", "other"),
        ("${env:NONE:-other}", "other"),
        ("${env://NONE:-other}", "other"),
        ("${NONE:-https://a.b/c?d=e&f=:-g}", "https://a.b/c?d=e&f=:-g"),
        ("${NONE:-${NAME}}", "value"),
        ("${NONE:-<${ALSO_NONE:-${NAME}}>}", "<value>"),
        ("${DOLLARS}", "${NAME} $1"),
        ("${env:my.dotted-name}", "d"),
        ("${env:ProgramFiles(x86)}", "p"),
        ("${workspaceFolder}/x", "/srv/shop/x"),
        ("${workspaceFolder:shop}/x", "/srv/shop/x"),
        ("${workspaceFolderBasename}", "shop"),
        ("${userHome}/x", "/home/ada/x"),
        ("${cwd}", "/elsewhere"),
        ("a${pathSeparator}b${/}c", f"a{os.sep}b{os.sep}c"),
        ("$${NAME}", "${NAME}"),
        ("a$${NONE} ${NAME}", "a${NONE} value"),
        ("$NAME", "$NAME"),
        ("pa$$word $1 100%", "pa$$word $1 100%"),
        ("${1} ${} ${ } ${{ x }}", "${1} ${} ${ } ${{ x }}"),
        ("${NAME", "${NAME"),
        ("${NONE:-${NAME}", "${NONE:-${NAME}"),
        ("", ""),
        ("%NAME%", "%NAME%"),
    ],
)
def test_every_form_stands_for_its_value(text: str, result: str):
    assert expand(text, scope()) == (result, ())


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x${NONE}", "$NONE is not set"),
        ("${env:NONE}", "$NONE is not set"),
        ("${env://NONE}", "$NONE is not set"),
        ("${NONE:-${ALSO_NONE}}", "$ALSO_NONE is not set"),
        ("${config:editor.tabSize}", "${config…} is no kind of variable"),
        ("${command:pick}", "${command…} is no kind of variable"),
        ("${file}", "$file is not set"),
        ("${NAME-default}", "${NAME…} is no kind of variable"),
        ("${NAME:?secret words}", "${NAME…} is no kind of variable"),
        ("${NAME%.txt}", "${NAME…} is no kind of variable"),
        ("${input:token}", "'token' can only be asked for on a terminal"),
    ],
)
def test_what_has_no_value_is_named_with_a_hint_and_stays_as_written(text: str, what: str):
    result, missing = expand(text, scope())
    assert what in missing[0].what
    assert "secret" not in missing[0].what
    assert missing[0].hint
    assert len(missing) == 1
    assert result == text or text.startswith("${NONE:-")


def test_each_variable_is_missed_once():
    _, missing = expand("${A} ${B} ${A}", scope())
    assert [variable.what for variable in missing] == ["$A is not set", "$B is not set"]


def test_an_input_is_asked_for_once_with_its_description():
    asked: list[tuple[str, bool]] = []

    def ask(description: str, hidden: bool) -> str:
        asked.append((description, hidden))
        return f"answer {len(asked)}"

    declared = [
        {"id": "key", "type": "promptString", "description": "Key of the shop", "password": True},
        {"id": "size", "type": "pickString", "description": "Size", "options": ["small", "large"]},
        "no input",
    ]
    inputs = Inputs.of(declared, ask)
    text = "${input:key} ${input:size} ${input:key} ${input:not declared}"
    assert expand(text, scope(inputs)) == ("answer 1 answer 2 answer 1 answer 3", ())
    assert asked == [("Key of the shop", True), ("Size (small, large)", False), ("not declared", True)]
    assert "answer" not in repr(inputs)


def test_an_empty_answer_is_the_inputs_default_or_a_problem():
    inputs = Inputs.of([{"id": "a", "default": "d"}, {"id": "b"}], lambda description, hidden: "")
    assert expand("${input:a}", scope(inputs)) == ("d", ())
    _, missing = expand("${input:b}", scope(inputs))
    assert missing[0].what == "nothing was given for the input 'b'"


@pytest.mark.parametrize("section", [None, {}, "x", [1, None, {"no": "id"}]])
def test_a_strange_inputs_section_declares_nothing(section: object):
    assert Inputs.of(section, None).answer("x") is None


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("$NAME", "value"),
        ("Bearer $NAME", "Bearer value"),
        ("$NONE", "$NONE"),
        ("x$NAME", "x$NAME"),
        ("$NAME$NAME", "$NAME$NAME"),
        ("$5", "$5"),
        ("${NAME}", "${NAME}"),
    ],
)
def test_a_bare_dollar_name_counts_only_as_the_whole_text_and_when_set(text: str, result: str):
    assert expand_shell_style(text, ENVIRON) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("~", "/home/ada"),
        ("~/x y", "/home/ada/x y"),
        ("~eve/x", "~eve/x"),
        ("a~/x", "a~/x"),
        ("--dir=~/x", "--dir=~/x"),
        ("", ""),
    ],
)
def test_a_tilde_at_the_start_is_the_home_folder(text: str, result: str):
    assert expand_home(text, scope()) == result


def test_home_comes_from_windows_variable_too():
    assert expand_home("~/x", scope(environ={"USERPROFILE": "/users/ada"})) == "/users/ada/x"


@given(st.text(st.sampled_from("${}:-/ NAMEenvinputx\n") | st.characters(), max_size=40))
@settings(max_examples=200, deadline=None)
def test_any_text_expands_without_failing(text: str):
    result, missing = expand(text, scope())
    assert result == text or "${" in text
    assert all(variable.what and variable.hint for variable in missing)


def test_deep_nesting_ends():
    text = "${A:-" * 500 + "x" + "}" * 500
    assert isinstance(expand(text, scope())[0], str)
