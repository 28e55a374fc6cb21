"""Everything in docs/ that can run is run, in the order in which it stands there, and shows what is shown."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from drivers.script import ROOT, ended

import dspy_proact
from dspy_proact import cli
from dspy_proact.evaluation.published import best_published
from dspy_proact.evaluation.registry import benchmarks

DOCS = sorted(ROOT.glob("docs/**/*.md"))
_FENCE = re.compile(r"(?:<!-- (?P<marker>[^\n]*?) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Fence:
    """A fenced block, with what the comment above it says of it."""

    marker: str
    language: str
    text: str

    @property
    def commands(self) -> list[list[str]]:
        """Its lines of `dspy-proact`, as arguments."""
        lines = self.text.replace("\\\n", " ").splitlines()
        parsed = [shlex.split(line, comments=True) for line in lines]
        assert all(words[0] == "dspy-proact" for words in parsed if words), self.text
        return [words[1:] for words in parsed if words]


def fences(path: Path) -> Iterator[Fence]:
    for match in _FENCE.finditer(path.read_text(encoding="utf-8")):
        yield Fence(match["marker"] or "", match["language"], match["text"])


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(ROOT / "docs")))
def test_what_can_run_runs_and_shows_what_is_shown(path, tmp_path, monkeypatch, request):
    """A page is one session in one folder; without a key what would ask a real model is asked what it would take."""
    of_one = path.parent.name == "benchmarks" and path.stem != "index"
    request.getfixturevalue(path.stem if of_one else "proactbench")
    monkeypatch.setenv("COLUMNS", "80")
    message = ""
    for fence in fences(path):
        kind, _, more = fence.marker.partition(":")
        if kind == "shown":
            assert more.strip(), f"{path.name}: say why this is not run: {fence.text}"
        elif kind == "output":
            assert [line.rstrip() for line in message.splitlines()] == [
                line.rstrip() for line in fence.text.splitlines()
            ]
        elif kind == "file":
            (tmp_path / more.strip()).write_text(fence.text, encoding="utf-8")
        elif kind == "python":
            done = ended(lambda text=fence.text: exec(text, {}), path, folder=tmp_path)
            assert done.returncode == 0, done.stderr
            message = done.stdout
        else:
            assert kind == "run", f"{path.name}: mark this block: {fence.text}"
            for words in fence.commands:
                done = ended(cli.main, Path("dspy-proact"), *words, folder=tmp_path)
                assert done.returncode == int(more or 0), f"{shlex.join(words)}\n{done.stdout}{done.stderr}"
                message = done.stdout


def test_every_command_has_its_names_in_python_and_all_of_them_are_there():
    """Names before a dot or a bracket, in the table of the page on Python."""
    rows = re.findall(r"^\| `([a-z ]+)` \| (.+) \|$", (ROOT / "docs" / "python.md").read_text("utf-8"), re.MULTILINE)
    groups = {name: verb for name, verb in cli.proact.commands.items() if isinstance(verb, click.Group)}
    verbs = {name for name in cli.proact.commands if name not in groups}
    assert {command for command, _ in rows} == verbs | {
        f"{name} {verb}" for name in groups for verb in groups[name].commands
    }
    for _, text in rows:
        names = re.findall(r"`([A-Za-z_]+)(?=[`(.])", text)
        assert [name for name in names if name != "summary" and not hasattr(dspy_proact, name)] == []


@pytest.mark.parametrize("path", [ROOT / "README.md", *DOCS], ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(((?!http)[^)#]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_the_table_of_benchmarks_is_the_list(proactbench, probe, proactiveagent, proactivebench, proagentbench):
    text = (ROOT / "docs" / "benchmarks" / "index.md").read_text("utf-8")
    for entry in benchmarks().values():
        cells = (f"`{entry.name}`", entry.about, entry.corpus.size, entry.corpus.licence, best_published(entry))
        assert f"| {' | '.join(cells)} |\n" in text
        assert f"]({entry.name}.md)" in text
    table = text.partition("| `--benchmark`")[2].partition("\n\n")[0]
    assert len(table.splitlines()) == 2 + len(benchmarks())


def test_the_reference_has_every_public_name_once():
    pages = "".join(path.read_text("utf-8") for path in ROOT.glob("docs/reference/*.md"))
    assert sorted(re.findall(r"^::: dspy_proact\.(\w+)$", pages, re.MULTILINE)) == dspy_proact.__all__


def test_the_site_has_every_page():
    listed = re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    made = ["measurements.md", "changelog.md"]
    assert sorted(listed) == sorted([str(path.relative_to(ROOT / "docs")) for path in DOCS] + made)
