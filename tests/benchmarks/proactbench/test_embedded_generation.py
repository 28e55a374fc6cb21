"""The stand-in of those who make a corpus: a bank that keeps the rules, and roles that read their request alone."""

import re
from importlib.resources import files

import pytest

from dspy_proact.benchmarks.proactbench.embedded import _details
from dspy_proact.benchmarks.proactbench.embedded_generation import bank, has, writer
from dspy_proact.benchmarks.proactbench.generation.brief import brief_of
from dspy_proact.benchmarks.proactbench.generation.making import ProactMaker
from dspy_proact.benchmarks.proactbench.generation.plan_rules import scenario_rules
from dspy_proact.benchmarks.proactbench.generation.swap import LENGTH
from dspy_proact.benchmarks.proactbench.generation.values import Scenario
from dspy_proact.programs.embedded.fields import value_of

BRIEF = brief_of(None)
MAKER = ProactMaker(BRIEF, "none")


def ask(stage, **inputs):
    """System text and messages of a request of a stage."""
    system, *messages = MAKER.programs[stage].messages(inputs)
    return system["content"], [(message["role"], message["content"]) for message in messages]


def scenario_request(slot, page=BRIEF.product.text):
    setting = MAKER.setting(0, slot)
    return ask(
        "scenario",
        product=page,
        product_rules=BRIEF.product.rules,
        never=BRIEF.never.offers,
        who=BRIEF.users.who,
        persona=setting.persona.text,
        may_plant=BRIEF.plant.may,
        domain=setting.domain,
        initials=setting.initials,
        language="English",
        reason="",
    )


@pytest.mark.parametrize("slot", range(1, 25))
def test_its_scenarios_keep_the_rules_and_equal_requests_are_answered_alike(slot):
    answer = writer(*scenario_request(slot))
    assert answer == writer(*scenario_request(slot))
    scenario = Scenario.model_validate(value_of(answer, {})["scenario"])
    assert scenario_rules(scenario, MAKER.source) == []
    domains = [anchor.domain for anchor in scenario.anchors]
    assert sorted(map(domains.count, set(domains))) == [1, 2]


def test_every_fact_of_the_bank_can_be_swapped():
    for fact in bank()["anchors"]:
        assert fact["quote"] in BRIEF.product.text
        assert all(has(fact["says"], [key]) for key in fact["keys"])
        assert not has(fact["neutral"], fact["keys"])
        assert all(word in fact["says"] and word not in fact["neutral"] for word in fact["words"])
        assert abs(len(fact["neutral"]) / len(fact["says"]) - 1) <= LENGTH


def test_only_disclosures_have_details_that_the_assistant_would_take_up():
    for errand in bank()["errands"]:
        for _, text in (*errand["turns"], errand["closing"]):
            assert _details([text]) == ("", ""), text
        assert "?" not in errand["closing"][1]


def test_it_has_nothing_to_say_about_what_its_bank_does_not_know():
    step = {"turn": 1, "request": "x", "trigger": "EMERGENT", "needs": ["a1"], "expects": "x"}
    inputs = dict.fromkeys(("product", "system", "language", "reason"), "")
    inputs |= {"product_rules": [], "forbidden": [], "conversation": [], "order": {}, "step": step}
    assert writer(*ask("rubric", anchors=[{"id": "a1", "fact": "Unknown."}], **inputs)) == ""
    assert writer("Your objective is unknown.", [("user", "Hello")]) == "{}"


def test_its_texts_are_bundled():
    folder = files("dspy_proact.benchmarks.proactbench").joinpath("data/generation")
    assert {file.name for file in folder.iterdir()} == {"brief.toml", "personas.txt", "stand_in.toml"}
    assert not re.search(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b", folder.joinpath("personas.txt").read_text("utf-8"))
