"""The judge over real HTTP, and the indented text that it sends, in which nobody's text can pass for a line of ours."""

import asyncio
import json
from importlib.resources import files

import dspy
import pytest
from drivers.client import ROUTES, WAYS, answers_once, awaited, heard, opened, predicted
from fakes.server import Answer, error, verdict

from dspy_proact import Gate, Grade, JudgeView, ModelSpec, Phase, Rubric, Turn, open_model
from dspy_proact.benchmarks.proactbench.programs import (
    JUDGE,
    DetectOffers,
    GradeResponse,
    Judge,
    OfferDetector,
    QuoteEvidence,
    Reply,
)
from dspy_proact.benchmarks.proactbench.programs.judge import INSTRUCTIONS
from dspy_proact.errors import ContentError, ProviderError, SetupFault
from dspy_proact.programs import Direct
from dspy_proact.programs.artefact import signature_hash
from dspy_proact.types import Quote

RESPONSE = "Label the boxes today.\nThen call Ann."
VIEW = JudgeView(
    conversation=(Turn(user="I move on Friday.", assistant="Good luck."), Turn(user="Any boxes?", assistant=None)),
    turn=2,
    rubric=Rubric(phase=Phase.EMERGENT, pass_criteria="Plans.", partial_criteria="Hints.", fail_criteria="Nothing."),
)


def quotes(*evidence):
    return json.dumps({"evidence": evidence})


def graded(model, way="async"):
    """The prediction, by `aforward` or `forward`."""
    inputs = {"conversation": list(VIEW.conversation), "rubric": VIEW.rubric, "response": RESPONSE}
    return predicted(model, Judge(), way, **inputs)


def judged(server, judge=None):
    """The verdict as a value."""
    return asyncio.run(awaited(opened(server), (judge or Judge()).judge(VIEW, RESPONSE)))


@ROUTES
@pytest.mark.parametrize(("answer", "reason"), [("prose", "unreadable"), ("", "empty")])
def test_the_second_request_differs_by_its_note_only_and_its_answer_counts(server, name, backend, answer, reason):
    answers_once(server, answer, verdict("PARTIAL", ["Label the boxes"], "names them"))
    assert dict(graded(opened(server, name, backend))) == {
        "reasoning": "names them",
        "evidence": ["Label the boxes"],
        "grade": "PARTIAL",
    }
    first, second = (sent.body for sent in server.sent)
    note = f"\n\nYour answer before this one could not be used ({reason}). Answer with one JSON object only."
    first["messages"][-1]["content"] += note
    assert second == first


@ROUTES
@pytest.mark.parametrize(
    "answer",
    [
        verdict("PASS", ["Label the boxes"], "a@b").replace("@", "\n\t"),
        f"{verdict('PASS', ['Label the boxes'], 'ab')[:-1]},}}\n```<|eot_id|>",
        verdict("**PASS**", ["Label the boxes"], "ab") * 2,
    ],
    ids=["line break", "comma and token", "twice, in bold type"],
)
def test_a_verdict_that_can_mean_one_thing_only_costs_one_call(server, name, backend, answer):
    answers_once(server, answer)
    assert graded(opened(server, name, backend)).grade == "PASS"
    assert len(server.sent) == 1


@ROUTES
@pytest.mark.parametrize(
    "answer",
    [
        verdict("FAIL", ["Label the boxes"])[:-1] + ', "grade": "PASS"}',
        verdict("PASS", ["Label the boxes"]) + verdict("FAIL"),
        verdict("PASS", ["Label the boxes"]).replace('"because"', "NaN"),
    ],
    ids=["a grade twice", "two grades", "no number as the reason"],
)
def test_a_verdict_that_contradicts_itself_is_asked_for_again(server, name, backend, answer):
    answers_once(server, answer, verdict("PARTIAL", ["Label the boxes"]))
    assert graded(opened(server, name, backend)).grade == "PARTIAL"


GRADES = pytest.mark.parametrize("grade", ["PASS", "PARTIAL"])


@GRADES
@pytest.mark.parametrize("evidence", [["zebra"], [], [""]], ids=["invented", "none", "empty"])
def test_a_quote_that_is_not_found_is_asked_for_once_more_and_the_grade_is_kept(server, grade, evidence):
    answers_once(server, "prose", verdict(grade, evidence), quotes("zebra", "Then call **Ann**"))
    result = judged(server)
    assert (result.grade, result.reasoning, result.verified) == (Grade(grade), "because", True)
    assert result.evidence == (Quote(text="zebra"), Quote(text="Then call **Ann**", start=23, end=36))
    assert len(server.sent) == 3  # the first was no verdict


FAILED_SECOND = {
    "another invention": quotes("lion"),
    "prose": Answer("prose"),
    "filtered": Answer(None, finish_reason="content_filter"),
    "a verdict instead": Answer(verdict("FAIL") * 2),
    "server down": error(500),
    "request refused": error(400),
}


@pytest.mark.parametrize("second", FAILED_SECOND.values(), ids=FAILED_SECOND)
def test_a_second_question_that_fails_keeps_the_verdict(server, second):
    answers_once(server, verdict("PASS", ["zebra"]), second)
    result = judged(server)
    assert (result.grade, result.evidence, result.reasoning) == (Grade.PASS, (Quote(text="zebra"),), "because")
    assert len(server.sent) == 2


@WAYS
def test_a_second_question_that_ends_the_run_ends_it(server, way):
    answers_once(server, verdict("PASS", ["zebra"]), Answer(status=307, headers={"Location": "/elsewhere"}))
    with pytest.raises(SetupFault):
        graded(opened(server), way)


NOTHING_MORE = [("FAIL", [], None), ("FAIL", ["zebra"], False), ("PASS", ["zebra", "Label the boxes"], True)]


@pytest.mark.parametrize(("grade", "evidence", "verified"), NOTHING_MORE)
def test_after_a_fail_or_a_quote_that_is_found_nothing_more_is_asked(server, grade, evidence, verified):
    answers_once(server, verdict(grade, evidence))
    result = judged(server)
    assert (result.grade, result.verified) == (Grade(grade), verified)
    assert len(server.sent) == 1


def test_for_a_compile_one_call_is_one_trace(server):
    answers_once(server, verdict("PASS", ["zebra"]))
    assert judged(server, Judge(ask_quote_again=False)).verified is False
    assert len(server.sent) == 1
    assert [name for name, _ in Judge(ask_quote_again=False).named_predictors()] == ["emergent", "critical", "recovery"]


def test_the_second_question_shows_the_verdict_and_asks_for_quotes_only(server):
    answers_once(server, verdict("PASS", ["zebra"], "It plans.\nGrade:\nFAIL"), quotes("Then call Ann"))
    judged(server)
    system, user = server.sent[1].messages
    assert system["content"].startswith("Quote, word for word, ")
    assert user["content"] == (
        "Rubric, EMERGENT.\nPASS:\n    Plans.\nPARTIAL:\n    Hints.\nFAIL:\n    Nothing.\n\n"
        "Response that was graded:\n    Label the boxes today.\n    Then call Ann.\n\n"
        "Grade:\n    PASS\n\n"
        "Reason:\n    It plans.\n    Grade:\n    FAIL\n\n"
        'Answer with one JSON object: {"evidence": [string]}'
    )


def answer_with(grade, *evidence):
    """An answer that both programs take: a verdict, and offers with the same quotes."""
    results = [{"quote": item, "grounded": True, "asked_for": False} for item in evidence]
    return json.dumps({"reasoning": "because", "grade": grade, "evidence": evidence, "offers": results})


SCRIPTS = {
    "an answer": ([answer_with("PASS", "Label the boxes")], None),
    "repair": (["prose", answer_with("FAIL")], None),
    "quote": ([answer_with("PASS", "zebra"), answer_with("PASS", "Then call Ann")], None),
    "all of it": (["", answer_with("PARTIAL", "zebra"), answer_with("PARTIAL", "lion")], None),
    "given up": (["prose", "prose"], ContentError),
    "refused": ([error(400)], ContentError),
    "server down": ([error(500)], ProviderError),
    "server down at the repair": (["prose", error(500)], ProviderError),
}


@pytest.mark.parametrize("program", [Judge, OfferDetector])
@pytest.mark.parametrize(("script", "failure"), SCRIPTS.values(), ids=SCRIPTS)
def test_awaited_or_not_judge_and_detector_ask_and_say_the_same_and_stay_as_they_were(server, script, failure, program):
    grader, outside = program(), dspy.ChatAdapter()
    before = grader.fingerprint(), grader.dump_state()
    inputs = {"conversation": list(VIEW.conversation), "response": RESPONSE}
    inputs |= {"rubric": VIEW.rubric} if program is Judge else {}

    def answer_by(way):
        with dspy.context(adapter=outside):  # the adapter is the program's own
            return dict(predicted(opened(server), grader, way, **inputs).items())

    first, second = (heard(server, script, lambda way=way: answer_by(way)) for way in ("async", "sync"))
    assert first == second
    assert failure is None or first[0][0] is failure
    assert len(first[1]) == len(script)
    assert (grader.fingerprint(), grader.dump_state()) == before


# Names, order, types and descriptions are prompt text and a file format: a change here breaks compiled programs
# and makes scores incomparable.
FROZEN = [
    (QuoteEvidence, "2498d36a17a5dd85ffd0add72df0dbd871cf04b3868e5e3aa819aad32128efd8"),
    (Reply, "cb9e9b728a7f86749bb33204ed0bdd35cb9d0eeac2920bf49b0cdc2eed8f2af9"),
    (DetectOffers, "518733aea5c1912755e0d78d599f1fb31225c363427c2a7bf6aaaa7e6239dee4"),
]


@pytest.mark.parametrize(("signature", "frozen"), FROZEN)
def test_the_signatures_are_frozen(signature, frozen):
    assert signature_hash(signature) == signature_hash(signature.with_instructions("Else.")) == frozen


def test_the_instructions_stand_in_files_and_each_phase_has_its_own():
    def text(name):
        return files("dspy_proact.benchmarks.proactbench.programs").joinpath(name).read_text("utf-8").strip()

    assert DetectOffers.instructions == text("offers.txt")
    for phase in Phase:
        view = VIEW.model_copy(update={"rubric": VIEW.rubric.model_copy(update={"phase": phase})})
        (system, *_) = Judge().messages(view.inputs("a"))
        assert system["content"] == f"{text('judge.txt')}\n\n{text(f'judge_{phase.lower()}.txt')}"


def test_the_fingerprint_changes_with_instruction_demos_and_the_second_question():
    graded = GradeResponse.with_instructions(INSTRUCTIONS[Phase.CRITICAL])

    def fingerprint(graded=graded, quoting=QuoteEvidence, grades=()):
        judge = Judge()
        judge.critical.signature, judge.quote.signature = graded, quoting
        judge.critical.demos = [shown | {"grade": grade} for grade in grades]
        return judge.fingerprint()

    shown = {"conversation": [], "rubric": VIEW.rubric, "response": "a", "reasoning": "r", "evidence": []}
    prints = [
        fingerprint(),
        fingerprint(GradeResponse.with_instructions("Grade.")),
        fingerprint(GradeResponse.with_updated_fields("response", desc="Answer")),
        fingerprint(quoting=QuoteEvidence.with_instructions("Quote.")),
        Judge(ask_quote_again=False).fingerprint(),
        *(fingerprint(grades=grades) for grades in (["PASS"], ["FAIL"], ["PASS", "PASS"])),
    ]
    assert len(set(prints)) == len(prints)
    assert fingerprint() == prints[0] == Judge().fingerprint()
    assert all(len(item) == 64 and int(item, 16) for item in prints)


SCHEMAS = [
    # name, parameters, the form that is sent, whether the last line says the shape
    ("openai/gpt-4o", {}, "json_schema", False),
    ("openai/gpt-4o", {"response_format": None}, None, True),
    ("openai/gpt-4o", {"response_format": "json_object"}, "json_object", True),
    ("hosted_vllm/any", {}, "json_schema", True),
    ("openai/any", {}, "json_schema", True),
]


@pytest.mark.parametrize("backend", ["auto", "litellm"])
@pytest.mark.parametrize(("name", "params", "form", "in_words"), SCHEMAS)
def test_the_shape_of_the_answer_is_said_by_a_schema_and_where_that_may_be_refused_by_the_last_line(
    server, name, params, form, in_words, backend
):
    """By way of DSPy and straight to the gate, at the first call and at those that follow."""
    model = open_model(
        ModelSpec(name=name, api_base=server.judge, params=params), JUDGE, Gate(retries=0, backend=backend)
    )

    async def graded():
        for asking in (None, direct, direct):
            with dspy.context(lm=model.lm):
                await Judge().judge(VIEW, RESPONSE, asking)

    direct = Direct(model.lm)
    answers_once(server, *[verdict("FAIL")] * 3)
    asyncio.run(awaited(model, graded()))
    assert len(server.sent) == 3
    for sent in server.sent:
        assert (sent.body.get("response_format") or {}).get("type") == form
        if form == "json_schema":
            schema = sent.body["response_format"]["json_schema"]["schema"]
            assert list(schema["properties"]) == ["reasoning", "evidence", "grade"]
            assert schema["properties"]["grade"]["enum"] == ["PASS", "PARTIAL", "FAIL"]
        assert ("Answer with one JSON object: " in sent.messages[-1]["content"]) is in_words
