"""`dspy-proact try --judge-cases`: whether a judge keeps to its rules, by worked cases."""

import json
from collections import Counter

import pytest
from builders.judges import artefact
from fakes.server import Answer, error, verdict

from dspy_proact.benchmarks.proactbench.corpus.bundled import judge_cases
from dspy_proact.programs.artefact import write_artefact

CASES = judge_cases()


def examined(server, *more):
    return ["try", "--judge-cases", "--judge", "openai/any", "--judge-api-base", server.judge, "--retries", 0, *more]


def knowing(sent, wrong=()):
    """A judge that keeps to the rules, but for some cases."""
    case = case_in(sent)
    grade = case.label if case.name not in wrong else "FAIL" if case.label != "FAIL" else "PASS"
    return Answer(verdict(grade, [case.answer.text]))


def case_in(sent):
    text = sent.messages[-1]["content"]
    (case,) = [item for item in CASES if _shows(text, item)]
    return case


def _shows(text, case):
    response = "\n".join(f"    {line}" if line else "" for line in case.answer.text.splitlines())
    return f"\nResponse to grade:\n{response}\n" in text and f"\n    {case.case.view.rubric.pass_criteria}\n" in text


def test_a_judge_is_right_where_it_keeps_to_the_rules_and_what_it_misses_is_shown_with_the_reason(proact, server):
    server.script = knowing
    status, out, _ = proact(*examined(server))
    assert (status, len(server.of("judge")), "why: " in out) == (0, 40, False)
    assert "openai/any gives the grade that the rule gives in 40 of 40 worked cases." in " ".join(out.split())
    server.script = lambda sent: knowing(sent, wrong=["quip"])
    out = proact(*examined(server))[1]
    quip = next(case for case in CASES if case.name == "quip")
    assert "in 39 of 40 worked cases." in " ".join(out.split())
    assert f"quip ({quip.rule}): judge FAIL, by the rule PARTIAL why: {quip.why}" in " ".join(out.split())
    assert quip.case.view.rubric.pass_criteria in " ".join(proact(*examined(server, "--whole"))[1].split())
    document = {item["case"]: item for item in json.loads(proact(*examined(server, "--json"))[1])}
    assert [*document] == [case.name for case in CASES]
    assert [name for name, item in document.items() if not item["right"]] == ["quip"]
    missed = document["quip"]
    assert (missed["expected"], missed["grade"], missed["usage"]["judge"]["calls"]) == ("PARTIAL", "FAIL", 1)
    assert "response" not in missed


def test_what_cannot_be_read_is_not_right_is_counted_apart_and_ends_with_three(proact, server):
    server.script = lambda sent: Answer("prose") if "bees" in sent.text else knowing(sent)
    status, out, _ = proact(*examined(server, "--json"))
    (unread,) = [item for item in json.loads(out) if not item["right"]]
    assert (status, unread["case"], unread["grade"], unread["right"]) == (3, "quip", None, None)
    assert unread["error"].startswith("unreadable")
    assert unread["unread"] == [unread["error"]]
    text = " ".join(proact(*examined(server))[1].split())
    assert "in 39 of 39 worked cases; 1 more without a grade." in text
    assert "1 of 40 verdicts could not be read." in text
    assert "no verdict: unreadable" in text


def test_a_limit_stops_it_with_four_and_what_it_left_out_is_neither_right_nor_wrong(proact, server):
    server.script = lambda sent: knowing(sent, wrong=[case.name for case in CASES[1:]])
    stopped = examined(server, "--concurrency", 1, "--max-calls", 5)
    status, out, err = proact(*stopped)
    assert (status, "Stopped: " in err, len(server.sent)) == (4, True, 5)
    assert "in 1 of 5 worked cases; 35 more without a grade." in " ".join(out.split())
    assert (out.count("why: "), out.count("judge -, by the rule")) == (4, 35)
    assert ("no verdict" in out, "could not be read" in out) == (False, False)
    document = json.loads(proact(*stopped, "--json")[1])
    assert [item["right"] for item in document] == [True, *[False] * 4, *[None] * 35]
    server.script = lambda sent: error(500)
    assert proact(*examined(server))[0] == 5


# A compiled judge


@pytest.fixture
def program(tmp_path):
    """Write a compiled judge; its file."""

    def write(cases=None, **how):
        write_artefact(tmp_path / "judge.json", artefact(changes={"further_counts": cases or {}}, **how))
        return ["--judge-program", "judge.json"]

    return write


def in_turn(*grades):
    """A judge that grades each case so, one verdict after the other."""
    requests = Counter()

    def script(sent):
        case = case_in(sent)
        requests[case.name] += 1
        return Answer(verdict(grades[requests[case.name] - 1], [case.answer.text]))

    return script


def test_a_compiled_judge_is_asked_in_its_own_words_and_named(proact, server, program):
    server.script = knowing
    status, out, err = proact(*examined(server, *program()))
    message = " ".join(out.split())
    assert (status, "openai/any (compiled:" in message, "in 40 of 40 worked cases." in message) == (0, True, True)
    assert all("Grade by the moon." in str(sent.messages[0]["content"]) for sent in server.sent)
    assert "Next: dspy-proact agree --judge openai/any" in err
    assert "--judge-program judge.json" in err


def test_its_votes_are_asked_for_and_its_cuts_make_the_grade(proact, server, program):
    server.script = in_turn("PASS", "PASS", "PARTIAL")
    _, out, err = proact(*examined(server, *program(votes=3, cuts=(0.5, 1.8)), "--json"))
    assert "Asking for 120 verdicts." in err
    assert len(server.of("judge")) == 120
    # The mean level is (2 + 2 + 1) / 3 = 1.67, below the cut of PASS, though two of three verdicts are PASS.
    assert {(item["grade"], *item["grades"]) for item in json.loads(out)} == {("PARTIAL", "PASS", "PASS", "PARTIAL")}


def test_a_program_that_was_compiled_by_these_cases_is_said_to_be_no_test(proact, server, program):
    server.script = knowing
    seen = {"cases before": (20, 40), "cases after": (25, 40)}
    assert "on these cases, so the result is not a test of it." in " ".join(
        proact(*examined(server, *program(seen)))[2].split()
    )
