"""`dspy-proact optimize assistant`."""

import json

import pytest
from builders.assistants import NAMES, PUSHY, bases, command_at, models, obedient, on_disk
from builders.judges import SMALL
from drivers.terminal import last, unwrapped
from fakes.server import Answer, error

from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.programs.artefact import read_artefact


@pytest.fixture
def optimize(proact, tmp_path):
    """Tune an assistant on a small corpus; the embedded one where none is named."""
    on_disk(tmp_path)

    def call(*more, optimizer="search", out="out"):
        corpus = ["--corpus", "corpus.jsonl"]
        return proact(*last("optimize", "assistant", *corpus, "--optimizer", optimizer, *SMALL, "--out", out, *more))

    return call


def card_of(out="out"):
    return read_artefact(out).card.document()


def row_of(card, name):
    return next(row for row in card["rows"] if row["name"] == name)


# From one end to the other


def test_a_compile_prints_gains_and_regressions_out_of_fold(optimize, proact):
    status, out, err = optimize("--trials", 3, "--guard", "none")
    text, card = unwrapped(out), card_of()
    assert status == 0
    assert "assistant of proactbench on embedded, tuned on corpus.jsonl: search, 3 trials" in text
    assert "embedded stand-in" in text
    lines = {line.split()[0]: unwrapped(line) for line in out.splitlines() if line.strip()}
    # None and all of four scenarios: .025 ** (1 / 4) = .398. Two of 2 ** 4 flips are as far from 0: .125.
    assert lines["RECOVERY*"] == "RECOVERY* 4 0.0 [0.0–60.2] 100.0 [39.8–100.0] +100.0 .125"
    assert any(unwrapped(line).startswith("unwanted offers 4 ") for line in out.splitlines())
    length = row_of(card, "length")
    means = "{:.0f} {:.0f} x {:.2f}".format(*(length[part]["value"] for part in ("before", "after", "difference")))
    assert lines["words"].startswith(f"words 8 {means}")
    assert "No improvement is claimed in RECOVERY (+100.0 points): 4 triggers in 4 scenarios are too few" in text
    explained = unwrapped(proact("optimize", "show", "out/assistant.json", "--explain")[1])
    assert "8 triggers and 4 controls of 4 scenarios, 2 folds" in explained
    assert "answers of the proposer were new instructions" in explained
    assert (
        "The program is in out/assistant.json. Next: dspy-proact eval --model embedded --judge embedded "
        "--corpus corpus.jsonl --program out/assistant.json\n" in err
    )


def test_what_pushiness_bought_and_what_it_costs_is_said(optimize, proact, server):
    server.script = obedient(PUSHY)
    status, out, _ = optimize(*command_at(server), "--trials", 4)
    assert status == 0
    assert "beyond the usual margins: unwanted offers +100.0 points, words x 4.50." in unwrapped(out)
    guards = ["--guard", "offers", "--guard", "length=9"]
    status, out, _ = optimize(*command_at(server), "--trials", 4, *guards, out="kept")
    assert status == 0
    assert "No improvement" in unwrapped(out)
    assert "+100 points" not in unwrapped(out)
    _, out, _ = proact("optimize", "show", "kept/assistant.json", "--explain")
    guarded = "offers 0.05, length 9, completion tokens 0.5"
    assert f"guards, against the start on the training folds: {guarded}." in unwrapped(out)
    assert "100.0 100 100 breaks offers" in unwrapped(out)


def test_without_control_turns_they_cannot_be_guarded_and_no_number_is_given(optimize, tmp_path):
    few = on_disk(tmp_path, triggers={1: Phase.EMERGENT, 2: Phase.RECOVERY}, turns=2)
    status, out, err = optimize(*few, "--guard", "offers")
    assert (status, out) == (2, "")
    assert "--guard offers: the corpus has no case of it; leave it out" in err
    assert "--guard none: lifts the guards that apply by default and has no margin" in optimize("--guard", "none=1")[2]
    assert optimize(*few)[0] == 0
    assert row_of(card_of(), "offers")["before"]["value"] is None


# The judges


def test_one_judge_for_both_is_warned_of_on_stderr_and_on_the_card(optimize, server):
    server.script = models
    same = {"report_judge": NAMES["judge"], "report_judge_api_base": server.judge}
    status, out, err = optimize(*command_at(server, **same))
    assert status == 0
    assert "One model tunes and reports; the card warns of it. Name another one with --report-judge." in err
    assert "warning: one model tunes and reports, so that the gain may only reflect its preferences" in unwrapped(out)
    assert server.of("report") == []


# Money


@pytest.mark.parametrize(
    ("role", "flag"), [("assistant", "--model"), ("judge", "--judge"), ("report", "--report-judge")]
)
def test_a_key_that_is_refused_stops_it_naming_whose_it_is(optimize, server, role, flag):
    server.script = lambda sent: error(401, "bad key") if sent.role == role else models(sent)
    status, out, err = optimize(*command_at(server), "--concurrency", 1)
    assert (status, out) == (2, "")
    assert len(server.of(role)) == 1
    assert f"{flag} openai/" in err


# The card and the prompt


def test_tokens_and_price_of_a_response_stand_first_on_the_card(optimize, proact, server):
    """11 tokens in and 7 out for every call: USD 0.0000250 at 1 and 2 dollars a million."""
    server.script = models
    price = [part for role in ("model", "judge", "report-judge", "proposer") for part in (f"--{role}-price", "1,2")]
    status, out, _ = optimize(*command_at(server), *price)
    assert status == 0
    head = unwrapped(out.partition("out of fold")[0])
    item = "11 tokens in and 7 out (USD 0.0000250)"
    assert f"a response takes {item} before, {item} after, 1.0 times as many tokens." in head
    document = json.loads(proact("optimize", "show", "out/assistant.json", "--json")[1])
    one = {"prompt_tokens": 11, "completion_tokens": 7, "usd": pytest.approx(25e-6)}
    assert document["cost_per_answer"] == {"before": one, "after": one, "times_the_tokens": 1}


def test_unreadable_answers_of_the_reporting_judge_leave_its_numbers_out(optimize, server):
    server.script = lambda sent: Answer("no object") if sent.role == "report" else models(sent)
    status, out, _ = optimize(*command_at(server))
    assert status == 3  # as of an evaluation with turns that were not scored
    assert "12 triggers left out because a verdict on them could not be read." in unwrapped(out)
    assert "No improvement is claimed in RECOVERY: nothing could be graded." in unwrapped(out)
    assert card_of()["target"]["difference"]["value"] is None
    assert set(bases(server)) == {f"{name}_api_base" for name in NAMES}
