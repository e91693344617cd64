"""The `${…}` of configuration files, in every form that hosts write them.

    ${NAME}  ${NAME:-default}  ${env:NAME}  ${env:NAME:-default}  ${env://NAME}  ${env://NAME:-default}
    ${input:id}  ${workspaceFolder}  ${workspaceFolderBasename}  ${userHome}  ${cwd}  ${pathSeparator}  ${/}

A default is expanded in turn; a variable's value never is. `$${NAME}` stands for the text `${NAME}`. What
cannot be a variable's name (`${1}`, `${{ … }}`, an unclosed `${`) is left as it is.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

Ask = Callable[[str, bool], str]
"""Asks the user: (what is asked for, whether it is to stay hidden while typed) → the answer."""

_BODY = re.compile(
    r"(?:env:(?://)?(?P<exact>[A-Za-z_][\w.()-]*?)|(?P<name>[A-Za-z_]\w*))(?::-(?P<default>.*))?", re.DOTALL
)
_SHELL_STYLE = re.compile(r"(?:Bearer +)?\$([A-Z_][A-Z0-9_]+)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_MAX_NESTING: Final = 20
_EDITOR_FOLDERS: Final = frozenset(
    ".vscode .cursor .gemini .roo .zed .idea .claude .windsurf .kilocode .trae .github .amazonq".split()
)


@dataclass(frozen=True, slots=True)
class Missing:
    """A variable without a value: `what` it is, as `$NAME is not set`, and what to do about it."""

    what: str
    hint: str


@dataclass(slots=True)
class Inputs:
    """The `inputs` of one VS Code file. Each is asked for once, however many servers use it."""

    declared: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])
    ask: Ask | None = None
    answers: dict[str, str] = field(default_factory=dict[str, str], repr=False)

    @classmethod
    def of(cls, section: object, ask: Ask | None) -> "Inputs":
        """From a file's `inputs` array; entries that are none are passed over."""
        entries = cast("list[object]", section) if isinstance(section, list) else []
        declared = [cast("dict[str, object]", entry) for entry in entries if isinstance(entry, dict)]
        return cls({str(entry.get("id")): entry for entry in declared}, ask)

    def answer(self, name: str) -> str | None:
        """The user's answer, the input's default where that is empty; None where nobody can be asked."""
        if self.ask is None:
            return None
        if name not in self.answers:
            entry = self.declared.get(name, {})
            question = str(entry.get("description") or name)
            options = entry.get("options")
            if isinstance(options, list):
                question += f" ({', '.join(map(str, cast('list[object]', options)))})"
            hidden = entry.get("password") is True or not entry
            self.answers[name] = self.ask(question, hidden) or str(entry.get("default") or "")
        return self.answers[name]


@dataclass(frozen=True, slots=True)
class Scope:
    """What the variables of one file stand for. `workspace` is the folder of the project it belongs to."""

    environ: Mapping[str, str] = field(repr=False)
    workspace: Path
    cwd: Path
    inputs: Inputs = field(default_factory=Inputs)

    @property
    def home(self) -> Path:
        return home_folder(self.environ)

    def predefined(self, name: str) -> str | None:
        match name:
            case "workspaceFolder" | "workspaceRoot":
                return str(self.workspace)
            case "workspaceFolderBasename":
                return self.workspace.name
            case "userHome":
                return str(self.home)
            case "cwd":
                return str(self.cwd)
            case "pathSeparator" | "/":
                return os.sep
            case _:
                return None


def workspace_of(folder: Path) -> Path:
    """The folder of the project that a file in `folder` belongs to: an editor's own folder lies in it."""
    return folder.parent if folder.name in _EDITOR_FOLDERS else folder


def home_folder(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())


def expand(text: str, scope: Scope) -> tuple[str, tuple[Missing, ...]]:
    """`text` with its variables replaced, and those that have no value, which stay as they were written."""
    if "${" not in text:
        return text, ()
    missing: dict[Missing, None] = {}
    return _expand(text, scope, missing, 0), tuple(missing)


def expand_shell_style(text: str, environ: Mapping[str, str]) -> str:
    """Gemini CLI also writes `$NAME`. Taken for a variable only as the whole text (`Bearer $NAME` counts
    as that) and only when it is set: everywhere else a `$` may be part of a password."""
    found = _SHELL_STYLE.fullmatch(text)
    if found is None or found[1] not in environ:
        return text
    return text[: found.start(1) - 1] + environ[found[1]]


def expand_home(text: str, scope: Scope) -> str:
    """`~` and `~/…` with the home folder in place of `~`; anything else as it is."""
    if text == "~" or text.startswith(("~/", "~" + os.sep)):
        return str(scope.home) + text[1:]
    return text


def _expand(text: str, scope: Scope, missing: dict[Missing, None], nesting: int) -> str:
    parts, at = list[str](), 0
    while (start := text.find("${", at)) >= 0:
        end = _closing_brace(text, start)
        if end is None:
            break
        parts.append(text[at:start])
        whole = text[start : end + 1]
        if text[at:start].endswith("$"):
            parts[-1] = parts[-1][:-1]
            parts.append(whole)
        else:
            value = _value(whole[2:-1], scope, missing, nesting)
            parts.append(whole if value is None else value)
        at = end + 1
    return "".join(parts) + text[at:]


def _closing_brace(text: str, start: int) -> int | None:
    depth, at = 1, start + 2
    while at < len(text):
        if text.startswith("${", at):
            depth, at = depth + 1, at + 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return None


def _value(body: str, scope: Scope, missing: dict[Missing, None], nesting: int) -> str | None:
    """What `${body}` stands for; None where it stays as it is, which for a variable is noted in `missing`."""
    if (value := scope.predefined(body)) is not None:
        return value
    if body.startswith("input:"):
        return _input(body.removeprefix("input:"), scope, missing)
    if body.startswith("workspaceFolder:"):
        return str(scope.workspace)
    found = _BODY.fullmatch(body)
    if found is None:
        if name := _NAME.match(body):
            what = f"${{{name[0]}{'…' if name[0] != body else ''}}} is no kind of variable known here"
            hint = "Write ${NAME} for an environment variable, or $${…} where the text itself is meant."
            missing[Missing(what, hint)] = None
        return None
    name, default = found["exact"] or found["name"], found["default"]
    value = scope.environ.get(name)
    if default is not None and not value:
        return _expand(default, scope, missing, nesting + 1) if nesting < _MAX_NESTING else default
    if value is None:
        hint = f"Set it before you start mcphost, or give it a default: ${{{name}:-…}}."
        missing[Missing(f"${name} is not set", hint)] = None
    return value


def _input(name: str, scope: Scope, missing: dict[Missing, None]) -> str | None:
    answer = scope.inputs.answer(name)
    if answer is None:
        hint = "Start mcphost on a terminal, or put an environment variable in its place: ${NAME}."
        missing[Missing(f"the input {name!r} can only be asked for on a terminal", hint)] = None
    elif not answer:
        missing[Missing(f"nothing was given for the input {name!r}", "Give a value when asked.")] = None
        return None
    return answer
