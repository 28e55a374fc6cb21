"""`--controls` and `--system-prompt`: unwanted offers and told assistants, as a person meets them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rows import jsonl, record, row, trigger_point
from server import Answer, healthy, is_about_offers, offers, verdict
from typed import last

from dspy_proact.benchmarks.proactbench.corpus import CONTROL_RULE
from dspy_proact.benchmarks.proactbench.programs import Assistant, OfferDetector
from dspy_proact.report import summarize
from dspy_proact.runs import RunFolder

OFFER = "label the boxes today"


def corpus(*each):
    """Three dialogues, of a scenario each, with a trigger at turn 2 of 4: turn 4 alone is a control turn."""
    turns = [record(turn) for turn in range(1, 5)]
    rows = each or [
        row(
            unique_id_eval=f"d{number}",
            scenario_id=f"TRAVEL_{number:02d}",
            turn_records=turns,
            trigger_points=[trigger_point(2)],
        )
        for number in range(3)
    ]
    Path("corpus.jsonl").write_text(jsonl(*rows), encoding="utf-8")
    return "corpus.jsonl"


def against(server, *more, out="run"):
    bases = ["--model-api-base", server.assistant, "--judge-api-base", server.judge]
    named = ["--model", "hosted_vllm/any", "--judge", "openai/any", "--corpus", corpus(), "--out", out]
    return last("eval", *named, *bases, "--retries", 0, *more)


def passing(sent):
    """A judge that passes every trigger and finds an unwanted offer at every control turn."""
    return Answer(offers(OFFER) if is_about_offers(sent) else verdict("PASS", [OFFER]))


def said(text):
    return " ".join(text.split())


def calls(server):
    return len(server.of("assistant")), len(server.of("judge"))


# --controls


def test_a_person_reads_the_rate_with_denominator_interval_rule_and_the_authors_reference(proact, server):
    server.script_roles(judge=passing)
    assert proact(*against(server, "--controls", "--out", "run"))[0] == 0
    text = said(proact("report", "run", "--explain")[1])
    # All three of three: 1 - 0.025 ** (1 / 3) = .7076 below it.
    assert "unwanted offers: 100.0 [29.2–100.0] % of 3/3 control turns (all grades equal; too few scenarios" in text
    assert "every quote of 3 of 3 verdicts with an offer stands. In no score above." in text
    assert f"{CONTROL_RULE}." in text
    assert "author reference: the sample's raters agree on unwanted offers with nominal alpha 0.65" in text
    assert "3 triggers in 3 scenarios" in text


def test_the_report_has_them_as_json(proact, server):
    server.script_roles(judge=passing)
    _, out, _ = proact(*against(server, "--controls", "--json"))
    assert json.loads(out)["controls"] == {
        "total": 3,
        "scored": 3,
        "unscored": 0,
        "pending": 0,
        "unscored_reasons": {},
        "unwanted_offers": {
            "value": 1.0,
            "low": pytest.approx(0.2924, abs=1e-4),
            "high": 1.0,
            "reason": "all grades equal; too few scenarios: very wide",
        },
        "offers": {"unwanted": 3, "grounded": 0},
        "evidence": {"checked": 3, "verified": 3},
        "rule": CONTROL_RULE,
    }
    assert json.loads(proact("report", "run", "--json")[1]) == json.loads(out)


def test_a_run_is_widened_by_them_and_the_same_command_again_makes_no_call(proact, server):
    proact(*against(server))
    assert calls(server) == (3, 3)
    status, _, _ = proact(*against(server, "--controls"))
    assert (status, calls(server)) == (0, (6, 6))
    status, _, err = proact(*against(server, "--controls"))
    assert (status, calls(server), "no calls were made" in err) == (0, (6, 6), True)
    assert RunFolder("run").manifest().controls == OfferDetector().fingerprint()


def test_without_it_nothing_is_said_on_the_terminal_and_the_document_says_how_to_ask(proact, server):
    _, out, _ = proact(*against(server))
    assert "unwanted" not in out
    found = json.loads(proact("report", "run", "--json")[1])
    assert (found["controls"], found["controls_reason"]) == (
        None,
        "control turns were not asked for; --controls asks at them",
    )


def test_a_corpus_without_any_is_said_to_have_none(proact):
    path = corpus(row())
    status, out, _ = proact("eval", "--corpus", path, "--controls", "--out", "run")
    assert status == 0
    assert "unwanted offers: the corpus has no control turns." in said(out)
    assert json.loads(proact("report", "run", "--json")[1])["controls"] is None


def test_a_limit_and_a_phase_leave_them_as_said(proact, server):
    proact(*against(server, "--controls", "--limit", 1))
    assert calls(server) == (2, 2)
    proact(*against(server, "--controls", "--phase", "critical"))
    assert calls(server) == (4, 4)  # no trigger is CRITICAL; two control turns were left


def test_unscored_control_turns_end_with_status_three(proact, server):
    server.script_roles(judge=lambda sent: Answer("prose") if is_about_offers(sent) else healthy(sent))
    status, out, _ = proact(*against(server, "--controls"))
    assert status == 3
    assert "% of 0/3 control turns" in said(out)


def test_other_words_are_another_folder(proact, server, monkeypatch):
    proact(*against(server, "--controls"))
    monkeypatch.setattr(OfferDetector, "fingerprint", lambda self: "other words")
    status, _, err = proact(*against(server, "--controls"))
    assert (status, calls(server)) == (2, (6, 6))
    assert "leave --controls out, or name another folder with --out" in said(err)


def test_a_dry_run_counts_them_and_makes_no_call(proact):
    arguments = ["eval", "--corpus", corpus(), "--out", "run", "--dry-run", "--json"]
    plain, wide = (json.loads(proact(*arguments, *more)[1]) for more in ([], ["--controls"]))
    assert [(plan["assistant"]["calls"], plan["judge"]["calls"]) for plan in (plain, wide)] == [(3, 3), (6, 6)]
    assert not Path("run").exists()


def test_rejudge_copies_and_looks_again(proact, server):
    proact(*against(server, "--controls"))
    server.sent.clear()
    server.script_roles(judge=passing)
    child = ["--judge", "hosted_vllm/second", "--judge-api-base", server.judge, "--retries", 0, "--out", "child"]
    status, out, _ = proact("rejudge", "run", *child, "--controls")
    assert (status, calls(server)) == (0, (0, 6))
    assert "unwanted offers: 100.0" in out


def test_rejudge_refuses_them_with_a_sentence_where_the_parent_has_none(proact, server):
    proact(*against(server))
    server.sent.clear()
    child = ["--judge", "hosted_vllm/second", "--judge-api-base", server.judge, "--out", "child"]
    status, out, err = proact("rejudge", "run", *child, "--controls")
    assert (status, out, server.sent) == (2, "", [])
    assert "--controls: among these responses is none at a control turn" in said(err)
    assert not Path("child").exists()


def test_the_sample_has_15_of_them(proact):
    _, out, _ = proact("eval", "--controls", "--out", "run", "--json")
    found = json.loads(out)
    assert (found["controls"]["total"], found["triggers"]["total"], found["complete"]) == (15, 49, True)


def older(path):
    """Make a run one of before there were control turns."""
    manifest = json.loads((path / "manifest.json").read_bytes())
    for name in ("controls", "control_labels", "system_prompt"):
        del manifest[name]
    (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def test_a_run_of_before_there_were_control_turns_goes_on_and_is_reported(proact, server):
    proact(*against(server, "--limit", 1))
    older(Path("run"))
    assert proact(*against(server))[0] == 0
    assert json.loads(proact("report", "run", "--json")[1])["triggers"]["scored"] == 3


def test_a_run_of_before_there_were_control_turns_is_widened_by_them(proact, server):
    proact(*against(server))
    older(Path("run"))
    status, out, _ = proact(*against(server, "--controls", "--json"))
    assert (status, json.loads(out)["controls"]["total"]) == (0, 3)


# --system-prompt


PROMPT = "Hold back. Only what was asked: naïve, “quoted” and 漢字."


def systems(server):
    """The system message of each request to the assistant; None where there is none."""
    firsts = [sent.messages[0] for sent in server.of("assistant")]
    return [first["content"] if first["role"] == "system" else None for first in firsts]


def test_a_text_is_the_system_message_and_everything_after_it_is_as_without(proact, server):
    proact(*against(server, "--controls", out="bare"))
    bare = [sent.messages for sent in server.of("assistant")]
    assert systems(server) == [None] * 6
    server.sent.clear()
    status, _, _ = proact(*against(server, "--controls", "--system-prompt", PROMPT))
    assert (status, systems(server)) == (0, [PROMPT] * 6)
    told = [sent.messages[1:] for sent in server.of("assistant")]
    assert sorted(map(json.dumps, told)) == sorted(map(json.dumps, bare))
    assert not [sent for sent in server.of("judge") if PROMPT in sent.text]


def test_a_file_is_read_without_the_blanks_around_it(proact, server):
    Path("prompt.txt").write_text(f"\n  {PROMPT}\nBe brief.\n\n", encoding="utf-8")
    proact(*against(server, "--system-prompt", "@prompt.txt"))
    assert systems(server) == [f"{PROMPT}\nBe brief."] * 3


def test_text_and_file_with_the_same_words_are_the_same_run(proact, server):
    Path("prompt.txt").write_text(f"{PROMPT}\n", encoding="utf-8")
    proact(*against(server, "--system-prompt", PROMPT))
    status, _, err = proact(*against(server, "--system-prompt", "@prompt.txt"))
    assert (status, calls(server), "no calls were made" in err) == (0, (3, 3), True)


def test_program_and_prompt_are_recorded(proact, server):
    proact(*against(server, "--system-prompt", PROMPT))
    manifest = RunFolder("run").manifest()
    assert (manifest.identity.assistant.program, manifest.system_prompt) == ("prompt", PROMPT)
    assert manifest.identity.assistant.prompt == Assistant(PROMPT).fingerprint()
    proact(*against(server, out="bare"))
    manifest = RunFolder("bare").manifest()
    assert (manifest.identity.assistant.program, manifest.system_prompt) == ("bare", None)


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [
        ([], ["--system-prompt", PROMPT], "assistant.program, assistant.prompt"),
        (["--system-prompt", PROMPT], [], "assistant.program, assistant.prompt"),
        (["--system-prompt", PROMPT], ["--system-prompt", "Be brief."], "assistant.prompt"),
    ],
)
def test_another_prompt_in_the_same_folder_is_another_run(proact, server, first, second, named):
    proact(*against(server, *first))
    status, _, err = proact(*against(server, *second))
    assert (status, calls(server)) == (2, (3, 3))
    assert f"run: holds another run, which differs in {named};" in said(err)


BAD = {
    "missing": (None, "prompt.txt: cannot be read: No such file or directory"),
    "not UTF-8": (b"be \xff brief", "prompt.txt: cannot be read: not UTF-8 text"),
    "empty": (b"", "the system prompt is empty; leave it out for the bare model"),
    "blank": (b" \n\t\n", "the system prompt is empty; leave it out for the bare model"),
}


@pytest.mark.parametrize(("content", "problem"), BAD.values(), ids=BAD)
def test_a_file_that_cannot_be_a_prompt_is_refused_before_a_call(proact, server, content, problem):
    if content is not None:
        Path("prompt.txt").write_bytes(content)
    status, out, err = proact(*against(server, "--system-prompt", "@prompt.txt"))
    assert (status, out, server.sent) == (2, "", [])
    assert problem in said(err)
    assert not Path("run").exists()


@pytest.mark.parametrize("text", ["", " ", "\n\t", "@", "@.", "@a\0b"])
def test_a_blank_text_a_folder_and_a_name_that_cannot_be_are_refused(proact, server, text):
    status, _, err = proact(*against(server, "--system-prompt", text))
    assert (status, server.sent) == (2, [])
    assert "the system prompt is empty" in said(err) or "cannot be read" in err


def test_a_prompt_beside_a_program_is_refused(proact, server):
    status, _, err = proact(*against(server, "--system-prompt", PROMPT, "--program", "assistant.json"))
    assert (status, server.sent) == (2, [])
    assert "--system-prompt and --program are mutually exclusive" in said(err)


@pytest.mark.parametrize("text", ["Rules:\n    - one\n    - two", "one\ttwo", "Say\n\n  verse\n    and indented verse"])
def test_a_prompt_goes_out_as_it_is_written(proact, server, text):
    proact(*against(server, "--limit", 1, "--system-prompt", text))
    assert systems(server) == [text]


def test_the_mark_of_the_byte_order_is_no_part_of_a_prompt(proact, server):
    Path("prompt.txt").write_text(PROMPT, encoding="utf-8-sig")
    proact(*against(server, "--limit", 1, "--system-prompt", "@prompt.txt"))
    assert systems(server) == [PROMPT]


def test_a_text_that_is_not_utf_8_is_refused_with_a_sentence(tmp_path):
    command = [os.fsencode(sys.executable), b"-m", b"dspy_proact", b"eval", b"--system-prompt", b"be \xff brief"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode == 2


def test_a_leaderboard_does_not_rank_a_prompted_run_among_bare_models(proact, server):
    proact(*against(server, "--system-prompt", PROMPT))
    _, out, _ = proact("leaderboard", "run", "--json")
    (entry,) = [entry for entry in json.loads(out)["rows"] if not entry["published"]]
    assert (entry["rank"], entry["strict_rank"]) == (None, None)
    assert "the responses are of the program 'prompt', not of the bare model" in entry["differences"]


def test_the_embedded_stand_in_obeys_a_prompt(proact):
    """One that asks for restraint makes no offer at a control turn, one that asks for initiative does."""
    rates = {}
    for word in ("hold back", "take the initiative"):
        prompt = f"You {word}."
        _, out, _ = proact("eval", "--limit", 8, "--controls", "--system-prompt", prompt, "--out", word, "--json")
        rates[word] = json.loads(out)["controls"]["unwanted_offers"]["value"]
    assert rates["hold back"] == 0.0
    assert rates["take the initiative"] > 0.5


def test_a_run_that_is_judged_again_keeps_what_the_assistant_is(proact, server):
    proact(*against(server, "--system-prompt", PROMPT))
    child = ["--judge", "hosted_vllm/second", "--judge-api-base", server.judge, "--out", "child"]
    assert proact("rejudge", "run", *child)[0] == 0
    assert RunFolder("child").manifest().identity.assistant == RunFolder("run").manifest().identity.assistant
    assert summarize(RunFolder("child")).count("scored") == 3


def test_a_run_that_is_judged_again_keeps_what_the_assistant_was_told(proact, server):
    proact(*against(server, "--system-prompt", PROMPT))
    proact("rejudge", "run", "--judge", "hosted_vllm/second", "--judge-api-base", server.judge, "--out", "child")
    assert RunFolder("child").manifest().system_prompt == PROMPT
