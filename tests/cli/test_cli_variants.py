"""Models times prompts: every combination is a run, under one limit, and the table of them."""

import json
import signal
from collections import Counter
from pathlib import Path
from queue import Queue

from builders.assistants import artefact as assistant_artefact
from builders.dialogues import jsonl, row
from builders.judges import artefact as judge_artefact
from drivers.child import Child, command_line
from fakes.server import Answer, healthy, verdict

from dspy_proact.programs.artefact import write_artefact
from dspy_proact.report import summarize
from dspy_proact.runs import RunFolder

ANN, BEN, KIND = "hosted_vllm/ann", "hosted_vllm/ben", "openai/kind"
SHORT, LONG = "Take up what they mentioned.", "Take up what they mentioned, once, at the end."


def matrix(server, *more, models=(ANN, BEN), out="all", dialogues=1):
    """The command for 2 models x (bare, short, long) on three triggers a dialogue."""
    Path("corpus.jsonl").write_text(jsonl(*(row(unique_id_eval=f"d{n}") for n in range(dialogues))), encoding="utf-8")
    for name, text in (("short", SHORT), ("long", LONG)):
        Path(f"{name}.txt").write_text(text, encoding="utf-8")
    named = [word for name in models for word in ("--model", name)]
    bases = ["--model-api-base", server.assistant, "--judge", KIND, "--judge-api-base", server.judge]
    ways = ["--bare", "--system-prompt", "@short.txt", "--system-prompt", "@long.txt"]
    return ["eval", *named, *ways, *bases, "--corpus", "corpus.jsonl", "--retries", 0, "--out", out, *more]


def variant_of(sent):
    """The model of a request to an assistant, and its system prompt."""
    first = sent.messages[0]
    return sent.body["model"], first["content"] if first["role"] == "system" else None


EVERY = [(model, prompt) for model in ("ann", "ben") for prompt in (None, SHORT, LONG)]


def test_every_model_is_run_with_every_prompt_and_without_one(proact, server):
    status, out, _ = proact(*matrix(server, "--json"))
    assert (status, Counter(map(variant_of, server.of("assistant")))) == (0, dict.fromkeys(EVERY, 3))
    paths = [report["run"]["path"] for report in json.loads(out)]
    manifests = [RunFolder(path).manifest() for path in paths]
    assert [(m.identity.assistant.model.removeprefix("hosted_vllm/"), m.system_prompt) for m in manifests] == EVERY
    assert {str(path) for path in Path("all").iterdir()} == set(paths)
    assert [report["run"].get("variant") for report in json.loads(out)] == [None, "short", "long"] * 2
    again = proact(*matrix(server, "--json"))
    assert (again[0], again[1], len(server.sent)) == (0, out, 36)


def finished(paths):
    """Cases of each run that have a grade."""
    return [summarize(RunFolder(path)).count("scored") for path in paths]


def test_a_limit_is_one_for_all_variants_and_the_command_goes_on_where_it_stopped(proact, server):
    # 6 runs of 3 triggers, a response and a verdict each: 14 calls are two runs and one trigger of the third.
    status, out, err = proact(*matrix(server, "--max-calls", 14, "--json"))
    assert (status, len(server.sent), "--max-calls 14 is reached" in err) == (4, 14, True)
    assert [report["complete"] for report in json.loads(out)] == [True, True, False]
    assert [proact(*matrix(server, "--max-calls", calls))[0] for calls in (14, 8)] == [4, 0]
    assert len(server.sent) == 36  # none is made twice
    assert finished(Path("all").iterdir()) == [3] * 6


def test_a_killed_matrix_goes_on_and_pays_again_only_for_the_call_in_flight(proact, server):
    begun: Queue[Child] = Queue()

    def killing(sent):
        if len(server.sent) == 20:
            begun.get().kill()
        return healthy(sent)

    server.script = killing
    command = matrix(server, "--concurrency", 1)
    child = Child(command_line, *command)
    begun.put(child)
    assert child.ended().returncode == -signal.SIGKILL
    server.script = healthy
    assert proact(*command)[0] == 0
    assert len(server.sent) in (36, 37)
    assert finished(Path("all").iterdir()) == [3] * 6


def test_a_dry_run_forecasts_every_variant_by_its_name_and_all_together(proact, server):
    status, out, _ = proact(*matrix(server, "--dry-run", "--max-calls", 35, "--model-price", "1,2"))
    lines = out.splitlines()
    assert (status, server.sent) == (0, [])
    heads = [line.removesuffix(":") for line in lines if line.startswith("hosted_vllm/")]
    assert heads == [f"{name}{way}" for name in (ANN, BEN) for way in ("", " (short)", " (long)")]
    assert "All 6 runs: 36 calls" in out
    assert lines[-2] == "--max-calls 35 may stop it after 97%: it could take 36"
    assert [plan["name"] for plan in json.loads(proact(*matrix(server, "--dry-run", "--json"))[1])] == heads


def test_a_file_of_options_holds_the_whole_matrix(proact, server):
    Path("there").mkdir()
    for name, text in (("short", SHORT), ("long", LONG)):
        Path("there", f"{name}.txt").write_text(text, encoding="utf-8")
    Path("corpus.jsonl").write_text(jsonl(row(unique_id_eval="d")), encoding="utf-8")
    Path("there", "matrix.toml").write_text(
        f"""
        model = ["{ANN}", "{BEN}"]
        model-api-base = "{server.assistant}"
        system-prompt = ["@short.txt", "@long.txt"]
        bare = true
        judge = "{KIND}"
        judge-api-base = "{server.judge}"
        """,
        encoding="utf-8",
    )
    status, _, err = proact("eval", "--config", "there/matrix.toml", "--corpus", "corpus.jsonl")
    assert (status, Counter(map(variant_of, server.of("assistant")))) == (0, dict.fromkeys(EVERY, 3)), err


def passing_only(variant):
    """A script in which one variant's responses pass, and all others fail."""

    def script(sent):
        if sent.role == "judge":
            return Answer(verdict("PASS" if "I passed" in sent.text else "FAIL", "label the boxes"))
        return Answer("I passed: label the boxes" if variant_of(sent) == variant else "label the boxes")

    return script


def test_a_score_under_the_one_wanted_in_any_variant_is_the_exit_status(proact, server):
    server.script = passing_only(("ben", LONG))
    status, _, err = proact(*matrix(server, "--fail-under", 50))
    assert (status, err.count("the strict score 0.0 is under --fail-under 50")) == (6, 5)
    assert proact(*matrix(server, "--fail-under", 0))[0] == 0


def test_one_table_of_all_stands_at_the_end_models_by_prompts_first(proact, done, server):
    server.script = passing_only(("ann", SHORT))
    out, err = done(*matrix(server))
    lines = [line.split() for line in out.splitlines()]
    assert ["score", "bare", "short", "long"] in lines
    assert ["ann", "A", "0.0", "B", "100.0", "C", "0.0"] in lines
    assert ["ben", "D", "0.0", "E", "0.0", "F", "0.0"] in lines
    text = " ".join(out.split())
    # One scenario: whatever the scores, no test can show anything.
    assert "Of 5 runs compared with A, hosted_vllm/ann: none is shown to score higher or lower (Holm)." in text
    best = "B, hosted_vllm/ann (short), has the highest strict score, 100.0. No other run is shown to score lower"
    assert f"{best} than B (p adjusted over all 15 pairs)." in text
    assert max(map(len, out.splitlines())) <= 80
    paths = [path for line in err.splitlines() if (path := line.removeprefix("The run is in ")[:-1]) != line[:-1]]
    assert proact("compare", *paths)[1].splitlines()[:30] == out.splitlines()[:30]
    document = json.loads(proact("compare", *paths, "--json")[1])
    letters = {ANN: ["A", "B", "C"], BEN: ["D", "E", "F"]}
    assert document["matrix"] == {"variants": ["bare", "short", "long"], "models": letters}


def test_a_prompt_that_changed_under_its_name_is_another_run_and_both_are_named_by_their_hashes(proact, server):
    only = {"models": (ANN,), "out": "one"}
    assert proact(*matrix(server, **only))[0] == 0
    before = set(Path("one").iterdir())
    command = matrix(server, **only)
    Path("short.txt").write_text("Be brief.", encoding="utf-8")
    status, _, err = proact(*command)
    assert (status, len(server.of("assistant"))) == (0, 9 + 3), err
    (new,) = set(Path("one").iterdir()) - before
    (old,) = [path for path in before if RunFolder(path).manifest().system_prompt == SHORT]
    names = [RunFolder(path).manifest().identity.assistant.name[-9:-1] for path in (old, new)]
    text = " ".join(proact("compare", old, new, new)[1].split())
    assert [f"{ANN} (short, prompt {name})" in text for name in names] == [True, True]


def test_a_compiled_judge_speaks_of_its_card_once_and_each_program_by_its_name(done, server):
    write_artefact(Path("judge.json"), judge_artefact())
    for name in ("tuned", "retuned"):
        write_artefact(Path(f"{name}.json"), assistant_artefact(demos=int(name == "tuned")))
    programs = ["--program", "tuned.json", "--program", "retuned.json", "--judge-program", "judge.json"]
    err = done(*matrix(server, *programs, models=(ANN,)))[1]
    assert err.count("--judge-program: was compiled for") == 1
    assert [err.count(f"--program ({name}): was compiled for") for name in ("tuned", "retuned")] == [1, 1]
    labels = [RunFolder(path).manifest().variant for path in Path("all").iterdir()]
    assert sorted(filter(None, labels)) == ["long", "retuned", "short", "tuned"]


def test_a_name_of_a_prompt_goes_with_the_run_into_its_list_and_another_grading(proact, server):
    proact(*matrix(server, models=(ANN,)))
    (path,) = [path for path in Path("all").iterdir() if RunFolder(path).manifest().variant == "short"]
    assert f"{ANN} (short)" in proact("runs", "all")[1]
    proact("rejudge", path, "--judge", "hosted_vllm/second", "--judge-api-base", server.judge, "--out", "child")
    assert f"{ANN} (short) scored" in " ".join(proact("report", "child")[1].split())
    assert RunFolder(path).manifest().identity.digest() == RunFolder("child").manifest().identity.parent
