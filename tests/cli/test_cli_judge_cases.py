"""`dspy-proact try --judge-cases` as a person meets it."""

import json

import pytest
from server import Answer, error, verdict

from dspy_proact.corpus import judge_cases

CASES = judge_cases()


def examined(server, *more):
    return ["try", "--judge-cases", "--judge", "openai/any", "--judge-api-base", server.judge, "--retries", 0, *more]


def knowing(sent, wrong=()):
    """A judge that keeps to the rules, but for some cases."""
    said = sent.messages[-1]["content"]
    (case,) = [each for each in CASES if _shows(said, each)]
    grade = case.grade if case.name not in wrong else "FAIL" if case.grade != "FAIL" else "PASS"
    return Answer(verdict(grade, [case.response]))


def _shows(said, case):
    response = "\n".join(f"    {line}" if line else "" for line in case.response.splitlines())
    return f"\nResponse to grade:\n{response}\n" in said and f"\n    {case.view.rubric.pass_criteria}\n" in said


def test_the_stand_in_is_tried_with_no_model_and_said_to_measure_nothing(proact):
    status, out, err = proact("try", "--judge-cases")
    assert status == 0
    text = " ".join(out.split())
    assert text.startswith("The embedded stand-in measures nothing about any model: embedded gives the grade")
    assert all(case.name in out for case in CASES)
    assert "Next: dspy-proact agree --judge embedded" in err


def test_a_judge_that_keeps_to_the_rules_gets_every_case_right(proact, server):
    server.script = knowing
    status, out, _ = proact(*examined(server))
    assert status == 0
    assert "openai/any gives the grade that the rule gives in 40 of 40 worked cases." in " ".join(out.split())
    assert len(server.of("judge")) == 40
    assert "The judge: " not in out


def test_a_case_that_it_misses_is_told_with_the_reason_of_the_rule(proact, server):
    server.script = lambda sent: knowing(sent, wrong=["quip"])
    status, out, _ = proact(*examined(server))
    quip = next(case for case in CASES if case.name == "quip")
    assert status == 0
    assert "in 39 of 40 worked cases." in " ".join(out.split())
    assert f"quip: FAIL. {quip.why}" in " ".join(out.split())
    assert quip.response not in out
    assert quip.response in proact(*examined(server, "--whole"))[1]


def test_json_has_an_object_a_case(proact, server):
    server.script = lambda sent: knowing(sent, wrong=["vague"])
    _, out, _ = proact(*examined(server, "--json"))
    found = {each["case"]: each for each in json.loads(out)}
    assert [*found] == [case.name for case in CASES]
    assert [name for name, each in found.items() if not each["right"]] == ["vague"]
    vague = found["vague"]
    assert (vague["expected"], vague["grade"], vague["phase"]) == ("PARTIAL", "FAIL", "RECOVERY")
    assert vague["usage"]["judge"]["calls"] == 1
    assert "response" not in vague


def test_what_cannot_be_read_is_not_right_and_ends_with_3(proact, server):
    server.script = lambda sent: Answer("prose") if "bees" in sent.text else knowing(sent)
    status, out, _ = proact(*examined(server, "--json"))
    assert status == 3
    (unread,) = [each for each in json.loads(out) if not each["right"]]
    assert (unread["case"], unread["grade"]) == ("quip", None)
    assert unread["error"].startswith("unreadable")


def test_a_limit_stops_it_with_4(proact, server):
    server.script = knowing
    status, _, err = proact(*examined(server, "--max-calls", 5))
    assert status == 4
    assert "Stopped: " in err
    assert len(server.sent) == 5


def test_a_provider_that_is_down_ends_it_with_5(proact, server):
    server.script = lambda sent: error(500)
    assert proact(*examined(server))[0] == 5


@pytest.mark.parametrize(
    "more",
    [
        ["Be proactive."],
        ["--model", "openai/any"],
        ["--program", "best.json"],
        ["--phase", "recovery"],
        ["--corpus", "sample"],
        ["--trigger", "x"],
        ["--conversation", "talk.txt"],
        ["--list"],
    ],
    ids=lambda more: more[0],
)
def test_nothing_else_is_tried_beside_the_judge(proact, server, more):
    status, _, err = proact(*examined(server, *more))
    assert status == 2
    assert f"leave {more[0] if more[0].startswith('--') else 'TEXT'} out" in err
    assert not server.sent
