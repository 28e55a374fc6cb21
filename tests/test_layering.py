"""The house: who may import whom. Read from the sources, so that a lazy import counts too."""

import ast
from functools import cache
from pathlib import Path

import dspy_proact

HOUSE = Path(dspy_proact.__file__).parent
GROUND = {"errors", "types", "calls", "switch", "plain_text"}
FIRST = GROUND | {"conversation", "evidence", "views", "stats", "kept"}
SECOND = FIRST | {"corpus", "runs"}
MAY_IMPORT = {
    "types": set(),
    "errors": set(),
    "plain_text": set(),
    "calls": GROUND,
    "switch": GROUND,
    "conversation": GROUND,
    "evidence": GROUND,
    "views": GROUND,
    "stats": GROUND,
    "kept": {"errors", "types"},
    "corpus": FIRST,
    "runs": FIRST,
    "settings": {"runs", "types"},
    "models": FIRST,
    "report": SECOND,
    "programs": FIRST | {"models"},
    "benchmarks": SECOND | {"settings", "models", "programs"},
    "compile": SECOND | {"settings", "models", "programs", "benchmarks"},
    "cli": SECOND | {"settings", "models", "programs", "benchmarks", "report", "compile"},
    "__init__": SECOND | {"models", "programs", "benchmarks", "report", "compile"},
    "__main__": {"cli"},
}
WITHOUT_DSPY = FIRST | {"corpus", "runs", "settings", "report"}
PRINTING = {"cli", "__main__"}


def room_of(path):
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


@cache
def sources():
    """Of every file its room, its path and the nodes of its tree."""
    parsed = ((path, ast.parse(path.read_text(encoding="utf-8"))) for path in sorted(HOUSE.rglob("*.py")))
    return [(room_of(path), path, list(ast.walk(tree))) for path, tree in parsed]


def imported(nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module == "dspy_proact")


def test_every_room_has_its_rule():
    assert {room for room, _, _ in sources()} == set(MAY_IMPORT)


def test_imports_go_one_way():
    for room, path, nodes in sources():
        names = {name.split(".")[1] for name in imported(nodes) if name.startswith("dspy_proact.")}
        assert names - {room} <= MAY_IMPORT[room], path


def test_measuring_and_reporting_know_neither_dspy_nor_litellm():
    for room, path, nodes in sources():
        if room in WITHOUT_DSPY:
            assert not {name.split(".")[0] for name in imported(nodes)} & {"dspy", "litellm"}, path


def test_numbers_are_made_with_numpy_only():
    for room, path, nodes in sources():
        if room == "stats":
            foreign = {name.split(".")[0] for name in imported(nodes)} & {"scipy", "pandas", "sklearn", "pydantic"}
            assert not foreign, path


def test_only_the_command_line_prints_and_only_models_read_the_environment():
    for room, path, nodes in sources():
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        environ = {node.attr for node in nodes if isinstance(node, ast.Attribute)} & {"environ", "getenv"}
        assert room in PRINTING or "print" not in names, path
        assert room in {"models", "cli"} or not environ, path


def test_nothing_reads_a_pickle():
    for _, path, nodes in sources():
        assert not {name.split(".")[0] for name in imported(nodes)} & {"pickle", "cloudpickle", "dill", "shelve"}, path
