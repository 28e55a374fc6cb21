"""What a compile tells whom: words that are planted in every persona are read for in every request and in the file."""

import json
from collections.abc import Sequence

import pytest
from parts import Heard
from server import Answer, Sent
from tuning import KEY, RATER, at, proposal, recipe, study, taught, token

from dspy_proact.benchmarks.proactbench.programs import GradeResponse
from dspy_proact.programs import OPTIMIZERS

PERSONAS = 4
WORDS = tuple(token(persona) for persona in range(PERSONAS))
JUDGE = taught(study(PERSONAS))


def words_in(text: str) -> set[str]:
    return {word for word in WORDS if word in text}


def gossip(sent: Sent) -> Answer:
    """A proposer that puts every planted word that it is shown into the instruction, and a judge that learns."""
    if sent.role == "judge":
        return JUDGE(sent)
    shown = " ".join(sorted(words_in(json.dumps(sent.messages))))
    return Answer(proposal(sent).replace("when in doubt", f"as in {shown}, when in doubt"))


@pytest.fixture(scope="module", params=OPTIMIZERS)
def heard(request, tmp_path_factory):
    """A compile with each optimizer."""
    how = recipe(request.param, trials=3)
    return Heard.of(gossip, lambda server: at(server, study(PERSONAS), how), tmp_path_factory.mktemp("out"))


def folds(heard: Heard) -> list[tuple[set[str], Sequence[Sent]]]:
    """Requests of each fold, with the words of the personas that its program must not have seen."""
    return [({token(int(item.unit[1:])) for item in fold.test}, sent) for fold, sent in heard.parts.folds]


def test_no_request_of_a_fold_holds_a_word_of_its_test_personas_but_the_grading_of_them(heard):
    learned = 0
    assert len(folds(heard)) == 2
    for unseen, requests in folds(heard):
        tested: list[bool] = []
        for sent in requests:
            *before, last = (json.dumps(message) for message in sent.messages)
            assert not words_in(" ".join(before)) & unseen
            learned += len(words_in(" ".join(before)))
            if sent.role == "proposer":
                assert not words_in(last) & unseen
                assert True not in tested
                continue
            (graded,) = words_in(last)  # a response is graded without a word of another persona's
            tested.append(graded in unseen)
        assert tested == sorted(tested), "nothing is learned after the test has begun"
        assert sum(tested) == 6  # each of its two personas' three responses, once
    # Words of training personas are found where those of test personas are looked for.
    assert learned
    proposals = [sent for _, requests in folds(heard) for sent in requests if sent.role == "proposer"]
    assert bool(proposals) == (heard.optimizer in {"miprov2", "gepa", "search"})


def test_the_whole_compile_sends_what_its_parts_send_alone(heard):
    """Side by side, with a record that they share, no fold is told of another: there is nothing further to read."""
    assert {sent.said for sent in heard.sent} == {sent.said for sent in heard.parts.everything}


def test_no_key_and_no_rater_is_in_any_request_or_in_the_file(heard):
    texts = [sent.text for sent in heard.sent]
    for text in [*texts, heard.file]:
        assert KEY not in text
        assert RATER not in text


def test_the_file_holds_no_label_beyond_its_demos_signature_fields_and_no_model(heard):
    content = json.loads(heard.file)
    states = content.pop("states").values()
    shown = [state.pop("demos") for state in states]
    assert any(shown) or heard.optimizer not in {"labeled", "bootstrap"}
    assert all(demo.keys() <= {*GradeResponse.fields, "augmented"} for demos in shown for demo in demos)
    for state in states:
        assert state["lm"] is None
        assert (state["traces"], state["train"]) == ([], [])
        state["signature"].pop("instructions")  # the proposer's words
    assert not words_in(json.dumps([content, *states]))
