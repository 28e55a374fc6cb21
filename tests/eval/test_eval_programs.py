"""The programs in eval/ run, in their quick form or on the embedded model; those of speed and size at night."""

import json
import re

import pytest
from builders.dialogues import jsonl, row
from drivers import child
from drivers.script import ROOT, ended, loaded, run
from drivers.terminal import table_rows

PROGRAMS = ROOT / "eval"
PHASES = ["EMERGENT", "CRITICAL", "RECOVERY"]
NUMBER = re.compile(r"-?\d\.\d+")


def printed(name, *arguments, folder):
    """What a program prints that ends well."""
    done = run(PROGRAMS / name, *arguments, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tables(text):
    """The cells of each table's rows, without heading and rule."""
    blocks = text.strip().split("\n\n")
    assert all(len({line.count("|") for line in block.splitlines()}) == 1 for block in blocks)
    return [table_rows(block)[2:] for block in blocks]


SOAKS = [f"{name}_soak.py" for name in ("kill", "compile", "generation", "publication", "fault", "hostile", "label")]


@pytest.mark.parametrize("name", SOAKS)
def test_a_soak_finds_nothing(tmp_path, name):
    with loaded(PROGRAMS / name) as program:
        if hasattr(program, "subprocess"):
            program.subprocess = child.Processes()
        options = ["--of", "notes"] if name == "generation_soak.py" else []
        done = ended(program.main, PROGRAMS / name, "--quick", *options, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_reader_misreads_what_a_small_model_answered(tmp_path):
    # The program ends otherwise where an answer is read as what a person does not read in it.
    (rows,) = tables(printed("small_model.py", folder=tmp_path).partition("\n\n")[0])
    assert {row[0]: row[2:] for row in rows if "schema" in row[0]} == {
        "grade, with a schema": ["13", "13", "0"],
        "quotes, with a schema": ["10", "10", "0"],
        "proposal, with a schema": ["2", "2", "0"],
        "moment, with a schema": ["4", "4", "0"],
        "solution, with a schema": ["0", "0", "0"],
    }


def test_proactbench_scores_a_corpus(tmp_path):
    (tmp_path / "corpus.jsonl").write_text(jsonl(row()), encoding="utf-8")
    arguments = ["embedded", "--judge", "embedded", "--corpus", "corpus.jsonl", "--out", "run"]
    assert "3/3" in printed("proactbench.py", *arguments, folder=tmp_path)
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["embedded"] is True


def test_probe_is_run_as_it_was_published(probe, tmp_path):
    arguments = ["embedded", "--judge", "embedded", "--corpus", "sample", "--out", "run"]
    assert "GPT-5" in printed("probe.py", *arguments, folder=tmp_path)
    settings = json.loads((tmp_path / "run" / "manifest.json").read_text())["identity"]["settings"]
    published = {"agent": "single", "sanitize": False, "upstream_rule": True, "oracle": "none", "baseline": "none"}
    assert settings | published == settings


def test_proactivebench_is_run_as_it_was_published_and_beside_its_controls(proactivebench, tmp_path):
    text = printed("proactivebench.py", "embedded", "--corpus", "sample", "--out", "runs", folder=tmp_path)
    (rows,) = tables(text.partition("\n\n")[0])
    scores = {row[0]: [float(cell) for cell in row[-4:]] for row in rows}
    assert [round(row[0], 3) for row in scores.values()] == [0.714, 0.964, 0.214, 1.0]
    assert "asks where moves help, minus asks where they do not: 0.429" in text
    manifest = json.loads((tmp_path / "runs" / "as-it-is" / "manifest.json").read_text())
    published = {"upstream_rule": True, "filter": True, "history": False, "hint": False, "program": "choose"}
    assert manifest["identity"]["settings"] | published == manifest["identity"]["settings"]


def test_published_judges_follow_from_their_categories_and_a_look_up_beats_them(proactiveagent, data, tmp_path):
    judges, counts = tables(printed("proactiveagent.py", data / "proactiveagent", folder=tmp_path))
    rows = {row[0]: row[1:] for row in judges}
    assert rows["the authors' reward model"][4:8] == ["0.917", "0.903", "0.933", "0.918"]
    assert rows["always accepts"][4:] == ["0.500", "0.500", "1.000", "0.667", "0.000"]
    assert rows["looks up the training part, without text"][4:] == ["0.925", "0.870", "1.000", "0.930", "0.850"]
    result = dict(counts)
    assert result["test rows whose context stands in the training part"] == "120 of 120"
    assert result["Fleiss' kappa of 1,299 proposals with three votes"] == "0.156"
    assert result["turns of the agents' test among the judge's contexts"] == "233 of 233"
    assert result["proposals that the published counts of claude-3-sonnet-20240229 have too many"] == "67 of 134"


def test_the_leaderboard_has_both_ranks_and_scores_of_every_published_model(proactbench, tmp_path):
    (rows,) = tables(printed("leaderboard.py", folder=tmp_path))
    assert len(rows) == 16
    # (250 + 94 / 2) / 521 and / 624; 21, 47 and 35 triggers were dropped
    assert rows[8] == ["9", "3–11", "5", "qwen/qwen3.5-9b", "521/624", "0.4760", "0.5701", "21, 47, 35"]


N = r"[\d.,]+"
M = rf"{N} ms a [a-z]+, at most {N} MiB\n"
MEASURED = {
    "probe_scale": rf"8 tasks of 2 people read: {M}planned \({N} tokens a task, at most USD {N}\): {M}"
    rf"answered 1 to 2: {M}answered 3 to 4: {M}answered 5 to 6: {M}answered 7 to 8: {M}.*8 of 8 graded\n$",
    "proagentbench_scale": rf"200 events of 2 people read, (\d+) moments: {M}planned.*: {M}(answered .*: {M}){{4}}"
    r".*\1 of \1 graded\n$",
    "proactivebench_scale": rf"28 samples read: {M}planned.*: {M}answered 1 to 7: {M}answered 8 to 14: {M}"
    rf"answered 15 to 21: {M}answered 22 to 28: {M}.*28 of 28 graded\n{N} images decoded when played\n"
    r".*28 of 28 graded\n0 images decoded when resumed\n$",
    # The sample has 49 triggers and 15 control turns: 41 copies of 49 are the first with 2,000, 16 of 64 with 1,000.
    "scale": rf"one: 2,009 cases, .*; epochs: 1,024 cases in two epochs, .*\| report one \| {N} \| {N} \| {N} \|\n.*"
    rf"\| compare one other \| {N} \| {N} \| {N} \|\n.*export of 147 cases .*\| every-eval-ever \| {N} \| .*\n$",
    "answer_tables": rf"\| csv \| 3,000 \| 3.0 \| .*\| jsonl \| 3,000 \| {N} \| .*\| parquet \| 3,000 \| .*\|\n$",
    "compile_speed": r"\| assistant search \| \d{3}.*\| yes \|",
    "generation_speed": rf"2 dialogues, {N} calls, 8 in flight, 0.02 s latency; longest chain \d\d, \d\d by.*"
    rf"calls of the forecast beside those counted \| {N}, [+-]\d+% \|.*reading 200 dialogues \| {N} s \| 1 s \|\n$",
    "call_cost": rf"^98 calls a round, 2 rounds: {N} ms a call in a run, {N} in httpx; median ratio {N}\n$",
    "pacing": rf"49 of 49 scored, 98 calls, 0 timed out, {N} of the.*\| with 128 \| {N} \| {N} \| {N}% \| {N}% \|\n$",
    "batches": rf"(.*\n)+answered and graded: {M}120 of 120 graded; 6 batches of at most 50 requests; 240 requests, "
    r"every request once\n.*\n$",
    "throughput": rf"\| 8 \| 20 \| 0.02 \| {N} \|.*20 triggers, 8 in flight, whole commands: eval {N} s, "
    rf"dspy.Evaluate {N} s, median ratio {N}; eval takes at most {N} MiB\n",
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", MEASURED)
def test_a_program_of_speed_or_size_tells_what_it_measured(request, tmp_path, name):
    request.getfixturevalue(name.removesuffix("_scale") if name.endswith("_scale") else "proactbench")
    assert re.search(MEASURED[name], printed(f"{name}.py", "--quick", folder=tmp_path), re.DOTALL)


def test_footprint_tells_the_memory_of_a_whole_run(tmp_path):
    text = printed("footprint.py", "--triggers", "60", folder=tmp_path)
    triggers, verdicts = map(int, re.findall(r"(\d+) triggers, (\d+) verdicts: at most [\d,]+ MiB\n", text)[0])
    assert 60 <= triggers == verdicts < 70


def test_the_human_study_meets_the_published_values_and_nearly_their_intervals(proactbench, tmp_path):
    reproduced, *ours = tables(printed("human_study.py", folder=tmp_path))
    assert [row[:3] for row in reproduced] == [
        [phase, *counts] for phase, counts in zip(PHASES, (["20", "83"], ["19", "83"], ["20", "109"]), strict=True)
    ]
    for cells in reproduced:
        for published, here in (cells[3:5], cells[5:7]):
            (value, *ends), (result, *bounds) = NUMBER.findall(published), NUMBER.findall(here)
            assert value == result
            assert [float(end) for end in bounds] == pytest.approx([float(end) for end in ends], abs=0.02)
    for table in ours:
        assert [row[0] for row in table] == [*PHASES, "pooled"]
        assert all(len(NUMBER.findall(cell)) == 3 for row in table for cell in row[-4:])
    assert [row[1] for row in ours[1]] == ["17", "14", "19", "50"]


VERSIONS = ("first", "second", "third")


def test_the_judges_words_agree_with_raters_as_the_first_did_and_each_rule_rests_on_ratings(proactbench, tmp_path):
    graded, rules = tables(printed("judge_agreement.py", folder=tmp_path))
    kappas = {version: [float(row[5].split()[0]) for row in graded if row[0] == version] for version in VERSIONS}
    assert all(len(kappa) == 2 for kappa in kappas.values())
    assert sum(kappas["third"]) >= sum(kappas["first"])
    for rule, responses, *counts in rules:
        values = dict(zip(("PASS", "PARTIAL", "FAIL"), map(int, counts), strict=True))
        assert sum(values.values()) == 3 * int(responses)
        assert max(values, key=lambda grade: values[grade]) == rule.partition(":")[0]


def test_both_versions_of_the_judges_words_are_counted_on_the_whole_sample(proactbench, tmp_path):
    words, cases = tables(printed("judge_words.py", folder=tmp_path))
    counts = {(who, version): [int(cell.replace(",", "")) for cell in cells] for who, version, *cells in words}
    whos = [*(f"judge, {phase}" for phase in PHASES), "detector of offers"]
    assert [*counts] == [(who, version) for who in whos for version in ("first", "now")]
    assert sum(counts[who, "now"][0] for who in whos[:3]) == 147
    for who in whos:
        (n, first, _, texts, _), (m, second, ours, same, _) = counts[who, "first"], counts[who, "now"]
        assert (n, texts) == (m, same)
        assert texts < second < first
        assert ours <= 600
    from dspy_proact.benchmarks.proactbench.corpus.bundled import judge_cases

    assert cases == [[case.rule, case.name, case.label, case.why] for case in judge_cases()]
