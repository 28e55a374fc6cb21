"""Names that a reader meets: read from the sources, like the house in `test_layering`."""

import ast
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import dspy_proact

HOUSE = Path(dspy_proact.__file__).parent


def homes_of_classes(house=HOUSE):
    """Of every class its files, as paths in the package."""
    homes = defaultdict[str, list[str]](list)
    for path in sorted(house.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(path.relative_to(house).as_posix())
    return homes


def ambiguous(homes):
    """The classes of neutral rooms that have a second home there or in a benchmark; two benchmarks may share a name."""
    return {
        name: files
        for name, files in homes.items()
        if len(files) > 1 and not all(file.startswith("benchmarks/") for file in files)
    }


def test_a_class_of_a_neutral_room_has_one_home():
    assert ambiguous(homes_of_classes()) == {}


def test_a_second_home_is_seen(tmp_path):
    for file in ("runs/a.py", "stats/b.py", "benchmarks/one/c.py", "benchmarks/two/d.py"):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text("class Leaf: pass" if "two" in file else f"class {file[0].upper()}: pass")
    assert ambiguous(homes_of_classes(tmp_path)) == {}
    (tmp_path / "runs/a.py").write_text("class S: pass\nclass B: pass")
    (tmp_path / "benchmarks/two/d.py").write_text("class Leaf: pass\nclass B: pass")
    assert ambiguous(homes_of_classes(tmp_path)) == {
        "B": ["benchmarks/one/c.py", "benchmarks/two/d.py", "runs/a.py"],
        "S": ["runs/a.py", "stats/b.py"],
    }


ROOT = HOUSE.parent
WORDS = {"told", "said", "found", "asked", "given", "whole", "place", "places", "worded", "each", "looked"} | {
    *("shelf", "parting", "tellable", "apart", "untold")
}
"""Words that name nothing: a name is what the thing is, such as message, text, item, rating, case, index or reasons."""
PROMISED = {
    "asked_for": "a field of the offer detector's answer, which is prompt text and stands in files",
    "proactivebench/programs.py: given": "an output of a judge's signature, which is prompt text",
    "proactivebench/trajectory.py: given": "a field of a grade, which stands in files",
    "probe/judging.py: given": "an input of a judge's signature, which is prompt text",
    "probe/agents/tools.py: place": "a field of the records that an agent reads, which is prompt text",
}
"""Names that stand in files, in JSON or in prompts, of anything or in one file of a benchmark, and why they stay."""
REMAINING: dict[str, int] = {}
"""How many uses remain in a room; a number only shrinks."""


@cache
def words_of(name):
    """The words of a name, of whatever case: those of `NAMED_one` and `NamedOne` are named and one."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


def defined(tree):
    """Every name that is defined, with its line: variables, attributes, parameters, functions, classes and fields.

    The name of a test is a sentence.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield getattr(node, "id", None) or node.attr, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname, node.lineno


def empty_names(root=ROOT):
    """Names of words that name nothing, by file and line, of each room."""
    rooms = defaultdict[str, list[str]](list)
    for folder in ("dspy_proact", "eval", "optimize", "tests"):
        for path in sorted((root / folder).rglob("*.py")):
            file = path.relative_to(root).as_posix()
            for name, line in defined(ast.parse(path.read_text(encoding="utf-8"))):
                promised = {name, f"{file.removeprefix('dspy_proact/benchmarks/')}: {name}"} & PROMISED.keys()
                if words_of(name) & WORDS and not promised and not name.startswith("test_"):
                    rooms[file.rpartition("/")[0] if file.count("/") == 1 else "/".join(file.split("/")[:2])].append(
                        f"{file}:{line}: {name}"
                    )
    return rooms


def test_a_name_says_what_the_thing_is():
    remaining = empty_names()
    more = {room: names for room, names in remaining.items() if len(names) > REMAINING.get(room, 0)}
    assert more == {}, Counter(name.rpartition(" ")[2] for names in more.values() for name in names)


def test_a_name_that_says_nothing_is_seen_wherever_it_is_defined(tmp_path):
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "a.py").write_text(
        "import told as _said\n"
        "class Found:\n    given: int\n    def look(self, asked=1, *whole):\n        self.place_of = asked_for = 1\n"
        "def untold(): return [told for worded in said], lambda each: seen.found\n"
        "def test_what_is_told(): founder = 1\n"
    )
    (names,) = empty_names(tmp_path).values()
    assert sorted(name.partition(":")[2] for name in names) == [
        *("1: _said", "2: Found", "3: given", "4: asked", "4: whole", "5: place_of"),
        *("6: each", "6: untold", "6: worded"),
    ]
