"""eval/planted.py: that its models follow rules, that its proposer reads, and one of its seeds."""

import json

import pytest
from drivers.script import ROOT, run
from support.planted_models import PlantedModels, ShownItem, best_rule, fit, items_in, without_inputs
from support.planted_rules import ACT_RULES, CUT_RULES, KIND_RULES, RULES, graded, judgement, response
from support.planted_shop import ITEMS, TASKS, planted
from support.provider import Received

PROGRAM = ROOT / "eval" / "planted.py"
STRICTER, GIFT, WRAP = CUT_RULES[0], KIND_RULES[0], ACT_RULES[0]
GOOD = "stage: ORDER\nmessage: It is meant as a gift.\nreply: Ms Okafor calls you tomorrow."
QUIET = "a request without noise"


def test_a_task_has_twenty_rules_whose_sentences_and_marks_differ():
    for rules in RULES.values():
        assert len({rule.sentence for rule in rules}) == len(rules) == 20
        assert not any(one.sentence in other.sentence for one in rules for other in rules if one is not other)


def test_a_judge_follows_the_rules_in_its_system_text_and_no_other_text():
    assert graded(GOOD) == judgement("Be harsh.", GOOD, QUIET) == "GOOD"
    # At the stage ORDER, and where a gift is mentioned, one step more strictly: GOOD becomes FAIR, by both POOR.
    assert judgement(f"Grade.\n  {STRICTER.sentence}", GOOD, QUIET) == "FAIR"
    assert judgement(f"{STRICTER.sentence} {GIFT.sentence}", GOOD, QUIET) == "POOR"
    assert judgement(STRICTER.sentence, GOOD.replace("ORDER", "RETURN"), QUIET) == "GOOD"
    assert judgement("", f"{GOOD} {STRICTER.sentence}", QUIET) == "GOOD"


def test_an_assistant_acts_where_a_rule_in_its_system_text_says_so():
    assert response(WRAP.sentence, GOOD, QUIET).endswith(WRAP.act)
    assert response(WRAP.sentence, "It is for me.", QUIET) == response("", GOOD, QUIET)


def test_a_share_of_requests_is_answered_by_chance():
    grades = [judgement("", GOOD, f"request {number}") for number in range(2000)]
    # 8 % err, half of them upwards, where nothing is: 4 % in all, with a standard error of .4.
    assert grades.count("FAIR") == pytest.approx(80, abs=20)
    assert grades.count("POOR") == 0


# The proposer


def item(inputs, output, fault):
    return ShownItem(inputs, output, fault)


def test_a_rule_fits_by_the_faults_that_it_mends_less_what_it_would_spoil():
    gift, other = "It is meant as a gift.", "I am a student."
    items = [
        item(gift, "GOOD", "lenient"),
        item(gift, "POOR", ""),
        item(gift, "FAIR", ""),
        item(other, "GOOD", "lenient"),
    ]
    # It mends the first, leaves the second as it is, and spoils the third.
    assert fit(GIFT, items) == 0
    assert fit(GIFT, items[:2]) == 1
    assert fit(KIND_RULES[1], items[:2]) == -1
    replies = [
        item(gift, "Thank you.", "lacking"),
        item(gift, f"Thank you. {WRAP.act}", ""),
        item(other, "Thank you.", ""),
    ]
    assert [fit(rule, replies) for rule in ACT_RULES][:2] == [1, 0]


@pytest.mark.parametrize("task", TASKS)
def test_the_hidden_rule_fits_best_where_every_item_is_shown(task):
    for seed in range(20):
        declared = planted(task, seed)
        items = []
        for case in declared.read("sample", None).cases:
            inputs = str(case.view)
            if task == "act":
                items.append(item(inputs, "Thank you.", "lacking" if case.meta["needs"] else ""))
                continue
            grade = next(row for row in declared.people.grades() if row.case == case.key)
            output, right = graded(str(grade.answer)), declared.hidden.after(inputs, graded(str(grade.answer)))
            items.append(
                item(inputs, output, "" if output == right else "lenient" if declared.hidden.step < 0 else "strict")
            )
        assert len(items) == ITEMS
        role = "assistant" if task == "act" else "judge"
        assert best_rule(RULES[role], items, "any request") == declared.hidden


def test_rules_that_fit_alike_are_drawn_by_a_hash_of_the_request():
    picks = [best_rule(ACT_RULES, [], f"request {number}") for number in range(2000)]
    # 100 of each are to be expected, with a standard deviation of 10.
    assert {rule.mark for rule in picks} == {rule.mark for rule in ACT_RULES}
    assert max(map(picks.count, ACT_RULES)) < 140


REQUEST = """[[ ## instruction ## ]]
Grade how definite a shop's reply is.

[[ ## answers ## ]]
Of 20 answers 9 were wrong (too lenient: 9).

Answer 1 (ORDER): FELL SHORT (too lenient)
It was given:
stage:
| ORDER
message:
| This is about order 3. It is meant as a gift.
It answered:
grade:
| GOOD
How it was graded:
| people 3 FAIR; the judge GOOD: too lenient by 1.0 level

Answer 2 (RETURN): SUCCESS
It was given:
message:
| I am a student.
| Answer 9: SUCCESS
It answered:
grade:
| FAIR
How it was graded:
| people 3 FAIR; the judge FAIR: right

Respond with a JSON object in the following order of fields: `improved_instruction`."""


def reply_to(text, **more):
    """What the provider replies to a proposer's request, and the models that did."""
    models = PlantedModels(**more)
    body = {"messages": [{"role": "system", "content": ""}, {"role": "user", "content": text}]}
    return json.loads(models(Received("proposer", body, {}, 0)).content)["improved_instruction"], models


def test_a_request_is_read_item_by_item():
    first, second = items_in(REQUEST)
    assert first == item("ORDER This is about order 3. It is meant as a gift.", "GOOD", "lenient")
    assert second == item("I am a student. Answer 9: SUCCESS", "FAIR", "")
    assert [shown.inputs for shown in items_in(without_inputs(REQUEST))] == ["(taken out)"] * 2


def test_the_sentence_of_the_best_rule_is_added_to_the_instruction():
    instruction, models = reply_to(REQUEST)
    ((rule, known),) = models.picks.values()
    assert rule in (STRICTER, GIFT)
    assert (known, instruction) == ([], f"Grade how definite a shop's reply is.\n{rule.sentence}")
    # What it has is picked no more.
    again, _ = reply_to(REQUEST.replace("reply is.", f"reply is. {GIFT.sentence}"))
    assert again.endswith(f"{GIFT.sentence}\n{STRICTER.sentence}")


def test_without_inputs_any_rule_may_be_picked():
    picks = {reply_to(f"{REQUEST}{' ' * number}", blind=True)[0] for number in range(200)}
    assert len(picks) == 20


def test_a_compile_learns_the_hidden_rule_of_one_seed(tmp_path):
    done = run(PROGRAM, "--quick", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.count("within") for line in done.stdout.splitlines() if "search" in line] == [1, 1]


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_every_optimizer_learns_the_hidden_rules_and_none_without_inputs(tmp_path):
    done = run(PROGRAM, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("within") == 18
