"""`dspy-proact report`, `compare` and `export`: runs, results files, pages, and every refusal."""

import json
import re
from pathlib import Path

import pytest
from builders.dialogues import jsonl, row, trigger_point
from builders.results import file_with
from builders.riddles import as_format_one
from builders.runs import PHASES, manifest, run_of, trigger
from click.testing import CliRunner

from dspy_proact.benchmarks.proactbench.corpus.dialogues import read_jsonl
from dspy_proact.cli.export import export
from dspy_proact.evaluation.evaluation import Evaluation
from dspy_proact.runs import RoleIdentity


def evaluated(folder, *rows):
    """The path of a finished run of the stand-in."""
    (folder / "corpus.jsonl").write_text(jsonl(*rows), encoding="utf-8")
    return Evaluation(read_jsonl(folder / "corpus.jsonl")).run(folder / "run").path


@pytest.fixture
def run(tmp_path):
    return evaluated(tmp_path, row())


@pytest.fixture
def domains(tmp_path):
    """Twelve triggers of travel in four scenarios, and one of cooking."""
    rows = [row(unique_id_eval=f"d{number}", scenario_id=f"TRAVEL_{number:02d}") for number in range(4)]
    lone = row(unique_id_eval="soup", category_key="cooking_persona", trigger_points=[trigger_point(2)])
    return evaluated(tmp_path, *rows, lone)


# Runs


def test_a_report_is_broken_down_by_each_key_with_small_groups_marked(proact, domains):
    status, out, _ = proact("report", domains, "--by", "life_domain", "--by", "turn")
    rows = [line.split()[:2] for line in out.splitlines()]
    assert status == 0
    assert ["travel", "12/12"] in rows
    assert ["cooking*", "1/1"] in rows
    # Turns 2, 3 and 5 of the four, and turn 2 of the soup; in the order of numbers.
    turns = [item for item in rows if item and re.fullmatch(r"\d+\*", item[0])]
    assert turns[:3] == [["2*", "5/5"], ["3*", "4/4"], ["5*", "4/4"]]
    assert max(map(len, out.splitlines())) <= 80


def test_a_run_of_an_older_format_is_refused_with_a_sentence_by_every_command(refused, run):
    raw = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    (run / "manifest.json").write_text(json.dumps(as_format_one(raw)), encoding="utf-8")
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    for command in (["report", run], ["leaderboard", run], ["eval", "--out", run], ["compare", run, run]):
        err = refused(*command)
        assert err.startswith(f"Error: {run / 'manifest.json'}: field 'format': ")
        assert err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


# Results files


def test_a_results_file_is_broken_down_and_its_faults_are_in_the_json(proact, tmp_path):
    document = json.loads(proact("report", file_with(tmp_path), "--json", "--by", "turn")[1])
    assert list(document["breakdowns"]["turn"]) == ["2", "3", "5"]
    assert document["results"]["dropped"]["reason"] == "name the corpus that it answers"


# Pages


@pytest.fixture
def pair(tmp_path):
    """Two runs of one trigger."""
    for name, grade in (("a", "PASS"), ("b", "FAIL")):
        run_of(tmp_path / name, [(trigger(), grade)], model=f"openai/{name}")


@pytest.mark.parametrize(("runs", "following"), [(["a"], "show a"), (["a", "b"], "compare a b")])
def test_a_page_is_written_and_said_where(proact, pair, tmp_path, runs, following):
    status, out, err = proact("report", *runs, "--html", "page.html", "--by", "style")
    assert (status, out) == (0, "")
    assert err == f"The page is in page.html; open it in a browser.\nNext: dspy-proact {following}\n"
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert all(f"openai/{name}" in text for name in runs)
    before = sorted(tmp_path.iterdir())
    status, out, err = proact("report", *runs, "--html", "-")
    assert (status, err, sorted(tmp_path.iterdir())) == (0, "", before)
    assert out.rstrip().endswith("</html>")


# Two runs


def spread():
    """A trigger a phase, of one scenario."""
    return [trigger("d0", phase, turn=turn, scenario="S0") for turn, phase in enumerate(PHASES, start=1)]


def named(program, prompt="bb", judge="openai/j"):
    """The identity of a judge that speaks by another program."""
    return manifest(judge).identity.model_copy(
        update={"judges": (RoleIdentity(model=judge, program=program, prompt=prompt, decoding={}),)}
    )


def test_programs_and_prompts_are_named_wherever_their_model_is(proact, tmp_path):
    cases = spread()
    for name, program in (("a", "default"), ("b", "official"), ("c", "compiled:0123456789ab")):
        run_of(tmp_path / name, [(case, "PASS") for case in cases], identity=named(program))
    out = " ".join(proact("compare", "b", "c")[1].split())
    assert "a: openai/m judged by openai/j (official prompt) (b)" in out
    assert "b: openai/m judged by openai/j (compiled:0123456789ab) (c)" in out
    assert "openai/j (official prompt) and openai/j (compiled:0123456789ab) on 3 responses" in out
    assert "openai/j and openai/j (official prompt) on 3 responses" in " ".join(proact("compare", "a", "b")[1].split())
    assert "judged by openai/j (compiled:0123456789ab)" in " ".join(proact("report", "c")[1].split())
    document = json.loads(proact("compare", "a", "c", "--json")[1])
    assert [document[side]["judge_program"] for side in "ab"] == ["default", "compiled:0123456789ab"]
    assert document["judges"]["second"] == "openai/j (compiled:0123456789ab)"
    proact("export", "c", "--format", "csv")
    assert '"openai/j","compiled:0123456789ab"' in (tmp_path / "exports" / "c.csv").read_text(encoding="utf-8")


def prompted(folder, prompt):
    """A run whose assistant was told something."""
    message = RoleIdentity(
        model="openai/m", program="prompt" if prompt else "bare", prompt=f"{prompt!r:.9}", decoding={}
    )
    identity = manifest().identity.model_copy(update={"assistant": message})
    run_of(folder, [(case, "PASS") for case in spread()], identity=identity, system_prompt=prompt)


def test_system_prompts_that_differ_are_shown(proact, tmp_path):
    prompted(tmp_path / "a", "Notice what was said in passing.")
    prompted(tmp_path / "b", "Wait until they are done.\nThen offer one thing.")
    prompted(tmp_path / "c", None)
    _, out, _ = proact("compare", "a", "b", "--explain")
    lines = out.splitlines()
    index = lines.index("system prompt of a:")
    assert lines[index + 1 : index + 5] == [
        "  Notice what was said in passing.",
        "system prompt of b:",
        "  Wait until they are done.",
        "  Then offer one thing.",
    ]
    assert "system prompt of b: none" in proact("compare", "a", "c", "--explain")[1]
    document = json.loads(proact("compare", "a", "c", "--json")[1])
    assert [document[side]["system_prompt"] for side in "ab"] == ["Notice what was said in passing.", None]


def test_of_long_system_prompts_the_difference_is_shown_and_no_terminal_obeys_it(proact, tmp_path):
    lines = [f"Rule {number}." for number in range(200)]
    prompted(tmp_path / "a", "\n".join(lines))
    prompted(tmp_path / "b", "\n".join([*lines[:100], "\x1b[31mAnother.", *lines[101:]]))
    _, out, _ = proact("compare", "a", "b", "--explain")
    shown = out[out.index("--- system prompt of a") :]
    assert "-Rule 100.\n+\\x1b[31mAnother.\n Rule 101.\n" in shown
    assert "Rule 50." not in out
    prompted(tmp_path / "c", "\n".join(f"Other {line}" for line in lines))
    assert "... 140 further lines; the JSON has all of them" in proact("compare", "a", "c", "--explain")[1]


def test_what_a_pattern_took_for_runs_is_named(refused, tmp_path):
    for name in "ab":
        run_of(tmp_path / name, [(case, "PASS") for case in spread()])
    (tmp_path / "b.csv").write_text("key\n")
    err = refused("compare", "a", "b", "b.csv", "missing")
    assert "Error: b.csv" in err
    assert "compare takes RUN_A and RUN_B, and one is given" in refused("compare", "a")


# Files for other tools

FORMS = {"official": ".jsonl", "csv": ".csv", "parquet": ".parquet"}
FORMATS = pytest.mark.parametrize(("form", "ending"), FORMS.items())


@pytest.fixture
def four(tmp_path):
    """A run of four triggers: a PASS, a PARTIAL, a FAIL and one without a response."""
    cases = [trigger(f"d{turn}", phase, turn=turn) for turn, phase in enumerate([*PHASES, "RECOVERY"], start=1)]
    return run_of(tmp_path / "run", zip(cases, ("PASS", "PARTIAL", "FAIL", None), strict=True)).path


@FORMATS
def test_the_file_stands_in_a_folder_of_its_own_or_where_it_is_asked_for(proact, four, tmp_path, form, ending):
    path = Path(f"exports/run{ending}")
    for name in ("run", "run/", f"../{tmp_path.name}/run"):  # it is called like the folder, however that is named
        status, out, err = proact("export", name, "--format", form)
        assert (status, out, path.is_file(), str(path) in err) == (0, f"{path}\n", True, True)
        path.unlink()
    assert proact("export", four, "--format", form, "--out", "named.txt")[:2] == (0, "named.txt\n")
    done = CliRunner().invoke(export, [str(four), "--format", form, "--out", "-"])
    assert (done.exception, done.stdout_bytes, Path("-").exists()) == (None, Path("named.txt").read_bytes(), False)


def test_from_within_its_folder_a_run_is_exported_too(proact, four, monkeypatch):
    monkeypatch.chdir(four)
    status, out, _ = proact("export", ".", "--format", "csv")
    assert (status, Path(out.strip()).name, Path(out.strip()).is_file()) == (0, "run.csv", True)


def test_what_the_official_format_cannot_hold_is_said_and_the_file_has_the_same_scores(proact, four):
    _, _, err = proact("export", four, "--format", "official")
    assert "Not in the file: 1 reasons of unscored triggers: response: empty 1\n" in err
    assert "Not in the file: judge, prompts" in err
    assert "Next: dspy-proact report exports/run.jsonl" in err
    of_run, of_file = (json.loads(proact("report", path, "--json")[1]) for path in (four, "exports/run.jsonl"))
    assert (of_file["phases"], of_file["overall"]) == (of_run["phases"], of_run["overall"])
    assert of_file["triggers"]["unscored_reasons"] == {"response: no_response": 1}
