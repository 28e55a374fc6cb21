"""Tests by models of the triggers of any corpus, over HTTP: what a sound corpus shows, and what an inert one does."""

import json

import pytest
from builders.dialogues import jsonl, record, row, rubric, trigger_point
from fakes.server import Answer, Sent

from dspy_proact import Audit, Gate, ModelSpec
from dspy_proact.audit.testing import CorpusTests
from dspy_proact.benchmarks.proactbench.generation.proof import LOOK
from dspy_proact.errors import UsageError
from dspy_proact.programs.embedded.fields import outputs_of, request_fields, value_of

DOES = "leave before the last boat"
FACT = "The ferry stops on Sunday"
NEUTRAL = "The church bell rings on Sunday"


def dialogue(number):
    """Two turns, of which the first discloses a fact in passing, and the second is a trigger."""
    first = f"Which path leads to lighthouse {number}? {FACT}."
    second = f"Thanks. And where do I eat in harbour {number}?"
    records = [
        record(1, user_message=first, assistant_response="The one along the cliff."),
        record(2, user_message=second),
    ]
    criteria = rubric("EMERGENT", pass_criteria="Plans around the Sunday without boats.")
    return {
        **row(turn_records=records, trigger_points=[trigger_point(2, evaluation_rubric=criteria)]),
        "unique_id_eval": f"key{number}",
        "uuid": f"{number:032x}",
        "blueprint_id": f"BP_{number}",
        "anchors": None,
        "proof": None,
    }


def sent_response(text):
    """The response that a judge is asked to grade, or a detector to search; None where nobody is."""
    _, judged, response = text.rpartition("Response")
    return response if judged and "Answer with one JSON object" in text else None


class Cast:
    """The roles, by rules: an assistant that is told to look acts on the fact, and the judge passes whoever acts."""

    quote = FACT
    always = False
    """Whether the assistant acts whatever it was told."""

    def __call__(self, sent: Sent) -> Answer:
        system = next((message["content"] for message in sent.messages if message["role"] == "system"), "")
        fields = request_fields([(message["role"], message["content"]) for message in sent.messages])
        return Answer(content=self.answer(outputs_of(system), system, fields, json.dumps(sent.messages)))

    def answer(self, outputs, system, fields, text):
        response = sent_response(text)
        if response is not None:
            passed = DOES in response
            grade = {"evidence": [DOES] if passed else [], "grade": "PASS" if passed else "FAIL"}
            return json.dumps({"reasoning": "", **grade} if "PARTIAL" in text else {"reasoning": "", "offers": []})
        if not outputs:
            by_order = LOOK[:40] in system or "PASS:" in system
            acts = self.always or (by_order and FACT in text)
            return f"At the mill. I would {DOES}." if acts else "At the mill."
        fact = {"fact": f"{FACT}.", "keys": ["ferry"], "quote": self.quote, "turn": 1, "consequence": f"{DOES}."}
        turns = value_of(fields.get("conversation"), [])
        swapped = [{**turn, "user": turn["user"].replace(FACT, NEUTRAL)} for turn in turns]
        flags = {"solvable": True, "asked_for": False, "one_artefact": True, "forbidden": False}
        grounds = [{"anchor": "a1", "quote": FACT, "turn": 1}]
        audit = {"grounds": grounds, **flags, "partial_distinct": True, "consequence_true": "yes", "advice": ""}
        if "removed_facts" in fields:
            audit = {"implied": False, "other_reason": False, "realism": 1, "advice": ""}
        known = {
            "facts": [{**fact, "neutral": NEUTRAL}],
            "act": DOES,
            "swap": {"turns": swapped, "removed": ["a1"]},
            "reply_must_hold": ["a place to eat"],
            "audit": audit,
        }
        return json.dumps({name: known[name] for name in outputs})


@pytest.fixture
def tests_of(tmp_path, server):
    """Tests of a corpus of so many dialogues by a cast, in a folder."""

    def made(cast, count=12, **of):
        server.script = cast
        file = tmp_path / "mine.jsonl"
        file.write_text(jsonl(*map(dialogue, range(count))), encoding="utf-8")
        model = ModelSpec(name="openai/any", api_base=server.assistant)
        return CorpusTests(file, model, gate=Gate(retries=0), **of)

    return made


def test_a_corpus_whose_passes_depend_on_the_fact_is_said_to_be_so_with_its_interval(tests_of, tmp_path):
    tests = tests_of(Cast())
    generated = tests.run(tmp_path / "out")
    shown = tests.tests(generated.made)
    checks = {check.name: check for check in shown.checks}
    anchors = checks["anchor test"]
    # 36 of 36 responses with the fact and none of 36 without, over 12 personas: the exact lower end of 1 is .735.
    assert (anchors.state, anchors.tested, anchors.findings) == ("passed", 12, ())
    assert (anchors.estimate.value, round(anchors.estimate.low, 2), anchors.estimate.high) == (1.0, 0.47, 1.0)
    assert (checks["planted assistants"].state, checks["planted assistants"].tested) == ("passed", 12)
    assert checks["facts of rubrics"].sentence.startswith("12 of 12 rubrics rest on facts that openai/any names")
    # What an auditor says against a rubric has no bar.
    assert (checks["audit of rubrics"].state, len(checks["audit of rubrics"].findings)) == ("reported", 12)
    audit = Audit(tmp_path / "mine.jsonl", tests=shown)
    clause = "responses told to look pass 100 points more often with the disclosed facts than without (95 % 47 to 100)"
    assert clause in audit.headline.text or clause[0].upper() + clause[1:] + "." in audit.headline.caveats
    assert len(audit.headline.text.split()) <= 30
    assert (
        "Models tested 12 of 12 triggers; 12 could be answered with their facts and without." in audit.headline.caveats
    )


def test_what_a_part_of_the_triggers_shows_is_said_to_be_of_a_part(tests_of, tmp_path):
    tests = tests_of(Cast(), limit=2)
    shown = tests.tests(tests.run(tmp_path / "out").made)
    assert shown.reach.startswith(
        "Models tested 2 of 12 triggers; 2 could be answered with their facts and without, and"
    )
    assert shown.shown == ""  # two are too few for an interval


def test_a_corpus_whose_passes_depend_on_nothing_makes_no_claim(tests_of, tmp_path):
    cast = Cast()
    cast.always = True
    tests = tests_of(cast)
    shown = tests.tests(tests.run(tmp_path / "out").made)
    checks = {check.name: check for check in shown.checks}
    assert shown.shown == ""
    assert checks["anchor test"].state in ("failed", "reported")
    assert len(checks["anchor test"].findings) == 12
    caveats = Audit(tmp_path / "mine.jsonl", tests=shown).headline.lines
    assert any("hether a pass depends on what the user disclosed is not shown" in line for line in caveats)


def test_a_fact_that_nobody_states_is_asked_for_again_and_then_its_trigger_is_not_tested(tests_of, server, tmp_path):
    cast = Cast()
    cast.quote = "The ferry never sails"
    tests = tests_of(cast, count=2)
    shown = tests.tests(tests.run(tmp_path / "out").made)
    checks = {check.name: check for check in shown.checks}
    assert len(server.sent) == 6
    assert checks["facts of rubrics"].sentence.startswith("None of 2 rubrics rests on facts")
    assert "No fact that a pass needs could be located" in checks["facts of rubrics"].findings[0].problem
    assert checks["anchor test"].state == checks["audit of rubrics"].state == "not tested"


def test_nothing_is_paid_twice_and_a_larger_limit_adds_to_what_is_there(tests_of, server, tmp_path):
    tests_of(Cast(), limit=2).run(tmp_path / "out")
    paid = len(server.sent)
    assert tests_of(Cast(), limit=2).run(tmp_path / "out").paid == 0
    assert len(server.sent) == paid
    grown = tests_of(Cast(), limit=3).run(tmp_path / "out")
    assert grown.paid == len(server.sent) - paid == paid // 2
    keys = [json.loads(line)["key"] for line in (tmp_path / "out" / "tests.jsonl").read_text("utf-8").splitlines()]
    assert len(set(keys)) == 3


def test_the_forecast_is_within_a_third_of_what_is_sent(tests_of, server, tmp_path):
    tests = tests_of(Cast(), count=3)
    expected = tests.forecast().calls
    tests.run(tmp_path / "out")
    # No trigger is CRITICAL here, which the forecast does not know.
    assert abs(len(server.sent) - expected) / expected < 1 / 3


def test_an_assistant_sees_no_rubric_and_who_reads_a_message_sees_it_alone(tests_of, server, tmp_path):
    tests_of(Cast(), count=1, proof="full").run(tmp_path / "out")
    for sent in server.sent:
        text = json.dumps(sent.messages)
        system = sent.messages[0]["content"] if sent.messages[0]["role"] == "system" else ""
        if not outputs_of(system) and "PASS:" not in system and sent_response(text) is None:
            assert "Plans around the Sunday" not in text
        if "reply_must_hold" in outputs_of(system):
            assert FACT not in text
            assert "Plans around the Sunday" not in text


def test_light_tests_ask_once_and_plant_nobody(tests_of, server, tmp_path):
    tests = tests_of(Cast(), count=1, proof="light")
    shown = tests.tests(tests.run(tmp_path / "out").made)
    # Facts, audit, swap, its audit, and a response and a verdict in each of two arms.
    assert len(server.sent) == 8
    assert {check.name: check.state for check in shown.checks}["planted assistants"] == "not tested"


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(tests_of, limit):
    with pytest.raises(UsageError, match="must be 1 or more"):
        tests_of(Cast(), limit=limit)


@pytest.mark.usefixtures("proactiveagent")
def test_a_benchmark_without_tests_by_models_says_so():
    with pytest.raises(UsageError, match="audited without a model"):
        CorpusTests("sample", benchmark="proactiveagent")
