"""The house: who may import whom. Read from the sources, so that a lazy import counts too."""

import ast
from functools import cache
from pathlib import Path

import dspy_proact

HOUSE = Path(dspy_proact.__file__).parent
NOUNS = {"errors", "types", "calls", "switch", "plain_text", "evidence", "images"}
MAY_IMPORT = {
    **dict.fromkeys(NOUNS, NOUNS),
    "stats": NOUNS,
    "kept": NOUNS,
    "files": NOUNS | {"kept"},
    "runs": NOUNS | {"stats", "kept"},
    "models": NOUNS | {"stats", "kept"},
    "programs": NOUNS | {"stats", "kept", "models"},
    "evaluation": NOUNS | {"stats", "kept", "runs", "files", "models", "programs"},
    "report": NOUNS | {"stats", "kept", "runs", "files", "evaluation"},
    "label": NOUNS | {"stats", "kept", "runs", "files", "evaluation", "report"},
    "compile": NOUNS | {"stats", "kept", "runs", "files", "models", "programs", "evaluation"},
    "benchmarks": NOUNS | {"stats", "kept", "runs", "files", "models", "programs", "evaluation", "compile", "report"},
    "cli": None,
    "__init__": None,
    "__main__": {"cli"},
}
"""Rooms by name; `benchmarks` is what the folder of one may import beside itself. None: any."""
WITHOUT_DSPY = NOUNS | {"stats", "kept", "files", "runs", "report", "label"}
PRINTING = {"cli", "__main__"}


BENCHMARKS = {path.name for path in (HOUSE / "benchmarks").iterdir() if (path / "__init__.py").is_file()}


def benchmark_of(path):
    """The benchmark in whose folder a file stands; None for a neutral one."""
    parts = path.relative_to(HOUSE).parts
    return parts[1] if parts[0] == "benchmarks" and len(parts) > 2 else None


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
        folder = benchmark_of(path)
        allowed = MAY_IMPORT[room]
        for name in imported(nodes):
            parts = name.split(".")
            if parts[0] != "dspy_proact" or len(parts) == 1 or allowed is None:
                continue
            named = parts[2] if parts[1] == "benchmarks" and len(parts) > 2 and parts[2] in BENCHMARKS else None
            assert named in (None, folder), (path, name)
            assert parts[1] in {room, *allowed} or named, (path, name)


def test_the_command_line_reaches_a_benchmark_only_when_it_is_asked_for():
    """So that without the folder of one everything else imports."""
    for room, path, _ in sources():
        body = ast.parse(path.read_text(encoding="utf-8")).body
        nodes = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        if room == "cli":
            assert not {name.split(".")[2] for name in imported(nodes) if name.count(".") > 1} & BENCHMARKS, path


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
        assert room in {"models", "cli"} or path.name == "github.py" or not environ, path


def test_reports_reach_a_terminal_through_one_file_which_escapes_what_they_say():
    """So that hostile names, widths and encodings are tested there, and not with each text."""
    for room, path, nodes in sources():
        if room in {"report", "benchmarks"} and path.name != "terminal.py":
            attributes = {node.func.attr for node in nodes if isinstance(node, ast.Call) and hasattr(node.func, "attr")}
            assert not attributes & {"print", "out", "echo", "write_raw"}, path


def test_nothing_reads_a_pickle():
    for _, path, nodes in sources():
        assert not {name.split(".")[0] for name in imported(nodes)} & {"pickle", "cloudpickle", "dill", "shelve"}, path
