"""Several models, several judges, and everything several times, as a person meets it on the command line."""

import json
import os
import signal
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from rows import jsonl, row
from server import Answer, error, healthy, verdict

from dspy_proact.report import summarize
from dspy_proact.runs import RunFolder

ANN, BEN = "hosted_vllm/ann", "hosted_vllm/ben"
KIND, STRICT = "openai/kind", "openai/strict"
QUOTE = "label the boxes today"


def against(server, models=(ANN,), judges=(KIND,), *more, dialogues=1):
    """The command: each model, each judge, and a corpus with three triggers a dialogue."""
    path = Path("corpus.jsonl")
    path.write_text(jsonl(*(row(unique_id_eval=f"d{number}") for number in range(dialogues))), encoding="utf-8")
    named = [("--model", name) for name in models] + [("--judge", name) for name in judges]
    bases = ["--model-api-base", server.assistant, "--judge-api-base", server.judge]
    return ["eval", *chain.from_iterable(named), *bases, "--corpus", path, "--retries", 0, *more]


def two(server, *more, **changes):
    """The command for both models into one parent folder."""
    return against(server, (ANN, BEN), (KIND,), "--out", "both", *more, **changes)


def asked(server, role="assistant"):
    """Requests of each model in a role."""
    return Counter(sent.body["model"] for sent in server.of(role))


def run_of(model, parent="both"):
    """The folder of a model's run; there is one."""
    (path,) = Path(parent).glob(f"{model.replace('/', '_')}--*")
    return path


def scored(path):
    return summarize(RunFolder(path)).count("scored")


def failing(**scripts):
    """A script for the assistants by their names; any other, and the judges, are healthy."""
    return lambda sent: scripts.get(sent.body["model"], healthy)(sent)


def test_several_models_make_a_run_each_below_out_and_a_list_of_reports(proact, server):
    status, out, err = proact(*two(server, "--json"))
    assert status == 0
    assert asked(server) == {"ann": 3, "ben": 3}
    reports = json.loads(out)
    assert [report["run"]["model"] for report in reports] == [ANN, BEN]
    assert [report["run"]["path"] for report in reports] == [str(run_of(ANN)), str(run_of(BEN))]
    assert set(Path("both").iterdir()) == {run_of(ANN), run_of(BEN)}
    for report in reports:
        path = report["run"]["path"]
        assert json.loads(proact("report", path, "--json")[1]) == report
        assert f"The run is in {path}.\n" in err
    assert err.endswith(f"Next: dspy-proact compare {run_of(ANN)} {run_of(BEN)}\n")
    assert err.count("Next:") == 1


def test_without_out_each_run_is_where_it_would_be_alone(proact, server):
    proact(*against(server, (ANN, BEN)))
    assert set(Path("runs").iterdir()) == {run_of(name, "runs") for name in (ANN, BEN)}
    calls = len(server.sent)
    for name in (ANN, BEN):
        status, _, err = proact(*against(server, (name,)))
        assert (status, "no calls were made" in err) == (0, True)
    assert len(server.sent) == calls


def test_one_model_is_no_list_and_its_run_is_out_itself(proact, server):
    _, out, _ = proact(*against(server, (ANN,), (KIND,), "--out", "alone", "--json"))
    assert json.loads(out)["run"]["path"] == "alone"
    assert RunFolder("alone").exists


def test_a_person_reads_one_report_after_another(proact, server):
    _, out, err = proact(*two(server))
    told = [sentence for sentence in " ".join(out.split()).split(". ") if f", judged by {KIND}" in sentence]
    assert [name in sentence for name, sentence in zip((ANN, BEN), told, strict=True)] == [True, True]
    assert [line for line in err.splitlines() if line in (f"{ANN}:", f"{BEN}:")] == [f"{ANN}:", f"{BEN}:"]


def test_the_same_command_again_calls_nobody(proact, server):
    first = proact(*two(server, "--json"))
    calls = len(server.sent)
    status, out, err = proact(*two(server, "--json"))
    assert (status, out, len(server.sent)) == (0, first[1], calls)
    assert err.count("Nothing was left to do: all results were on disk, and no calls were made.") == 1


def test_a_limit_is_shared_by_all_models_and_the_command_goes_on(proact, server):
    # A run takes 3 responses and 3 verdicts: the first model leaves 2 of the 8.
    status, out, err = proact(*two(server, "--max-calls", 8, "--json"))
    assert (status, len(server.sent)) == (4, 8)
    told = {report["run"]["model"]: report for report in json.loads(out)}
    assert (told[ANN]["complete"], told[ANN]["triggers"]["scored"]) == (True, 3)
    assert (told[BEN]["complete"], told[BEN]["triggers"]["pending"] > 0) == (False, True)
    assert "--max-calls 8 is reached" in err
    assert f"The run is in {run_of(ANN)}." in err
    assert (
        f"Results so far are kept in {run_of(BEN)}. Repeat the command to go on. Limits count from zero again." in err
    )
    status, out, _ = proact(*two(server, "--json"))
    assert (status, len(server.sent)) == (0, 12)
    assert [report["triggers"]["scored"] for report in json.loads(out)] == [3, 3]


def test_a_limit_that_the_first_model_uses_up_lets_the_second_make_no_call(proact, server):
    status, _, err = proact(*two(server, "--max-calls", 6))
    assert (status, asked(server)) == (4, {"ann": 3})
    assert "No answer came, and no folder was left." in err
    assert [path.name for path in Path("both").iterdir()] == [run_of(ANN).name]


def test_what_the_first_model_spent_counts_in_tokens_too(proact, server):
    usage = {"prompt_tokens": 100, "completion_tokens": 1000}
    server.script = lambda sent: Answer(healthy(sent).content, usage=usage)
    # A verdict may take 1,000 tokens for its answer and one for each of some 4,000 bytes of its prompt, so that a run
    # of 6 calls fits into 13,000 tokens, and a second one beside the 6,600 of the first does not.
    small = ["--model-param", "max_tokens=1000", "--judge-param", "max_tokens=1000", "--concurrency", 1]
    limited = [*small, "--max-tokens", 13_000]
    assert [proact(*against(server, (name,), (KIND,), *limited))[0] for name in (ANN, BEN)] == [0, 0]
    server.sent.clear()
    status, _, err = proact(*two(server, *limited))
    assert (status, asked(server)["ann"]) == (4, 3)
    assert "--max-tokens 13000 is reached" in err
    assert 6_600 <= 1_100 * len(server.sent) <= 13_000


def test_a_limit_in_the_first_keeps_it_and_does_not_begin_the_second(proact, server):
    status, out, err = proact(*two(server, "--max-calls", 3, "--json"))
    (told,) = json.loads(out)
    assert (status, told["run"]["model"], told["complete"], len(server.sent)) == (4, ANN, False, 3)
    assert f"Results so far are kept in {run_of(ANN)}. Repeat the command to go on." in err
    assert [path.name for path in Path("both").iterdir()] == [run_of(ANN).name]
    assert proact(*two(server))[0] == 0
    assert (asked(server), len(server.sent)) == ({"ann": 3, "ben": 3}, 12)


def test_ctrl_c_in_the_first_keeps_what_is_in_flight_and_does_not_begin_the_second(proact, server):
    def interrupting(sent):
        if len(server.sent) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        answer = healthy(sent)
        answer.delay = 0.1
        return answer

    server.script = interrupting
    status, out, err = proact(*two(server, "--concurrency", 2, "--json", dialogues=4))
    (told,) = json.loads(out)
    assert (status, told["complete"], "ben" in asked(server)) == (130, False, False)
    assert "Stopping: what is in flight is awaited and kept" in err
    assert f"Results so far are kept in {run_of(ANN)}. Repeat the command to go on." in err
    assert len(list(RunFolder(run_of(ANN)).events())) == len(server.sent) < 24
    server.script = healthy
    status, out, _ = proact(*two(server, "--json", dialogues=4))
    assert (status, len(server.sent)) == (0, 48)  # 2 models x 12 triggers x 2 roles, each once
    assert [report["complete"] for report in json.loads(out)] == [True, True]


FAULTS = {
    "no such provider": (("nonsense/ben",), [], "'nonsense/ben'"),
    "no price": ((BEN,), ["--max-usd", 1, "--judge-price", "1,1"], "--max-usd needs a price for --model"),
    "named twice": ((BEN, ANN), [], "--model: each model is named once; --epochs N has it answer every case N times"),
}


@pytest.mark.parametrize(("others", "more", "said"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_a_later_model_is_found_before_any_is_called(proact, server, others, more, said):
    status, out, err = proact(*against(server, (ANN, *others), (KIND,), *more, "--out", "both"))
    assert (status, out, server.sent) == (2, "", [])
    assert said in err
    assert err.count("Error:") == 1
    assert not Path("both").exists()


def test_a_later_models_missing_key_is_found_before_any_is_called(proact, server, monkeypatch):
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", server.assistant)
    models = ["--model", ANN, "--model", "openai/gpt-4o", "--judge", KIND, "--judge-api-base", server.judge]
    against(server)  # for the corpus
    status, _, err = proact("eval", *models, "--corpus", "corpus.jsonl")
    assert (status, server.sent) == (2, [])
    assert "--model openai/gpt-4o: no key. Set OPENAI_API_KEY" in err
    assert not Path("runs").exists()


def test_a_key_that_is_refused_for_the_second_model_leaves_the_first_ones_result(proact, server):
    server.script = failing(ben=lambda sent: error(401, "bad key"))
    status, out, err = proact(*two(server, "--json"))
    assert status == 2
    assert [report["run"]["model"] for report in json.loads(out)] == [ANN]
    assert f"--model {BEN}: the key was refused" in err
    assert "No answer came, and no folder was left." in err
    server.script = healthy
    server.sent.clear()
    assert proact(*two(server))[0] == 0
    assert "ann" not in asked(server)


@pytest.mark.parametrize("empty", ["ann", "ben"])
def test_unscored_triggers_of_any_model_end_with_status_three_and_the_others_are_run(proact, server, empty):
    server.script = failing(**{empty: lambda sent: Answer("")})
    status, out, _ = proact(*two(server, "--json"))
    assert status == 3
    unscored = {report["run"]["model"]: report["triggers"]["unscored"] for report in json.loads(out)}
    assert unscored == {ANN: 0, BEN: 0} | {f"hosted_vllm/{empty}": 3}


def test_a_model_that_is_down_ends_the_command_and_the_next_is_not_begun(proact, server):
    server.script = failing(ann=lambda sent: error(503))
    status, _, err = proact(*two(server, "--concurrency", 1, dialogues=4))
    assert (status, asked(server)) == (5, {"ann": 10})
    assert f"--model {ANN}: down. 10 calls in a row failed after all retries" in err
    server.script = healthy
    assert proact(*two(server, dialogues=4))[0] == 0
    assert [scored(run_of(name)) for name in (ANN, BEN)] == [12, 12]


def test_each_model_has_a_run_that_can_be_widened(proact, server):
    proact(*two(server, "--limit", 1))
    assert len(server.sent) == 4
    proact(*two(server, "--limit", 2, "--votes", 2))
    # Of each model: another response, its two verdicts, and the second verdict on the first.
    assert len(server.sent) == 4 + 2 * 4
    _, out, _ = proact(*two(server, "--limit", 2, "--votes", 2, "--json"))
    assert [report["triggers"]["scored"] for report in json.loads(out)] == [2, 2]


def test_a_dry_run_of_several_models_says_what_each_takes_and_what_the_limit_stops(proact, server):
    status, out, err = proact(*two(server, "--dry-run", "--max-calls", 11))
    assert (status, err, server.sent, Path("both").exists()) == (0, "", [], False)
    lines = out.splitlines()
    assert lines.index(f"{ANN}:") < lines.index(f"{BEN}:")
    assert out.count("6 calls, without repairs and retries.") == 2
    # 12 calls of both together: neither alone would exceed 11.
    assert lines[-2] == "--max-calls 11 may stop it before the end: it could take 12"
    assert "may stop" not in proact(*two(server, "--dry-run", "--max-calls", 12))[1]


def test_a_dry_run_in_json_is_a_list_for_several_models_and_an_object_for_one(proact, server):
    _, out, _ = proact(*two(server, "--dry-run", "--json"))
    assert [(plan["calls"], plan["assistant"]["calls"], plan["judge"]["calls"]) for plan in json.loads(out)] == [
        (6, 3, 3)
    ] * 2
    proact(*against(server, (BEN,)))
    _, out, _ = proact(*against(server, (ANN, BEN), (KIND,), "--dry-run", "--json"))
    assert [plan["calls"] for plan in json.loads(out)] == [6, 0]  # the second is done
    _, out, _ = proact(*against(server, (ANN,), (KIND,), "--dry-run", "--json"))
    assert json.loads(out)["calls"] == 6


def test_a_jury_over_epochs_and_judge_epochs_is_reported_on_80_columns(proact, server):
    times = ["--epochs", 2, "--votes", 3, "--out", "jury"]
    status, out, _ = proact(*against(server, (ANN,), (KIND, STRICT), *times, dialogues=2))
    assert status == 0
    # 6 triggers x 2 responses, on each 2 judges x 3 verdicts
    assert (asked(server), asked(server, "judge")) == ({"ann": 12}, {"kind": 36, "strict": 36})
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    words = " ".join(out.split())
    assert f" of 12 answers to 6 triggers of the corpus corpus.jsonl, judged by {KIND} + {STRICT}. " in words
    assert "6 triggers x 2 epochs in 1 scenario" in words
    assert "12 responses with several verdicts: 12 unanimous." in words
    assert f"judge {KIND}: 36 verdicts, weighted" in words
    assert f"{KIND} and {STRICT} on 12 responses: same grade 100.0 %" in words
    explained = proact("report", "jury", "--explain")[1]
    assert "variance of the score between triggers" in " ".join(explained.split())


def test_a_jury_in_json_has_its_judges_their_agreement_and_the_repeats(proact, server):
    grades = {"kind": "PASS", "strict": "PARTIAL"}
    server.script_roles(judge=lambda sent: Answer(verdict(grades[sent.body["model"]], [QUOTE])))
    times = ["--epochs", 2, "--votes", 3, "--json"]
    status, out, _ = proact(*against(server, (ANN,), (KIND, STRICT), *times))
    found = json.loads(out)
    assert status == 0
    assert [found["run"][name] for name in ("triggers", "epochs", "judge_epochs")] == [3, 2, 3]
    assert found["run"]["judges"] == [KIND, STRICT]
    assert found["triggers"]["scored"] == found["triggers"]["total"] == 6
    # Three PASS and three PARTIAL tie; (1 + 0.5) / 2.
    for phase in found["phases"].values():
        assert (phase["pass"], phase["partial"], phase["weighted"]["value"]) == (0, 2, 0.75)
    several = found["several_verdicts"]
    assert (several["responses"], several["unanimous"]) == (6, 0)
    assert {name: judge["verdicts"] for name, judge in several["judges"].items()} == {KIND: 18, STRICT: 18}
    assert [judge["weighted"]["value"] for judge in several["judges"].values()] == [1.0, 0.5]
    (agreement,) = several["agreement"]
    assert (agreement["exact"]["value"], agreement["score_difference"]["value"]) == (0.0, -0.5)
    assert agreement["table"]["PASS"]["PARTIAL"] == 6
    # On each of 6 responses six verdicts a quarter from their mean: 6 x 6 x 1/16 over 36 - 6.
    assert found["repeats"]["judge_variance"]["value"] == pytest.approx(2.25 / 30)
    assert found["repeats"]["response_variance"] == {"value": 0.0}
    assert found["repeats"]["trigger_variance"] == {"value": 0.0}


def test_a_jurys_folder_names_all_its_judges(proact, server):
    proact(*against(server, (ANN,), (KIND, STRICT)))
    (path,) = Path("runs").iterdir()
    assert path.name.startswith("hosted_vllm_ann--openai_kind+openai_strict--")


def test_a_judge_named_twice_is_refused_with_the_flag_that_was_meant(proact, server):
    status, out, err = proact(*against(server, (ANN,), (KIND, STRICT, KIND)))
    assert (status, out, server.sent) == (2, "", [])
    assert "name each judge once; --votes N has each of them grade a response N times" in err


def test_a_jury_in_the_folder_of_another_is_refused_by_what_differs(proact, server):
    proact(*against(server, (ANN,), (KIND, STRICT), "--out", "jury"))
    calls = len(server.sent)
    status, _, err = proact(*against(server, (ANN,), (KIND,), "--out", "jury"))
    assert (status, len(server.sent)) == (2, calls)
    assert "jury: holds another run, which differs in judges.2." in err


def test_a_jury_of_which_one_fails_is_scored_and_one_of_which_all_fail_is_not(proact, server):
    server.script_roles(judge=lambda sent: error(500) if sent.body["model"] == "strict" else healthy(sent))
    status, out, _ = proact(*against(server, (ANN,), (KIND, STRICT), "--out", "one", "--json"))
    assert (status, json.loads(out)["triggers"]["scored"]) == (0, 3)
    server.script_roles(judge=lambda sent: error(500))
    status, out, _ = proact(*against(server, (ANN,), (KIND, STRICT), "--out", "none", "--json"))
    assert (status, json.loads(out)["triggers"]["unscored_reasons"]) == (3, {"verdict: server": 3})


def test_a_jury_of_several_models_counts_every_call_against_one_limit(proact, server):
    # A model takes 3 responses and 3 x 2 x 2 verdicts: 15 calls.
    command = against(server, (ANN, BEN), (KIND, STRICT), "--votes", 2, "--out", "both")
    status, _, _ = proact(*command, "--max-calls", 20)
    assert (status, len(server.sent)) == (4, 20)
    status, out, _ = proact(*command, "--json")
    assert (status, len(server.sent)) == (0, 30)
    assert [report["several_verdicts"]["responses"] for report in json.loads(out)] == [3, 3]
