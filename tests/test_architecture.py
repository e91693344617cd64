"""Imports point one way, and foreign packages stay where they belong."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "mcphost"

ORDER = (
    "errors messages events jsontext text paths backoff trace endpoints net dialect redact jsonc "
    "variables files envfile documents jsonc_edit spellings literals written layout server_edit prices "
    "specs fields auth_entry server_entry carrying sources importing sections environment model_choice "
    "trust config masking verdicts naming schema_values schema_walk schema_keywords schema_refs "
    "schema_clean schema_merge schema_adapt schema validation coercion complaints arguments media blocks "
    "content offers catalog selection hooks asking elicitation model_errors sse thinking calls assemble "
    "history context database noted session_rows stored store transcript model_request model instructed "
    "openai_model patience lists sampling desk transport trouble oauth builtin answering listening "
    "session connection offering server finding private fleet router turn conversation toolbox host api "
    "demo doctor terminal cli __main__ "
).split()
"""Modules and packages from the bottom up: each may import those before it."""

HOMES = {
    "mcp": {
        "transport",
        "trouble",
        "oauth",
        "answering",
        "listening",
        "session",
        "connection",
        "builtin",
        "demo",
    },
    "mcp_types": {
        "transport",
        "trouble",
        "oauth",
        "answering",
        "listening",
        "session",
        "connection",
        "builtin",
        "demo",
    },
    "openai": {"openai_model"},
    "httpx2": {"net", "transport", "trouble", "oauth", "connection", "model_errors", "openai_model"},
    "rich": {"terminal"},
    "prompt_toolkit": {"terminal"},
    "markdown_it": {"terminal"},
    "pygments": {"terminal"},
    "wcwidth": {"terminal"},
    "click": {"cli"},
    "starlette": {"api"},
    "watchfiles": {"api"},
    "uvicorn": {"api"},
    "prometheus_client": {"api"},
    "jsonschema": {"validation", "coercion", "complaints", "demo"},
}
"""Who may import a foreign package."""

MODULES = sorted(PACKAGE.rglob("*.py"))


def part(path: Path) -> str:
    """The name that a module has in ORDER: its own, or its package's."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Everything that a module imports at run time, wherever in it."""
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_up_the_list_only(path: Path):
    name = part(path)
    if name == "__init__":
        return
    assert name in ORDER, f"say in ORDER where {name} belongs"
    ours = {module.split(".")[1] for module in imports(path) if module.startswith("mcphost.")}
    later = {module for module in ours if module in ORDER and ORDER.index(module) > ORDER.index(name)}
    assert not later


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_foreign_packages_stay_at_their_seams(path: Path):
    foreign = {module.split(".")[0] for module in imports(path)} & HOMES.keys()
    assert not {package for package in foreign if part(path) not in HOMES[package]}


def test_spawning_knows_nothing_of_mcp():
    assert not {module for module in imports(PACKAGE / "transport/process.py") if module.startswith("mcp.")}
    assert not {
        module for module in imports(PACKAGE / "transport/process.py") if module.startswith("mcp_types")
    }
