"""Everything in docs/ that can run is run, in the order in which it stands there, and shows what is shown."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import click
import pytest
from drivers.script import ROOT, ended
from fakes.official_package import installed
from fakes.server import Answer, Sent, healthy

import dspy_proact
from dspy_proact import cli
from dspy_proact.evaluation.published import best_published
from dspy_proact.evaluation.registry import benchmarks

DOCS = sorted(ROOT.glob("docs/**/*.md"))
PATHS = ROOT / "docs" / "paths.md"
TITLES = re.findall(r"^## (.+)$", PATHS.read_text("utf-8"), re.MULTILINE)
"""Of the paths, each of which begins in an empty folder."""
_FENCE = re.compile(r"(?:<!-- (?P<marker>[^\n]*?) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)```", re.DOTALL)
_OF_MODELS = r" --(model|judge|judge-prompt) (?!embedded)\S+"


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


def fences(text: str) -> Iterator[Fence]:
    for match in _FENCE.finditer(text):
        yield Fence(match["marker"] or "", match["language"], match["text"])


def follow(text: str, folder: Path, keyless: bool = False) -> Iterator[list[str]]:
    """Do what a text says in one folder, in its order; gives each command once it has ended as it should.

    Without a key (`keyless`), options that name a real model or the prompt for it are left out.
    """
    message = ""
    for fence in fences(text):
        kind, _, more = fence.marker.partition(":")
        if kind == "shown":
            assert more.strip(), f"say why this is not run: {fence.text}"
        elif kind == "output":
            assert [line.rstrip() for line in message.splitlines()] == [
                line.rstrip() for line in fence.text.splitlines()
            ]
        elif kind == "file":
            file = folder / more.strip()
            if file.exists():  # a command has written it
                assert file.read_text("utf-8") == fence.text
            file.parent.mkdir(exist_ok=True)
            file.write_text(fence.text, encoding="utf-8")
        elif kind == "python":
            done = ended(lambda text=fence.text: exec(text, {}), Path("docs"), folder=folder)
            assert done.returncode == 0, done.stderr
            message = done.stdout
        else:
            assert kind == "run", f"mark this block: {fence.text}"
            for printed in fence.commands:
                typed = re.sub(_OF_MODELS, "", shlex.join(printed)) if keyless else shlex.join(printed)
                words = shlex.split(typed)
                done = ended(cli.main, Path("dspy-proact"), *words, folder=folder)
                assert done.returncode == int(more or 0), f"{typed}\n{done.stdout}{done.stderr}"
                message = done.stdout
                yield words


@pytest.mark.parametrize(
    "path", [path for path in DOCS if path != PATHS], ids=lambda path: str(path.relative_to(ROOT / "docs"))
)
def test_what_can_run_runs_and_shows_what_is_shown(path, tmp_path, monkeypatch, request):
    """A page is one session in one folder; without a key what would ask a real model is asked what it would take."""
    of_one = path.parent.name == "benchmarks" and path.stem != "index"
    request.getfixturevalue(path.stem if of_one else {"own-labels": "rows"}.get(path.stem, "proactbench"))
    monkeypatch.setenv("COLUMNS", "80")
    assert all(follow(path.read_text("utf-8"), tmp_path))


def section(title: str) -> str:
    """A path, from its title to the next."""
    return PATHS.read_text("utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture
def providers(proactbench, server, monkeypatch):
    """The server, behind every provider's models, whose keys are known; the corpus of the hub is the sample here."""
    from dspy_proact.benchmarks.proactbench.corpus import dialogues

    sample = replace(dialogues.read_jsonl(dialogues.sample_path()), name="proactbench", revision="0" * 40)
    monkeypatch.setattr(dialogues, "read_dataset", lambda revision=None: sample)
    monkeypatch.setenv("OPENAI_API_KEY", "a key of this test")
    monkeypatch.setenv("OPENAI_BASE_URL", server.judge)
    return server


def of_provider(sent: Sent) -> Answer:
    """Answers of a provider that has the assistant and its judges, which it tells apart by the names of the models."""
    if sent.messages[0]["content"].startswith("You weigh one answer by its rubric."):
        result = {"status": "EVALUATED", "score": "PASS", "rationale": "because", "evidence": "label the boxes today"}
        return Answer(json.dumps({"evaluation_result": result}))
    return healthy(replace(sent, role="assistant" if sent.body["model"] == "gpt-4o" else "judge"))


@pytest.mark.parametrize("title", TITLES)
def test_a_path_is_followed_step_by_step_with_a_provider_behind_its_models(title, providers, tmp_path, monkeypatch):
    """What is estimated begins too, once `--dry-run` is left out: it ends, or stops at a limit."""
    monkeypatch.setenv("COLUMNS", "80")
    providers.script = of_provider
    folder = tmp_path / "work"
    folder.mkdir()
    with installed(tmp_path / "official"):
        estimated = [words for words in follow(section(title), folder) if "--dry-run" in words]
        for number, words in enumerate(estimated):
            few = [word for word in words if word != "--dry-run"]
            few += ["--max-calls", "20", *([] if "--out" in words else ["--out", f"more/{number}"])]
            done = ended(cli.main, Path("dspy-proact"), *few, folder=folder)
            assert done.returncode in {0, 4}, f"{shlex.join(few)}\n{done.stdout}{done.stderr}"
    models = {sent.body["model"] for sent in providers.sent}
    assert models
    assert models <= set(re.findall(r"(?<=openai/)[\w.-]+", section(title)))


def test_the_first_path_is_followed_without_a_key_where_no_model_is_named(proactbench, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert all(follow(section(TITLES[0]), tmp_path, keyless=True))


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


def from_index(text: str) -> list[str]:
    """Commands of a text that would install dspy-proact from a package index, where it is not."""
    commands = re.findall(r"(?:pip3?|pipx|uv tool|uv) install[^`\n]*|uvx [^`\n]*|pipx run [^`\n]*", text)
    return [command for command in commands if re.search(r"(?<![\w./-])dspy-proact(?! *@| eval)", command)]


def test_what_is_on_no_index_is_installed_from_a_clone_or_its_repository():
    """As `docs/index.md` says."""
    wrong = ["pip install 'dspy-proact[x]'", "pip install dspy-proact pytest", "uv tool install dspy-proact"]
    assert [from_index(f"`{command}`") for command in wrong] == [[command] for command in wrong]
    assert (
        from_index("`pip install -e '.[x]'`, `uvx --from . dspy-proact eval`, `pip install 'dspy-proact @ git+x'`")
        == []
    )
    pages = [*ROOT.glob("*.md"), *DOCS, *ROOT.glob("dspy_proact/**/*.py")]
    assert [(str(path), commands) for path in pages if (commands := from_index(path.read_text("utf-8")))] == []


@pytest.mark.parametrize("path", [ROOT / "README.md", *DOCS], ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(((?!http)[^)#]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_the_table_of_benchmarks_is_the_list(proactbench, probe, proactiveagent, proactivebench, proagentbench, rows):
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


def test_the_jobs_of_shards_do_their_commands(proactbench, tmp_path):
    """Those of the Slurm array and of the Kubernetes Jobs in a shell, with the stand-in in place of the models."""
    import yaml

    files = {fence.marker: fence.text for fence in fences((ROOT / "docs" / "shards.md").read_text("utf-8"))}
    array, manifests = files["file: shards.sbatch"], list(yaml.safe_load_all(files["file: shards.yaml"]))
    config, shards, merge = manifests
    options = files["file: eval.toml"]
    assert config["data"]["eval.toml"] == options
    (tmp_path / "eval.toml").write_text(
        re.sub("^(model|judge|max-usd) = .*\n", "", options, flags=re.MULTILINE), "utf-8"
    )
    count = shards["spec"]["completions"]
    assert f"--array=1-{count}\n" in array
    evaluate, put_together = (
        job["spec"]["template"]["spec"]["containers"][0]["args"][0].replace("/config/", "").replace("/runs", "pods")
        for job in (shards, merge)
    )
    command = f'dspy-proact() {{ {shlex.quote(sys.executable)} -m dspy_proact "$@"; }}\n'

    def ran(script, **environment):
        named = {**os.environ, **environment, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            ["bash", "-e", "-c", command + script], cwd=tmp_path, env=named, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    for number in (1, count):
        ran(array, SLURM_ARRAY_TASK_ID=str(number))
        ran(evaluate, JOB_COMPLETION_INDEX=str(number - 1))
    of_array = re.search("--wrap='(.*)'", (ROOT / "docs" / "shards.md").read_text("utf-8"))[1]
    merged = [ran(f"{script} --partial").partition(" added")[0] for script in (of_array, put_together)]
    assert merged[0] == merged[1]
    assert merged[0].startswith("2 runs: ")


def test_the_workflow_of_continuous_integration_does_its_steps(proactbench, tmp_path):
    """Its commands in a shell, with the stand-in in place of the models that need a key; again, they make no call."""
    import yaml

    blocks = list(fences((ROOT / "docs" / "ci.md").read_text("utf-8")))
    for fence in blocks:
        kind, _, name = fence.marker.partition(": ")
        if kind == "file":
            (tmp_path / name).parent.mkdir(exist_ok=True)
            text = re.sub(r"^(model|judge|max-usd) = .*\n", "", fence.text, flags=re.MULTILINE)
            (tmp_path / name).write_text(text, encoding="utf-8")
    (workflow,) = (yaml.safe_load(fence.text) for fence in blocks if fence.language == "yaml")
    steps = workflow["jobs"]["score"]["steps"]
    assert [step["uses"].partition("@")[0] for step in steps if "uses" in step] == [
        *("actions/checkout", "actions/setup-python", "actions/cache/restore", "actions/cache/save"),
        "actions/upload-artifact",
    ]
    command = tmp_path / "bin" / "dspy-proact"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m dspy_proact "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    folders = os.pathsep.join([str(command.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": folders, "RUN": "runs/0123", "PYTHONPATH": str(ROOT)}
    for again in (False, True):
        for step in (step for step in steps if "run" in step and "pip install" not in step["run"]):
            done = subprocess.run(
                ["bash", "-e", "-c", step["run"]],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            assert "--out" not in step["run"] or ("no calls were made" in done.stderr) == again
    artefacts = steps[-1]["with"]["path"].split()
    assert [(tmp_path / name).is_file() for name in artefacts] == [True, True]
