"""How many instructions are proposed, for which predictors, and what a card says of them; over HTTP."""

import re
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from builders import assistants, judges
from builders.assistants import few, obedient, proposed
from builders.benchmarks import Contest, fields
from builders.judges import KEY, QUOTE, at, consensus, graded, recipe, study
from fakes.server import Answer, Sent, verdict

from dspy_proact import AssistantTarget, Compile, Gate, ModelSpec, Phase, Recipe
from dspy_proact.compile import reflection
from dspy_proact.compile.brief import NOTHING
from dspy_proact.compile.proposals import proposals
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


OPTIMIZERS = pytest.mark.parametrize(("optimizer", "trials"), [("search", 2), ("miprov2", 4), ("gepa", 4)])
NUMBERS = {
    phase: {item.case.key.removeprefix(KEY) for item in graded(study()) if item.stratum == phase} for phase in Phase
}


@OPTIMIZERS
def test_every_predictor_of_a_judge_is_asked_about_by_itself_with_its_own_items(tmp_path, server, optimizer, trials):
    """A response of the study ends with its number."""
    server.script = judges.models
    compiling = at(server, study(), recipe(optimizer, trials=trials))
    compiling.run(tmp_path / "out")
    requests = server.of("proposer")
    assert {*map(phase_of, requests)} == {*Phase}
    assert len(requests) <= compiling.forecast().roles["proposer"].calls
    for sent in requests:
        content = sent.messages[-1]["content"]
        shown = re.findall(rf"{QUOTE}.*, (\d+)\.$", content, re.MULTILINE)
        assert shown
        assert {*shown} <= NUMBERS[phase_of(sent)]
        assert len({*shown}) == len(shown)
        assert len(sent.text) < 20_000


@OPTIMIZERS
def test_only_predictors_that_are_wrong_are_asked_about(tmp_path, server, optimizer, trials):
    """The judge says what people say, but in one phase the opposite."""
    people = {item.answer.text: (item.stratum, consensus(item)) for item in graded(study())}

    def script(sent: Sent) -> Answer:
        if sent.role == "proposer":
            return Answer(judges.proposal(sent))
        (phase, grade), *_ = (of for text, of in people.items() if text in str(sent.messages[-1]["content"]))
        wrong = "PASS" if grade == "FAIL" else "FAIL"
        return Answer(verdict(wrong if phase == Phase.CRITICAL else grade, [QUOTE]))

    server.script = script
    at(server, study(), recipe(optimizer, trials=trials)).run(tmp_path / "out")
    assert {*map(phase_of, server.of("proposer"))} == {Phase.CRITICAL}


@OPTIMIZERS
def test_a_request_of_an_assistants_compile_says_what_it_is_for_what_it_gets_and_what_it_is_told(
    tmp_path, server, optimizer, trials
):
    server.script = obedient("Look ahead.")
    compiling = assistants.at(server, few(), assistants.recipe(optimizer, trials=trials), system_prompt="Be kind.")
    compiling.run(tmp_path / "out")
    for sent in server.of("proposer"):
        content = sent.messages[-1]["content"]
        assert "proactive" in content
        assert "[[ ## instruction ## ]]\nBe kind." in content or "Look ahead." in content
        assert "that's everything" in content
        assert "| Good luck." in content
        assert "FELL SHORT (" in content


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


def test_beyond_the_last_tip_other_answers_are_shown(server):
    """Of 8 answers in a phase, all of them wrong, 6 are shown: the first three requests show the worst."""
    of = study(8)
    people = {item.answer.text: consensus(item) for item in graded(of)}

    def script(sent: Sent) -> Answer:
        if sent.role == "proposer":
            return Answer("Look ahead.")
        (grade, *_) = (grade for text, grade in people.items() if text in str(sent.messages[-1]["content"]))
        return Answer(verdict("PASS" if grade == "FAIL" else "FAIL", [QUOTE]))

    server.script = script
    compiling = at(server, of, recipe("miprov2"))
    target = compiling.target
    training = compiling.training(target.items, compiling.tested(target.start, target.items))
    answers = training.answers(training.student, training.examples)
    proposals(training, training.student, answers, range(6))
    shown = {phase: list[frozenset[str]]() for phase in Phase}
    for sent in server.of("proposer"):
        numbers = re.findall(rf"{QUOTE}.*, (\d+)\.$", sent.messages[-1]["content"], re.MULTILINE)
        shown[Phase(phase_of(sent))].append(frozenset(numbers))
    for sets in shown.values():
        assert {*map(len, sets)} == {6}
        assert sorted(Counter(sets).values()) == [3, 3]


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


@pytest.mark.parametrize("optimizer", ["bootstrap", "miprov2"])
def test_each_step_of_an_own_program_is_shown_its_own_step_of_a_right_answer(tmp_path, server, optimizer):
    """A riddle is thought about, then guessed, which only a guesser can that is shown a guess."""

    def script(sent: Sent) -> Answer:
        if sent.role == "proposer":
            return Answer("Guess by the thought.")
        number = re.findall(r"riddle-(\d)", str(sent.messages[-1]["content"]))[-1]
        if "[[ ## thought ## ]]" not in sent.messages[-1]["content"].partition("Respond with")[0]:
            return fields(thought=f"about {number}")
        return fields(guess="echo" if int(number) % 2 or len(sent.messages) > 2 else "wind", trick=False)

    server.script = script
    model, writer = (ModelSpec(name="openai/any", api_base=base) for base in (server.assistant, server.proposer))
    target = AssistantTarget("riddles", model, proposer=writer, benchmark=Contest())
    how = Recipe(optimizer=optimizer, trials=4, max_demos=2, folds=2)
    states = Compile(target, how, Gate(retries=0)).run(tmp_path / "out").artefact.states
    assert states["solve"].demos
    for name, shown in {"think": {"text", "thought"}, "solve": {"text", "thought", "guess", "trick"}}.items():
        assert all(demo.keys() - {"augmented"} == shown for demo in states[name].demos)


def test_what_a_brief_shows_in_place_of_no_instruction_is_no_new_one(tmp_path, server):
    server.script = obedient(NOTHING)
    card = assisting(server, "miprov2", trials=4).run(tmp_path / "out").artefact.card
    assert (card.proposals.new, card.proposals.same) == (0, card.proposals.total)
    assert card.proposals.total
