"""What tells evidence or the right action without being read is found, and a corpus without it is not accused."""

import json
from functools import cache

import pytest
from probe_files import action, corpus_document, document, email, event, files, in_folder, right, steps, world
from support.leaky_tasks import LEAKS, LeakyCorpus

from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.benchmarks.probe.gates import ACTIONS, BLIND, METADATA, READING, gates_of
from dspy_proact.benchmarks.probe.stated import stands


def checks_at(folder):
    """The checks of the tasks in a folder, by name."""
    checks = gates_of(load_tasks(str(folder), sanitize=False, strict=True).cases)
    by_name = {check.name: check for check in checks}
    assert len(by_name) == len(checks)
    return by_name


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The checks of a corpus that leaks something or nothing; each corpus is made once."""

    @cache
    def checks(leak=None, people=25, tasks=4):
        folder = tmp_path_factory.mktemp("corpus")
        LeakyCorpus(leak, people=people, tasks=tasks).write(folder, 0)
        return checks_at(folder)

    return checks


def failed(checks):
    return {name for name, check in checks.items() if check.state == "failed"}


# Gates


def test_a_corpus_that_leaks_nothing_is_accused_of_nothing_and_its_upper_bounds_are_printed(made):
    checks = made()
    assert failed(checks) == set()
    for name in (*METADATA, ACTIONS):
        gate = checks[name]
        if gate.p is not None:
            assert "not shown to beat chance" in gate.sentence
            assert f"to {100 * gate.estimate.high:.1f}; chance 50)" in gate.sentence
    assert checks["metadata: fields"].sentence.startswith("Nothing to tell by")
    assert all(checks[name].state == "reported" for name in READING)
    assert checks["order of shared items"].tested == 75  # 25 people with four tasks: three pairs each


@pytest.mark.parametrize(
    "leak", ["ids that count up", "order", "time of creation", "length", "type", "place of the action"]
)
def test_a_leak_is_found_by_the_gate_of_its_aspect(made, leak):
    checks = made(leak)
    gate = checks[LEAKS[leak][1]]
    assert gate.state == "failed"
    assert gate.p <= 0.05
    assert gate.estimate.low > 0.5
    assert "better than chance" in gate.sentence
    others = failed(checks) - {gate.name, "all metadata", *BLIND}
    assert others == set()


def test_p_values_of_gates_are_adjusted_together(made):
    """Of 999 exchanges none reaches what the order tells, so that p is .001 before; ten tests or more share the level.

    The gate of fields makes no test where no field differs.
    """
    p = [gate.p for name, gate in made("order").items() if name in (*METADATA, ACTIONS, *BLIND)]
    tests = len([one for one in p if one is not None])
    assert tests == len(METADATA) - 1 + 1 + len(BLIND) == 10
    assert min(p_ for p_ in p if p_ is not None) < 0.001 * tests


def test_with_fewer_than_100_tasks_or_10_people_no_gate_is_tested(made):
    for checks in (made("order", people=11, tasks=9), made("order", people=9, tasks=12)):
        gates = [checks[name] for name in (*METADATA, ACTIONS, *BLIND)]
        assert {gate.state for gate in gates} == {"not tested"}
        assert all(gate.p is None and gate.estimate is None for gate in gates)
    assert "takes 100 tasks of 10 people; there are 108 of 9" in checks["first items"].sentence
    assert "The 5 first items score F1" in checks["first items"].sentence


@pytest.mark.parametrize("people", [4, 5])
def test_below_five_people_a_rule_has_no_interval(made, people):
    """Two people who happen to be alike would give one that looks sharp."""
    checks = made(people=people, tasks=2)
    shown = [checks[name].sentence for name in (*BLIND, *READING)]
    assert {"points (no interval: fewer than 5 people); " in sentence for sentence in shown} == {people < 5}
    assert any("[" in sentence for sentence in shown) == (people == 5)
    assert any(checks[name].estimate.low is not None for name in READING) == (people == 5)


# What code counts


def one_task(folder, inputs=None, outputs=None, key="a_01"):
    return in_folder(folder, files(inputs, outputs, key))


def test_ids_of_another_form_than_most_of_their_kind_are_named(tmp_path):
    items = [*(email(f"email_{n:08x}") for n in range(3)), email("mail_1"), event("calendar_1"), document("document_1")]
    one_task(tmp_path, corpus_document(data_points=items), right(true_positive_ids=["email_00000000"]))
    check = checks_at(tmp_path)["form of ids"]
    assert check.state == "failed"
    assert check.sentence == "Of 6 ids, 1 has another form than most of their kind."
    assert check.findings[0].problem == "1 id of kind email, such as 'mail_1', has another form than most of that kind."


@pytest.mark.parametrize(
    "ids",
    [
        ("email_1f0c", "calendar_9b3d", "document_00aa"),
        (
            "0c9a3fde-11aa-4e21-9b3d-00aa11bb22cc",
            "abcdefab-cafe-4bad-8bad-0123456789ab",
            "12345678-1234-4234-8234-123456789012",
        ),
        ("item-k3z", "item-zzz", "item-000"),
    ],
)
def test_opaque_ids_are_of_one_form(tmp_path, ids):
    """A word of ids that says what the type does is in many titles."""
    items = [
        email(ids[0], subject="An email item"),
        event(ids[1], title="calendar"),
        document(ids[2], title="Document"),
    ]
    one_task(tmp_path, corpus_document(data_points=items), right(true_positive_ids=[ids[0]]))
    assert checks_at(tmp_path)["form of ids"].state == "passed"


def test_an_id_with_a_word_of_its_title_is_named(tmp_path):
    items = [email("email_1"), event("calendar_1"), document("flour_1")]
    one_task(tmp_path, corpus_document(data_points=items))
    check = checks_at(tmp_path)["form of ids"]
    assert check.state == "failed"
    assert [finding.problem for finding in check.findings] == ["The id 'flour_1' has a word of the title, 'flour'."]


def test_what_an_input_says_of_the_answer_is_named(tmp_path):
    one_task(tmp_path, corpus_document(true_positive_ids=["email_1"]))
    check = checks_at(tmp_path)["fields of evidence"]
    assert check.state == "failed"
    assert [finding.problem for finding in check.findings] == [
        "Its input has true_positive_ids, which is of the output.",
        "Its input says of 'order' that it solves a bottleneck.",
    ]


@pytest.mark.parametrize("tasks", [7, 9])
def test_a_field_on_evidence_alone_is_named_once_it_is_no_chance(tmp_path, tasks):
    """One of three items is evidence: 1/3 to the 7th, for each of six names that differ, is .0027, to the 9th .0003.

    The names are metadata, its role, what that is, created_at, tags, and what these are.
    """
    actions = [{**action("order", "part"), "solves_bottleneck": None}]
    for number in range(tasks):
        items = [email() | {"metadata": {"role": "tp"}}, event() | {"tags": []}, document() | {"created_at": None}]
        inputs = corpus_document(world_model=world(available_actions=actions), data_points=items)
        one_task(tmp_path, inputs, right(true_positive_ids=["email_1"]), f"a_{number:02}")
    check = checks_at(tmp_path)["fields of evidence"]
    problem = "'metadata' stands on evidence alone, in all 9 tasks in which an item has it."
    assert [finding.problem for finding in check.findings] == [problem] * (tasks > 7)
    assert check.sentence.endswith("by a field." if tasks > 7 else "beyond what is chance.")


def test_a_field_that_is_lacking_on_evidence_alone_is_named(tmp_path):
    """Two of five items, both of which lack it, in five tasks: 1/10 to the fifth."""
    actions = [{**action("order", "part"), "solves_bottleneck": None}]
    for number in range(5):
        items = [email(f"email_{n}") | ({"created_at": None} if n < 2 else {}) for n in range(5)]
        inputs = corpus_document(world_model=world(available_actions=actions), data_points=items)
        one_task(tmp_path, inputs, right(true_positive_ids=["email_0", "email_1"]), f"a_{number:02}")
    check = checks_at(tmp_path)["fields of evidence"]
    problem = "'created_at' is lacking on evidence alone, in all 5 tasks in which one lacks it."
    assert [finding.problem for finding in check.findings] == [problem]


def test_siblings_with_shared_items_in_another_order_are_reported(tmp_path):
    one_task(tmp_path)
    one_task(tmp_path, corpus_document(data_points=[document(), event(), email()]), key="a_02")
    check = checks_at(tmp_path)["order of shared items"]
    assert check.state == "reported"
    assert check.sentence == "1 of 1 pair of tasks has the shared items in different orders."
    assert check.findings[0].key == "a_02"


@pytest.mark.parametrize(
    ("support", "state", "problem"),
    [
        ({}, "passed", None),
        ({"part": "email_1"}, "passed", None),
        ({"part": {"item": "email_1", "quote": "The seal is here"}}, "passed", None),
        (
            {"part": {"item": "email_1", "quote": "A seal was there"}},
            "failed",
            "rests on a quote that is not in 'email_1'",
        ),
        (
            {"part": {"item": "document_1", "quote": "kilos"}},
            "failed",
            "is supported by 'document_1', which is no evidence",
        ),
        ({"part": "calendar_1"}, "reported", "is not in its item, 'calendar_1'"),
    ],
)
def test_a_right_value_is_in_the_evidence(tmp_path, support, state, problem):
    checklist = {"checklist_id": "", "required_steps": steps(supported_by=support)}
    one_task(tmp_path, outputs=right(checklist=checklist))
    check = checks_at(tmp_path)["right values in the evidence"]
    assert check.state == state
    expected = [f"The right value of 'part', 'seal', {problem}."] if problem else []
    assert [finding.problem for finding in check.findings] == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("annual ramp survey", "The annual ramp-survey is on."),
        ("2025-05-22", "Thursday 22 May"),
        ("2025-05-22", "on Thursday the 22nd"),
        ("2025-05-22", "May 22nd, 2025"),
        ("2025-05-22T14:30", "22/05 at 2.30 pm"),
        (3150, "PO-4471, 3,150"),
        ("3150", "It costs 3 150 crowns."),
        (3150.5, "3.150,50"),
        (3, "three of them"),
        (["Sula", "Gareth Moyle"], "Gareth Moyle has the Sula."),
        (True, "anything"),
    ],
)
def test_a_value_stands_in_a_text_in_usual_forms(value, text):
    assert stands(value, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2025-05-22", "Thursday 23 May"),
        ("2025-05-22T14:30", "22 May at 3.30 pm"),
        (150, "PO-4471, 3,150"),
        (315, "3150"),
        (["Sula", "Gareth Moyle"], "the Sula"),
        ("Gareth Moyle", "Gareth"),
    ],
)
def test_another_value_does_not(value, text):
    assert not stands(value, text)


@pytest.mark.parametrize(
    ("others", "problem"), [(["buy"], "'buy' has the type"), (["buy", "rent"], "'buy' and 'rent' have the type")]
)
def test_another_action_of_the_type_and_the_parameters_of_the_right_one_is_reported(tmp_path, others, problem):
    actions = [action("order", "part"), *(action(other, "part") for other in others), action("call", "whom")]
    one_task(tmp_path, corpus_document(world_model=world(available_actions=actions)))
    check = checks_at(tmp_path)["actions alike"]
    assert check.state == "reported"
    assert [finding.problem for finding in check.findings] == [
        f"{problem} and the parameters of the right action, 'order'."
    ]


def test_what_only_checks_read_is_no_part_of_a_run():
    (case, *_) = load_tasks("sample", sanitize=False).cases
    assert case.view.gold.supported_by
    assert "supported_by" not in json.dumps(case.view.model_dump(mode="json"))
    assert "unread" not in case.view.model_dump()
    (clean, *_) = load_tasks("sample").cases
    assert not clean.view.gold.supported_by


def test_the_sample_is_too_small_for_gates_and_its_right_values_are_all_in_its_evidence():
    checks = {check.name: check for check in gates_of(load_tasks("sample", sanitize=False).cases)}
    assert failed(checks) == set()
    assert checks["right values in the evidence"].state == "passed"
    assert checks["metadata: ids"].state == "not tested"
