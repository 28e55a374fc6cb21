"""A judge as a scorer of MLflow: its stand-in, and MLflow itself where that is installed."""

import json
from importlib import import_module
from math import isnan

import pytest
from fakes import mlflow_package
from fakes.server import Answer, error, verdict

from dspy_proact import Gate, Limits, ModelSpec
from dspy_proact.errors import UsageError
from dspy_proact.mlflow import scorer

REPLY = "Done. You could label the boxes today."
ROW = {"inputs": {"question": "We move on Friday."}, "outputs": REPLY, "expectations": {"expected": "the boxes"}}
CRITERIA = "Does the reply take up the move?"


@pytest.fixture(params=["stand-in", "mlflow"])
def genai(request, tmp_path, monkeypatch):
    if request.param == "stand-in":
        with mlflow_package.stand_in(tmp_path / "package"):
            yield import_module("mlflow.genai")
        return
    if not mlflow_package.INSTALLED:
        pytest.skip("MLflow is not installed")
    monkeypatch.chdir(tmp_path)
    yield import_module("mlflow.genai")


def of(server, **more):
    """A scorer by the server's judge, with the levels of its verdicts."""
    spec = ModelSpec(name="openai/j", api_base=server.judge)
    options = {"gate": Gate(backoff=0.001, retries=0), "scale": ("FAIL", "PARTIAL", "PASS"), "criteria": CRITERIA}
    return scorer(spec, **{**options, **more})


def scored(graded, **row):
    return graded(**{**ROW, **row})


def test_a_feedback_has_grade_reasons_and_the_quotes_with_where_they_stand(genai, server):
    server.script = lambda sent: Answer(verdict("PASS", ["label the boxes today", "not in it"], "It plans the move."))
    feedback = scored(of(server))
    assert (feedback.name[:5], feedback.value, feedback.rationale) == ("rows_", "PASS", "It plans the move.")
    assert (feedback.source.source_type, feedback.source.source_id) == ("LLM_JUDGE", "openai/j")
    quotes = json.loads(feedback.metadata["quotes"])
    # "Done. You could " has 16 characters, the quote 21.
    assert [(quote["text"], quote["start"], quote["end"]) for quote in quotes] == [
        ("label the boxes today", 16, 37),
        ("not in it", None, None),
    ]
    assert {name: feedback.metadata[name] for name in ("grade", "score", "verified", "judge", "benchmark")} == {
        "grade": "PASS",
        "score": "1.0",
        "verified": "true",
        "judge": "openai/j",
        "benchmark": "rows",
    }


def test_the_judge_sees_the_row_and_the_criteria(genai, server):
    server.script = lambda sent: Answer(verdict("PARTIAL", ["label the boxes today"]))
    inputs = {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "We move."}],
        "plan": 7,
    }
    feedback = scored(of(server, name="moves", value="score"), inputs=inputs)
    (sent,) = server.sent
    for text in (CRITERIA, "Be brief.", "We move.", REPLY, "the boxes", "plan", "7"):
        assert text in sent.text
    # The second of three levels, in equal steps from 0 to 1.
    assert (feedback.name, feedback.value) == ("moves", 0.5)


def test_scorers_of_other_criteria_or_scales_have_other_names_and_the_same_has_its_own_again(genai, server):
    """By its name MLflow keeps one mean."""
    server.script = lambda sent: Answer(verdict("PASS", ["label the boxes today"]))
    other = {"criteria": "Is it short?"}, {"scale": ("FAIL", "PASS")}, {"name": "short"}, {}, {}
    names = [scored(of(server, **change)).name for change in other]
    assert (len(set(names)), names[2], names[3]) == (4, "short", names[4])


@pytest.mark.parametrize(
    "outputs",
    [
        {"response": REPLY},
        {"role": "assistant", "content": REPLY},
        {"choices": [{"message": {"content": REPLY}}]},
        {"messages": [{"role": "user", "content": "We move."}, {"role": "assistant", "content": REPLY}]},
    ],
)
def test_an_answer_may_stand_in_the_usual_forms(genai, server, outputs):
    server.script = lambda sent: Answer(verdict("PASS", ["label the boxes today"]))
    assert scored(of(server), outputs=outputs).metadata["verified"] == "true"


def test_a_case_of_a_benchmark_is_graded_as_that_grades_it(genai, server, proactbench):
    """It comes with the rows of an export, and is hidden from the assistant."""
    server.script = lambda sent: Answer(verdict("FAIL", reasoning="It closes."))
    rubric = {"phase": "RECOVERY", "pass_criteria": "Names the boxes.", "partial_criteria": "p", "fail_criteria": "f"}
    view = {"conversation": [{"user": "We move.", "assistant": None}], "turn": 1, "rubric": rubric}
    case = {"benchmark": "proactbench", "key": "k", "group": "g", "stratum": "RECOVERY", "view": view}
    options = {"benchmark": "proactbench", "scale": (), "criteria": None}
    feedback = scored(of(server, **options), expectations={"case": case})
    assert (feedback.value, feedback.rationale, feedback.metadata["score"]) == ("FAIL", "It closes.", "0.0")
    assert "Names the boxes." in server.sent[0].text
    with pytest.raises(UsageError, match="a case of 'probe', not of 'proactbench'"):
        scored(of(server, **options), expectations={"case": case | {"benchmark": "probe"}})
    with pytest.raises(UsageError, match=r"expectations.case.view, field 'turn': the field is missing"):
        scored(of(server, **options), expectations={"case": case | {"view": {"conversation": [], "rubric": rubric}}})


@pytest.mark.parametrize(
    ("answer", "why"),
    [(Answer("no JSON"), "unreadable"), (Answer(""), "empty"), (error(500), "server")],
)
def test_a_verdict_that_could_not_be_had_is_an_error_and_no_grade(genai, server, answer, why):
    server.script = lambda sent: answer
    feedback = scored(of(server))
    assert feedback.value is None
    assert why in str(getattr(feedback.error, "error_message", feedback.error))


@pytest.mark.parametrize("outputs", ["", "  ", None])
def test_an_answer_that_is_blank_is_graded_by_nobody(genai, server, outputs):
    feedback = scored(of(server), outputs=outputs)
    assert (feedback.value, server.sent) == (None, [])


def test_once_a_limit_is_reached_nothing_further_is_sent_and_rows_say_why(genai, server):
    server.script = lambda sent: Answer(verdict("PASS", ["label the boxes today"]))
    graded = of(server, gate=Gate(limits=Limits(calls=1)))
    assert scored(graded).value == "PASS"
    for _ in range(2):
        with pytest.raises(UsageError, match="limit"):
            scored(graded)
    assert len(server.sent) == 1


def test_a_key_that_is_refused_ends_it_likewise(genai, server):
    server.script = lambda sent: error(401, "bad key")
    graded = of(server)
    for _ in range(2):
        with pytest.raises(UsageError, match="the key was refused"):
            scored(graded)
    assert len(server.sent) == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"inputs": {}}, "no messages and no question"),
        ({"inputs": {"a": "x", "b": "y"}}, "it has a, b"),
        ({"inputs": {"messages": [{"role": "tool", "content": "x"}]}}, r"conversation\[0\].role"),
        ({"outputs": {"a": 1}}, "no answer is known"),
        ({"outputs": 7}, "no answer is known"),
    ],
)
def test_a_row_that_cannot_be_graded_says_why(genai, server, change, problem):
    with pytest.raises(UsageError, match=problem):
        scored(of(server), **change)
    assert server.sent == []


def test_what_does_not_fit_together_is_refused_when_the_scorer_is_made(genai, server, monkeypatch):
    with pytest.raises(UsageError, match="`criteria` is of rows of one's own"):
        of(server, benchmark="proactbench")
    with pytest.raises(UsageError, match=r"`settings.scale`: .*two levels"):
        of(server, scale=("one",))
    with pytest.raises(UsageError, match="graded without a judge"):
        of(server, benchmark="proactivebench", scale=(), criteria=None)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="no key"):
        scorer("openai/j", criteria=CRITERIA)


def test_mlflow_is_wanted_by_a_sentence(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mlflow.genai", None)
    with pytest.raises(UsageError, match=r"needs MLflow 3.17 or newer: pip install 'mlflow>=3.17', without"):
        scorer("embedded")


def test_rows_are_graded_in_the_threads_of_an_evaluation(genai, server):
    """One row in four fails, and has an error in place of a grade."""
    server.script = lambda sent: (
        error(500) if "row 3" in sent.text else Answer(verdict("PASS", ["label the boxes today"]))
    )
    data = [{**ROW, "inputs": {"question": f"row {number}"}} for number in range(8)]
    data = [
        *data[:4],
        *({**row, "inputs": {"question": "row 3"}} if number == 3 else row for number, row in enumerate(data[4:])),
    ]
    results = genai.evaluate(data=data, scorers=[of(server, value="score")])
    if isinstance(results, list):
        values = [feedback.value for feedback in results]
    else:
        values = [None if isnan(value) else value for value in results.result_df["rows/value"]]
        assert results.metrics["rows/mean"] == 1.0
    assert (values.count(1.0), values.count(None)) == (6, 2)
