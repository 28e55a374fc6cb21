"""How many instructions are proposed, for which predictors, and what a card says of them; over HTTP."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from builders import assistants, judges
from builders.assistants import few, obedient, proposed
from builders.judges import at, recipe, study
from fakes.server import Answer, Sent

from dspy_proact import Phase
from dspy_proact.compile import reflection
from dspy_proact.compile.reflection import Minibatches
from dspy_proact.programs.card import Proposals

TRAININGS = 3
"""Two folds, and everything."""


def phase_of(sent: Sent) -> str:
    """The phase of whose predictor a proposer is asked for the instruction."""
    (phase,) = (phase for phase in Phase if f"This is {phase}" in sent.text)
    return phase


def assisting(server, optimizer: Any, **how: Any):
    return assistants.at(server, few(), assistants.recipe(optimizer, **how))


@pytest.mark.parametrize(("optimizer", "trials"), [("gepa", 4), ("miprov2", 8)])
def test_trials_buy_as_many_proposals_as_the_forecast_says(tmp_path, server, optimizer, trials):
    """GEPA's trials are the start and three proposals; MIPROv2 has half as many instructions, with the start's."""
    server.script = obedient("Look ahead.")
    compiling = assisting(server, optimizer, trials=trials)
    card = compiling.run(tmp_path / "out").artefact.card
    assert len(server.of("proposer")) == compiling.forecast().roles["proposer"].calls == TRAININGS * 3
    assert card.proposals.total == TRAININGS * 3
    assert len(server.of("assistant")) <= compiling.forecast().roles["assistant"].calls


def test_gepa_says_before_a_call_and_on_the_card_that_one_trial_proposes_nothing(tmp_path, server):
    server.script = obedient("Look ahead.")
    compiling = assisting(server, "gepa", trials=1)
    warning = compiling.forecast().warning
    assert warning == "with 1 trial gepa tries the starting program alone and proposes nothing; it takes 2 or more"
    card = compiling.run(tmp_path / "out").artefact.card
    assert not server.of("proposer")
    assert warning in card.warnings
    assert (card.proposals, assisting(server, "gepa", trials=2).forecast().warning) == (Proposals(), None)


@pytest.mark.parametrize(("optimizer", "trials"), [("search", 2), ("miprov2", 4), ("gepa", 3)])
def test_every_predictor_of_a_judge_is_asked_about_by_itself(tmp_path, server, optimizer, trials):
    server.script = judges.models
    compiling = at(server, study(), recipe(optimizer, trials=trials))
    compiling.run(tmp_path / "out")
    requests = Counter(map(phase_of, server.of("proposer")))
    assert requests.keys() == {*Phase}
    assert requests.total() <= compiling.forecast().roles["proposer"].calls
    assert not any("def forward" in sent.text for sent in server.of("proposer"))


@pytest.mark.parametrize("optimizer", ["search", "gepa", "miprov2"])
def test_a_card_counts_what_came_of_every_request(tmp_path, server, optimizer):
    """Of three instructions one is the start's, and one cannot be read though it is asked for twice."""
    requests = Counter[str]()

    def script(sent: Sent) -> Answer:
        if sent.role != "proposer":
            return obedient()(sent)
        again = "could not be used" in sent.text
        requests["again" if again else "first"] += 1
        tip = next(index for index, tip in enumerate(assistants.TIPS) if tip in sent.text)
        return Answer(("Be kind.", proposed(sent, "Reply."), '{"improved_instruction": "cut')[tip])

    server.script = script
    trials = {"gepa": 4, "miprov2": 8, "search": 2}[optimizer]
    compiling = assistants.at(server, few(), assistants.recipe(optimizer, trials=trials), system_prompt="Reply.")
    card = compiling.run(tmp_path / "out").artefact.card
    counts = card.proposals
    assert (counts.new, counts.same, counts.unread) == (TRAININGS, TRAININGS, TRAININGS)
    assert requests == {"first": 3 * TRAININGS, "again": TRAININGS}


def test_a_fault_while_something_is_proposed_ends_a_compile_by_gepa(tmp_path, server, monkeypatch):
    """GEPA itself would go on with nothing proposed."""

    def faulty(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(reflection, "proposals", faulty)
    server.script = obedient("Look ahead.")
    with pytest.raises(ZeroDivisionError):
        assisting(server, "gepa").run(tmp_path / "out")


def test_groups_take_turns_in_minibatches_and_nothing_comes_twice_before_everything_has_come():
    """Ten examples in five groups of two: 4 + 4 + 2, and two of the next round."""
    examples = [SimpleNamespace(key=f"{group}{number}") for group in "abcde" for number in range(2)]
    minibatches = Minibatches(examples, {example.key: example.key[0] for example in examples}, size=4, seed=0)
    batches = [[examples[index].key for index in minibatches.next_minibatch_ids(None, None)] for _ in range(3)]
    assert {len({key[0] for key in batch}) for batch in batches} <= {3, 4}
    assert len({key[0] for key in batches[0]}) == 4
    assert len({key for batch in batches[:2] for key in batch} | {*batches[2][:2]}) == 10
    assert len({*batches[2]}) == 4
