"""Names that a reader meets: read from the sources, like the house in `test_layering`."""

import ast
from collections import defaultdict
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
