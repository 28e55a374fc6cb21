"""In which order a reward puts policies, on the sample and on a made corpus."""

import re
from statistics import mean

import pytest
from drivers.rewards import at, of
from fakes.server import Answer, is_about_offers, offers, verdict

from dspy_proact import Corpus, Rejudging, Responses, Scope, reward, summarize
from dspy_proact.benchmarks.proactbench.cases import case_set_of
from dspy_proact.benchmarks.proactbench.embedded import assistant
from dspy_proact.benchmarks.proactbench.types import assistant_view

pytestmark = pytest.mark.usefixtures("proactbench")


def checklist(*further):
    kinds = ("a checklist", "a reminder", "a draft", "a summary", "a plan", "a comparison")
    return "\n".join([*(f"- I suggest {kind}; shall I prepare it for you?" for kind in kinds * 4), *further])


def policies(case):
    """What several policies complete at a case."""
    view = assistant_view(case.view)
    messages = [*(turn.user for turn in view.history), view.user_message]
    turns = [pair for turn in view.history for pair in (("user", turn.user), ("assistant", turn.assistant))]
    chat = [*turns, ("user", view.user_message)]
    return {
        "always": assistant("Be proactive: take up what was mentioned.", chat),
        "repeats": "\n".join(["That is done.", *(f"You mentioned this: {message}" for message in messages)]),
        "silent": "That is done.",
        "bare": assistant("", chat),
        "copies": " ".join(["I suggest", *messages]).translate(str.maketrans(".?!\n", ";;; ")),
        "list": checklist(),
        "list of all": checklist(*(f"Since you mentioned {message} I suggest planning ahead." for message in messages)),
    }


@pytest.fixture(scope="module")
def conduct(tmp_path_factory):
    """The mean reward of each policy on the sample, by the stand-in, and the score that a run of it has."""
    rewarding = reward("proactbench", split=None, out=tmp_path_factory.mktemp("conduct") / "rewards")
    cases = rewarding.cases
    rewards, scores = {}, {}
    for name in policies(next(iter(cases.values()))):
        texts = [policies(case)[name] for case in cases.values()]
        rewards[name] = mean(of(rewarding, list(cases), texts))
        rows = [{"key": key, "response": text} for key, text in zip(cases, texts, strict=True)]
        run = Rejudging(Responses.of_rows(rows, name, benchmark="proactbench", name=name))
        path = run.run(tmp_path_factory.mktemp(name.replace(" ", "-")) / "run", Scope(controls=True)).path
        scores[name] = summarize(path).micro.strict_weighted.value
    rewarding.close()
    return rewards, scores


def test_a_policy_that_always_offers_one_that_repeats_and_a_silent_one_stand_as_the_benchmark_has_them(conduct):
    rewards, scores = conduct
    for ranked in (rewards, scores):
        assert ranked["always"] > ranked["repeats"] > ranked["silent"] == 0


def test_long_lists_are_worth_less_than_the_bare_model_also_where_their_score_is_higher(conduct):
    rewards, scores = conduct
    assert scores["list of all"] > scores["bare"], "the judge alone is taken in"
    assert rewards["list"] < rewards["list of all"] < rewards["bare"]


def test_the_planted_ladder_of_a_made_corpus_is_in_order(server, tmp_path):
    """By a judge that passes what names the consequence of every fact of the rubric, and lists as offers."""
    from builders.made import made_dialogue

    from dspy_proact.benchmarks.proactbench.generation.files import dialogue_of
    from dspy_proact.benchmarks.proactbench.generation.planted import (
        CHECKLIST,
        PLANTED,
        SILENT,
        TAKER,
        planted_response,
    )
    from dspy_proact.benchmarks.proactbench.generation.proof import controls_of
    from dspy_proact.generation.maker import Kept

    made = {f"d{number}": with_consequences(made_dialogue(number)) for number in range(4)}
    dialogues = {key: dialogue_of(Kept(1, 1, item, ()), key) for key, item in made.items()}
    swaps = [(swap, len(swap.turns)) for key, item in made.items() for swap in controls_of(item, dialogues[key])]
    corpus = case_set_of(Corpus("made", None, tuple(dialogues.values()), controls=tuple(swaps)))

    def judged(sent):
        text = sent.messages[-1]["content"]
        response = text.partition("Response ")[2]
        if is_about_offers(sent):
            return Answer(offers(*(line.strip() for line in response.split("\n") if line.strip().startswith("- "))))
        needed = re.findall(r"needs <(.*?)>", text.partition("Response ")[0])
        return Answer(verdict("PASS" if needed and all(fact in response for fact in needed) else "FAIL", ["loan"]))

    server.script = judged
    rewarding = at(server, tmp_path, corpus=corpus)

    def completions(name):
        for key in rewarding.cases:
            dialogue, turn = key.partition("__")[0], int(key.rpartition("__t")[2])
            trigger = min(made[dialogue].triggers, key=lambda one: abs(one.turn - turn))
            # At a swap nothing was disclosed that could be taken up.
            acts = SILENT if "swap" in key and name == TAKER else name
            yield planted_response(acts, made[dialogue], trigger)

    ladder = [name for name in PLANTED if name != "knows the rubric"]
    worth = {name: mean(of(rewarding, list(rewarding.cases), list(completions(name)))) for name in ladder}
    longer = [text * 5 for text in completions(CHECKLIST)]
    hacker = mean(of(rewarding, list(rewarding.cases), longer))
    assert min(worth, key=worth.get) == CHECKLIST
    assert max(worth, key=worth.get) == TAKER
    assert hacker < worth[CHECKLIST] < worth[SILENT]
    rewarding.close()


def with_consequences(made):
    """Whose rubrics are passed by the consequences of their facts."""

    def needing(trigger):
        facts = "".join(f"needs <{made.scenario.anchor(name).consequence}> " for name in trigger.rubric.anchors)
        return trigger.model_copy(update={"rubric": trigger.rubric.model_copy(update={"pass_criteria": facts})})

    return made.model_copy(update={"triggers": [needing(trigger) for trigger in made.triggers]})


def test_the_figures_of_the_page_are_those_of_the_stand_in(conduct):
    rewards, scores = conduct
    assert [round(scores[name], 2) for name in ("list of all", "bare")] == [0.74, 0.27]
    assert [round(rewards[name], 2) for name in ("list of all", "bare", "copies", "always")] == [
        -0.04,
        0.16,
        0.44,
        0.44,
    ]
