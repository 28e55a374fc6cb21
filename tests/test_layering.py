"""The house: who may import whom. Read from the sources, so that an import in a function counts too.

A rule is a function over the trees of the sources that returns what breaks it; a test plants an import that does.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import dspy_proact

HOUSE = Path(dspy_proact.__file__).parent
NOUNS = {
    "errors",
    "types",
    "calls",
    "call_observer",
    "switch",
    "plain_text",
    "prompt_counts",
    "evidence",
    "images",
    "optimizer_names",
    "recipe",
    "scorers",
    "stand_in",
}
BELOW_REPORTS = NOUNS | {"stats", "kept", "runs", "files", "evaluation"}
BELOW_COMPILES = BELOW_REPORTS | {"models", "apps", "programs"}
MAY_IMPORT = {
    **dict.fromkeys(NOUNS, NOUNS),
    "stats": NOUNS,
    "kept": NOUNS,
    "files": NOUNS | {"kept"},
    "runs": NOUNS | {"stats", "kept"},
    "models": NOUNS | {"stats", "kept"},
    "apps": NOUNS | {"kept", "files", "models"},
    "programs": NOUNS | {"stats", "kept", "models", "runs"},
    "evaluation": BELOW_COMPILES - {"evaluation"},
    "report": BELOW_REPORTS,
    "exchange": BELOW_REPORTS | {"report"},
    "label": BELOW_REPORTS | {"report"},
    "trained": BELOW_COMPILES | {"report", "publish"},
    "compile": BELOW_COMPILES,
    "mlflow": BELOW_COMPILES,
    "generation": BELOW_COMPILES,
    "audit": BELOW_COMPILES | {"report", "generation"},
    "publish": BELOW_COMPILES | {"audit", "generation", "report"},
    "benchmarks": BELOW_COMPILES | {"compile", "generation", "report", "audit", "publish", "exchange"},
    "cli": BELOW_COMPILES | {"compile", "generation", "report", "label", "audit", "publish", "exchange", "trained"},
    "__init__": BELOW_COMPILES | {"compile", "generation", "report", "audit", "publish", "exchange"},
    "__main__": {"cli"},
}
"""Rooms by name; `benchmarks` is what the folder of one may import beside itself."""
FACE = "__init__.py"
"""Its public names are imported when they are first used; some are the default benchmark's."""
REGISTRY = ("evaluation/registry.py", "")
"""Imports the benchmarks of the package by the names of their folders, of which it names none."""
OPEN_CIRCLES: tuple[set[str], ...] = ()
"""Files that still import each other through a function; none is added, and one that has opened is removed."""


Trees = Mapping[str, ast.Module]


@cache
def sources() -> Trees:
    """The tree of every file, by its path in the house."""
    paths = sorted(HOUSE.rglob("*.py"))
    return {path.relative_to(HOUSE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def room_of(file: str) -> str:
    return file.partition("/")[0].removesuffix(".py")


def benchmark_of(file: str) -> str | None:
    """The benchmark in whose folder a file stands; None for a neutral one."""
    parts = file.split("/")
    return parts[1] if parts[0] == "benchmarks" and len(parts) > 2 else None


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Modules, and what is imported from one, which may be a module as well."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def of_package(tree: ast.Module, running: bool = False) -> list[list[str]]:
    """The parts of every name imported from the package, without its own; of those at run time, or of all."""
    nodes = at_run_time(tree.body) if running else ast.walk(tree)
    return [name.split(".")[1:] for name in imported(nodes) if name.startswith("dspy_proact.")]


@cache
def texts(tree: ast.Module) -> set[str]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def upward(trees: Trees) -> list[str]:
    """Imports of a room that the importing room may not know."""
    rooms = {room_of(file) for file in trees} - {"__init__"}
    return [
        f"{file}: {'.'.join(parts)}"
        for file, tree in trees.items()
        for parts in of_package(tree)
        if parts[0] in rooms - {room_of(file), "benchmarks", *MAY_IMPORT[room_of(file)]}
    ]


def of_a_benchmark(trees: Trees) -> list[str]:
    """Imports of a benchmark from outside its folder, and modules of one that are named as text."""
    return [
        f"{file}: {name}"
        for file, tree in trees.items()
        if file != FACE
        for name in (
            *(parts[1] for parts in of_package(tree) if parts[0] == "benchmarks" and len(parts) > 1),
            *(text.split(".")[2] for text in texts(tree) if text.startswith("dspy_proact.benchmarks.")),
        )
        if name != benchmark_of(file) and (file, name) != REGISTRY
    ]


def at_run_time(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes that run, at import or in a function: all but what stands under TYPE_CHECKING."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from at_run_time(node.orelse)
        else:
            yield node
            yield from at_run_time(ast.iter_child_nodes(node))


def circles(trees: Trees) -> list[set[str]]:
    """Files that import each other at run time, directly or through others, largest first."""
    edges = {
        file: {home for parts in of_package(tree, running=True) if (home := _home(parts, trees)) != file}
        for file, tree in trees.items()
    }
    reached = {file: _reached(file, edges) for file in edges}
    results = {frozenset(other for other in reached[file] if file in reached[other]) for file in edges}
    return sorted((set(circle) for circle in results if circle), key=len, reverse=True)


def _home(parts: list[str], trees: Trees) -> str:
    """The file that an imported name comes from: a module of this name, else the module before it."""
    for count in (len(parts), len(parts) - 1):
        stem = "/".join(parts[:count])
        for file in (f"{stem}.py", f"{stem}/__init__.py"):
            if file in trees:
                return file
    return FACE


def _reached(file: str, edges: Mapping[str, set[str]]) -> set[str]:
    seen, ahead = set[str](), [file]
    while ahead:
        new = edges[ahead.pop()] - seen
        seen |= new
        ahead += new
    return seen


def test_every_room_has_its_rule():
    assert {room_of(file) for file in sources()} == set(MAY_IMPORT)


def test_imports_go_one_way():
    assert upward(sources()) == []


def test_nothing_outside_its_folder_and_the_registry_imports_a_benchmark():
    """So that without the folder of one everything else imports."""
    assert of_a_benchmark(sources()) == []


def test_no_files_import_each_other_at_run_time():
    remaining = circles(sources())
    assert [circle for circle in remaining if not any(circle <= known for known in OPEN_CIRCLES)] == []
    assert [known for known in OPEN_CIRCLES if not any(circle <= known for circle in remaining)] == [], "has opened"


def planted(rule, **lines):
    """What a rule says of the package where files have other lines, beyond what it says of it as it is."""
    trees = {name.replace("__", "/") + ".py": ast.parse(text) for name, text in lines.items()}
    known = rule(sources())
    return [new for new in rule({**sources(), **trees}) if new not in known]


LAZY = "def planted():\n    from dspy_proact.{} import any_name"
TYPING = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from dspy_proact.{} import any_name"
PLAIN = "import dspy_proact.{}"
ANY_WAY = pytest.mark.parametrize("lines", [LAZY, TYPING, PLAIN, "from dspy_proact.{} import any_name"])


@ANY_WAY
@pytest.mark.parametrize("room", ["report", "compile", "label", "cli"])
def test_an_upward_import_is_seen(room, lines):
    assert planted(upward, evaluation__new=lines.format(room)) == [
        f"evaluation/new.py: {'.'.join(parts)}" for parts in of_package(ast.parse(lines.format(room)))
    ]


@ANY_WAY
@pytest.mark.parametrize(
    "file", ["evaluation__new", "report__new", "cli__new", "benchmarks__new__new", "evaluation__registry"]
)
def test_an_import_of_a_benchmark_is_seen(file, lines):
    broken = planted(of_a_benchmark, **{file: lines.format("benchmarks.proactbench.types")})
    assert broken == [f"{file.replace('__', '/')}.py: proactbench"]
    assert planted(of_a_benchmark, benchmarks__proactbench__new=lines.format("benchmarks.proactbench.types")) == []


def test_a_benchmark_that_is_imported_by_its_name_as_text_is_seen():
    lines = "import_module('dspy_proact.benchmarks.proactbench.types')"
    assert planted(of_a_benchmark, evaluation__registry=lines, cli__new=lines) == [
        "evaluation/registry.py: proactbench",
        "cli/new.py: proactbench",
    ]


def test_a_circle_is_seen_through_others_and_in_a_function_but_not_for_types_alone():
    ring = {"runs__a": PLAIN.format("stats.b"), "stats__b": LAZY.format("kept.c")}
    assert planted(circles, **ring, kept__c=TYPING.format("runs.a")) == []
    assert planted(circles, **ring, kept__c=PLAIN.format("runs.a")) == [{"runs/a.py", "stats/b.py", "kept/c.py"}]


WITHOUT_DSPY = NOUNS | {"stats", "kept", "files", "runs", "report", "label"}


def test_measuring_and_reporting_know_neither_dspy_nor_litellm():
    for file, tree in sources().items():
        if room_of(file) in WITHOUT_DSPY:
            assert not {name.split(".")[0] for name in imported(ast.walk(tree))} & {"dspy", "litellm"}, file


def test_numbers_are_made_with_numpy_only():
    for file, tree in sources().items():
        if room_of(file) == "stats":
            names = {name.split(".")[0] for name in imported(ast.walk(tree))}
            assert not names & {"scipy", "pandas", "sklearn", "pydantic"}, file


def test_only_the_command_line_prints_and_only_models_read_the_environment():
    for file, tree in sources().items():
        nodes = list(ast.walk(tree))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        environ = {node.attr for node in nodes if isinstance(node, ast.Attribute)} & {"environ", "getenv"}
        assert room_of(file) in {"cli", "__main__"} or "print" not in names, file
        assert room_of(file) in {"models", "cli"} or file.endswith("/github.py") or not environ, file


def test_reports_reach_a_terminal_through_one_file_which_escapes_what_they_show():
    """So that hostile names, widths and encodings are tested there, and not with each text."""
    for file, tree in sources().items():
        if room_of(file) in {"report", "benchmarks"} and not file.endswith("/terminal.py"):
            calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
            attributes = {function.attr for function in calls if isinstance(function, ast.Attribute)}
            assert not attributes & {"print", "out", "echo", "write_raw"}, file


def options_named(tree: ast.Module) -> Iterator[str]:
    """Texts of a file that name an option; docstrings may show a command."""
    nodes = list(ast.walk(tree))
    shown = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in shown]
    # A variable of a style, `var(--run)`, is no option, and this one is git's.
    named = re.compile(r"(?<![(\w-])--(?!no-optional-locks)[a-z]")
    yield from (text for text in texts if isinstance(text, str) and named.search(text))


def test_options_are_spoken_of_in_the_command_line_alone():
    for file, tree in sources().items():
        assert room_of(file) == "cli" or not list(options_named(tree)), file
    assert list(options_named(ast.parse("raise UsageError(f'{path}: leave --judge out')")))


def test_nothing_reads_a_pickle():
    for file, tree in sources().items():
        names = {name.split(".")[0] for name in imported(ast.walk(tree))}
        assert not names & {"pickle", "cloudpickle", "dill", "shelve"}, file
