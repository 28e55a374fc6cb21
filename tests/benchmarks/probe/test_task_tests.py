"""Tests by models of the tasks of any corpus of PROBE, over HTTP: sound tasks, and tasks of one fault each."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from builders.made_people import made_person, made_task
from builders.pool_roles import honest, shown
from fakes.server import Answer, shuffled
from probe_files import action, corpus_document, files, in_folder, right, world

from dspy_proact import Audit, Gate, ModelSpec
from dspy_proact.audit.testing import CorpusTests
from dspy_proact.benchmarks.probe.generation.files import input_of, output_of
from dspy_proact.errors import LimitReached, UsageError
from dspy_proact.generation.maker import Kept
from dspy_proact.models import Limits

ROLES = ("solver", "judge", "adversary", "auditor")
SECRET = "zq7secret"
PEOPLE, PER_PERSON = 5, 3


def right_action(sent):
    """The one that whoever knows the bottleneck would take."""
    paper = json.loads(shown(sent)["bottleneck"])["description"].partition("waits for the ")[2].partition(" that")[0]
    return f"request_{paper.replace(' ', '_')}"


def attentive(sent, **options):
    """What each role answers about sound tasks: an auditor too, who finds the right action."""
    if sent.role != "auditor":
        return honest(sent, **options)
    return Answer(json.dumps({"audit": {"resolving": [right_action(sent)], "reason": "It is asked for."}}))


def written(folder, people=PEOPLE, per_person=PER_PERSON, change=lambda source, right_side: None, items=3):
    """The files of tasks about pools, each of which may be changed."""
    for number in range(1, people + 1):
        person = made_person(number, *(made_task(one, items=items) for one in range(1, per_person + 1)))
        for task in person.tasks:
            key = f"bottleneck_{number:03d}_{task.number:02d}_eva"
            source = input_of(person, task, f"p{number}")
            right_side = output_of(Kept(number, 1, person, ()), task, f"p{number}", key)
            change(source, right_side)
            in_folder(folder, files(source, right_side, key))
    return folder


@pytest.fixture
def tests_of(tmp_path, server):
    """Tests of the tasks in a folder, whose roles the server plays."""

    def made(script=attentive, folder=None, limits=None, **of):
        server.script = script
        specs = {name: ModelSpec(name="hosted_vllm/any", api_base=server.base(name)) for name in ROLES}
        where = folder or written(tmp_path / "tasks")
        gate = Gate(retries=0, limits=limits)
        return CorpusTests(where, specs["solver"], specs, gate=gate, benchmark="probe", **of)

    return made


def checks_of(tests, out):
    return {check.name: check for check in tests.tests(tests.run(out).made).checks}


# What is shown


def test_sound_tasks_are_solved_from_all_their_evidence_and_from_nothing_less(tests_of, tmp_path):
    tests = tests_of()
    shares = tests.tests(tests.run(tmp_path / "out").made)
    checks = {check.name: check for check in shares.checks}
    # All of 15 tasks of five people: the exact lower end of five trials is .025 ** (1 / 5) = .478.
    assert checks["solvable"].state == "passed"
    assert checks["solvable"].sentence == (
        "Answers by hosted_vllm/any from the evidence alone solve 100.0 % of 15 tasks (95 % 47.8 to 100.0); the bar is "
        "80 %, below which the interval reaches."
    )
    assert checks["less than the evidence"].sentence == (
        "Without one item of the evidence, or from one alone, first answers solve 0.0 % of 15 tasks (95 % 0.0 to 52.2)."
    )
    assert checks["without any text"].sentence == (
        "An adversary who sees no text solves 0 of 15 tasks (95 %: at most 52.2 %)."
    )
    assert checks["one action resolves"].sentence == (
        "In 15 of 15 tasks the right action is the only one that resolves the bottleneck, as hosted_vllm/any says "
        "without knowing which was meant (95 % 47.8 to 100.0)."
    )
    assert not [finding for check in checks.values() for finding in check.findings]
    assert {check.state for name, check in checks.items() if name != "solvable"} == {"reported"}
    assert shares.reach == "Models tested 15 of 15 tasks."
    audit = Audit(tmp_path / "tasks", benchmark="probe", tests=shares)
    clause = "from the evidence alone hosted_vllm/any solves 100 % (95 % 48 to 100), from less at most 52 %"
    assert clause in audit.headline.text or f"{clause[0].upper()}{clause[1:]}." in audit.headline.caveats
    assert len(audit.headline.text.split()) <= 30
    assert "<dt>Model as adversary</dt><dd><bdi>hosted_vllm/any</bdi></dd>" in audit.to_html()


def test_a_facet_that_stands_nowhere_fails_the_bar_and_every_task_is_named(tests_of, tmp_path):
    def without(source, right_side):
        right_side["bottleneck"]["facets"]["impact_scope"] = "bankruptcy proceedings"

    tests = tests_of(folder=written(tmp_path / "tasks", change=without))
    check = checks_of(tests, tmp_path / "out")["solvable"]
    assert (check.state, check.tested, len(check.findings)) == ("failed", 15, 15)
    assert check.findings[0].key == "bottleneck_001_01_eva"
    assert check.findings[0].problem == "From all its evidence, 0 of 3 answers solve it."


def test_an_item_that_can_be_spared_is_named_as_its_file_names_it(tests_of, tmp_path):
    tests = tests_of(lambda sent: attentive(sent, **({"spared": "water report"} if sent.role == "solver" else {})))
    check = checks_of(tests, tmp_path / "out")["less than the evidence"]
    # Of three tasks a person the first one: without the item that names the paper, which is one of six questions.
    assert check.state == "reported"
    assert [finding.key for finding in check.findings] == [f"bottleneck_00{one}_01_eva" for one in range(1, 6)]
    problem = "Without item_10aa, 3 of 3 answers solve it: not all its evidence is needed."
    assert {finding.problem for finding in check.findings} == {problem}
    assert check.estimate.value == pytest.approx(1 / 6 / 3)


def test_a_second_action_that_resolves_and_a_right_one_that_does_not_are_named(tests_of, tmp_path):
    def two(sent):
        if sent.role != "auditor":
            return honest(sent)
        action, first = right_action(sent), "water" in right_action(sent)
        named = ["write_to_all", action] if first else ["write_note"] if "boiler" in action else []
        return Answer(json.dumps({"audit": {"resolving": named, "reason": "It is enough."}}))

    check = checks_of(tests_of(two, folder=written(tmp_path / "t", people=1)), tmp_path / "out")["one action resolves"]
    assert check.state == "reported"
    assert check.sentence.startswith("In 0 of 3 tasks the right action is the only one that resolves")
    assert check.sentence.endswith("models err about actions, so read the others.")
    assert [finding.problem for finding in check.findings] == [
        "write_to_all would resolve it, too (It is enough).",
        "write_note would resolve it, too (It is enough).",
        "The right action, request_boiler_log, would not resolve it.",
        "The right action, request_lift_permit, would not resolve it (It is enough).",
    ]


def test_what_an_adversary_solves_without_any_text_is_named(tests_of, tmp_path):
    def finds(sent):
        if sent.role != "adversary" or not re.search("Lake Baths [12]", sent.text):
            return attentive(sent)
        guess = {
            "evidence": [],
            "bottleneck": "Eva Lund waits for Rolf Dahl: inspection of hall 1, water report not requested",
            "action": "request_water_report",
            "reason": "The times.",
        }
        return Answer(json.dumps({"shortcut": guess}))

    check = checks_of(tests_of(finds), tmp_path / "out")["without any text"]
    assert check.sentence.startswith("An adversary who sees no text solves 2 of 15 tasks (95 %: at most ")
    assert [finding.key for finding in check.findings] == ["bottleneck_001_01_eva", "bottleneck_002_01_eva"]


def test_too_few_tasks_are_no_test_of_the_bar_and_the_headline_says_that_nothing_is_shown(tests_of, tmp_path):
    tests = tests_of(limit=2)
    shares = tests.tests(tests.run(tmp_path / "out").made)
    assert (shares.shown, shares.reach) == ("", "Models tested 2 of 15 tasks.")
    assert {check.name: check.state for check in shares.checks}["solvable"] == "not tested"
    lines = Audit(tmp_path / "tasks", benchmark="probe", tests=shares).headline.lines
    assert any(
        "hether the evidence leads to the right action and nothing less does is not shown" in one for one in lines
    )


# What cannot be graded


def test_an_audit_that_cannot_be_used_is_counted_and_the_other_tests_stand(tests_of, tmp_path):
    def unknown(sent):
        audit = {"audit": {"resolving": ["fly_away"], "reason": ""}}
        return Answer(json.dumps(audit)) if sent.role == "auditor" else honest(sent)

    checks = checks_of(tests_of(unknown, limit=1), tmp_path / "out")
    assert (checks["one action resolves"].state, checks["one action resolves"].tested) == ("not tested", 0)
    assert "There is no action 'fly_away' here" in checks["one action resolves"].findings[0].problem
    assert checks["without any text"].tested == 1


def test_answers_that_cannot_be_read_are_in_no_share_and_are_counted(tests_of, tmp_path):
    tests = tests_of(lambda sent: Answer("no JSON") if sent.role == "solver" else attentive(sent), limit=1)
    shares = tests.tests(tests.run(tmp_path / "out").made)
    checks = {check.name: check for check in shares.checks}
    assert checks["solvable"].sentence == "No answer was graded."
    # Three from all the evidence, and the first of each of six questions from less.
    assert shares.reach == "Models tested 1 of 15 tasks; 9 answers could not be graded and are in no share."


# What is asked, and paid for


def test_nothing_is_paid_twice_and_a_larger_limit_adds_to_what_is_there(tests_of, server, tmp_path):
    tests_of(limit=2).run(tmp_path / "out")
    paid = len(server.sent)
    assert tests_of(limit=2).run(tmp_path / "out").paid == 0
    assert len(server.sent) == paid
    grown = tests_of(limit=3).run(tmp_path / "out")
    assert grown.paid == len(server.sent) - paid == paid // 2
    lines = [json.loads(line) for line in (tmp_path / "out" / "tests.jsonl").read_text("utf-8").splitlines()]
    assert len({line["person"] for line in lines}) == len({line["key"] for line in lines}) == 3  # spread over people


def test_what_was_stopped_goes_on_where_it_was_and_ends_as_if_it_had_not_been(tests_of, server, tmp_path):
    at_once = tests_of(limit=3).run(tmp_path / "at once")
    calls = len(server.sent)
    with pytest.raises(LimitReached):
        tests_of(shuffled(attentive, 1), limit=3, limits=Limits(calls=calls // 2)).run(tmp_path / "out")
    resumed = tests_of(shuffled(attentive, 2), limit=3).run(tmp_path / "out")
    assert len(server.sent) == 2 * calls
    assert [one.item for one in resumed.made.kept] == [one.item for one in at_once.made.kept]
    assert Counter(sent.wire for sent in server.sent[:calls]) == Counter(sent.wire for sent in server.sent[calls:])


def test_the_forecast_is_within_thirty_percent_of_calls_and_tokens(tests_of, server, tmp_path):
    tests = tests_of()
    forecast = tests.forecast()
    tests.run(tmp_path / "out")
    characters = sum(len(row["content"]) for sent in server.sent for row in sent.messages)
    assert forecast.calls == pytest.approx(len(server.sent), rel=0.3)
    assert forecast.prompt_tokens == pytest.approx(characters / 4, rel=0.3)


def test_light_tests_ask_once_and_none_only_audits_actions(tests_of, server, tmp_path):
    checks = checks_of(tests_of(limit=1, proof="light"), tmp_path / "light")
    assert checks["less than the evidence"].tested == 1
    # One answer from all the evidence, three without an item, three from one alone.
    assert Counter(sent.role for sent in server.sent)["solver"] == 7
    server.sent.clear()
    checks = checks_of(tests_of(limit=1, proof="none"), tmp_path / "none")
    assert [sent.role for sent in server.sent] == ["auditor"]
    assert (checks["one action resolves"].tested, checks["solvable"].state) == (1, "not tested")
    assert tests_of(limit=1, proof="none").forecast().calls == 1


# What roles see


def planted(source, right_side):
    """The secret in all that is gold, or that a sanitized task has not."""
    for point in source["data_points"]:
        point |= {"metadata": {"from": SECRET}, "tags": [SECRET]}
    bottleneck, criteria = right_side["bottleneck"], right_side["checklist"]["required_steps"][2]["success_criteria"]
    bottleneck["description"] += f" {SECRET}"
    bottleneck["facets"] = {name: text and f"{text} {SECRET}" for name, text in bottleneck["facets"].items()}
    parameters = criteria["correct_parameters"]
    criteria["correct_parameters"] = {name: f"{value} {SECRET}" for name, value in parameters.items()}


def test_no_solver_request_holds_gold_and_the_adversary_sees_no_text(tests_of, server, tmp_path):
    folder = written(tmp_path / "tasks", people=2, per_person=2, change=planted)
    tests_of(folder=folder).run(tmp_path / "out")
    solving, looking, auditing = (
        [sent for sent in server.sent if sent.role == role] for role in ("solver", "adversary", "auditor")
    )
    assert {frozenset(shown(sent)) for sent in solving} == {frozenset({"world", "actions", "documents"})}
    assert not [sent for sent in (*solving, *looking) if SECRET in sent.text]
    assert not [sent for sent in (*solving, *looking, *auditing) if "solves_bottleneck" in sent.text]
    assert [sent for sent in auditing if SECRET in sent.text]  # the auditor knows what is the matter
    # Ids of files, which may tell what is evidence, are the adversary's alone.
    assert not [sent for sent in solving if "item_10aa" in sent.text]
    assert {*shown(looking[0])} == {"world", "actions", "items"}
    files_ids = [
        point["id"] for point in json.loads(next(folder.glob("*001_01*_input.json")).read_text())["data_points"]
    ]
    listed = [[item["id"] for item in json.loads(shown(sent)["items"])] for sent in looking]
    assert files_ids in listed
    texts = [item.item.text for number in (1, 2) for item in made_person(number).distractors]
    assert not [text for text in texts for sent in looking if text in sent.text]


def test_an_item_is_listed_with_its_time_or_else_the_files(tests_of, server, tmp_path):
    tests_of(limit=1).run(tmp_path / "out")
    (looking,) = [sent for sent in server.sent if sent.role == "adversary"]
    items = {item["id"]: item for item in json.loads(shown(looking)["items"])}
    person = made_person(1)
    for made in person.items_of(person.tasks[0]):
        if made.id in items and made.kind != "document":
            assert items[made.id]["time"] == made.time
            assert (items[made.id]["words"], items[made.id]["people"]) == (made.listed.words, made.listed.people)
    assert all(item["time"] for item in items.values())


# The published layout, and the stand-in


def test_the_published_layout_has_no_facets_and_may_have_actions_without_parameters(tmp_path):
    bare = world(available_actions=[action("order", "part"), action("rest")], personal_context={})
    folder = in_folder(tmp_path / "tasks", files(corpus_document(world_model=bare), right()))
    tests = CorpusTests(folder, benchmark="probe")
    shares = tests.tests(tests.run(tmp_path / "out").made)
    assert shares.stand_in
    assert {check.state for check in shares.checks} <= {"reported", "not tested"}
    assert {check.name: check.tested for check in shares.checks}["without any text"] == 1


@pytest.mark.usefixtures("probe")
def test_the_stand_in_tests_the_sample_offline_resumes_and_decides_nothing(proact, done):
    arguments = ("audit", "sample", "--benchmark", "probe", "--model", "embedded", "--limit", 2, "--out", "tests")
    out = done(*arguments)[0]
    assert "its figures measure no real model" in " ".join(out.split())
    assert "nothing less does is not shown" in " ".join(out.split())
    before = Path("tests/calls.jsonl").read_bytes()
    assert proact(*arguments)[1] == out
    assert Path("tests/calls.jsonl").read_bytes() == before
    document = json.loads(proact(*arguments, "--json")[1])
    assert document["models"] == dict.fromkeys(("solver", "judge", "adversary", "auditor"), "embedded")
    states = {check["name"]: check["state"] for check in document["checks"]}
    assert states["one action resolves"] == "reported"


@pytest.mark.usefixtures("probe")
def test_without_a_model_they_are_not_tested_and_a_role_of_the_making_is_none():
    (check,) = [check for check in Audit("sample", benchmark="probe").checks if check.name == "tests by models"]
    assert check.state == "not tested"
    with pytest.raises(UsageError, match=r"`roles.planner`: no such role"):
        CorpusTests("sample", roles={"planner": "embedded"}, benchmark="probe")
