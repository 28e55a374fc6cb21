"""What a compile tells whom: words that are planted in every persona are read for in every request and in the file."""

import json
import re

import pytest
from server import Answer
from tuning import KEY, RATER, at, models, plan, proposal, study, token

from dspy_proact.compile import OPTIMIZERS, grouped_folds, labelled
from dspy_proact.programs import GradeResponse

PERSONAS = 4
WORDS = tuple(token(persona) for persona in range(PERSONAS))
FOLD = re.compile(r"fold (\d+) of (\d+)")


def words_in(text):
    return {word for word in WORDS if word in text}


def gossip(sent):
    """A proposer that puts every planted word that it is shown into the instruction."""
    if sent.role == "judge":
        return models(sent)
    shown = " ".join(sorted(words_in(json.dumps(sent.messages))))
    return Answer(proposal(sent).replace("when in doubt", f"as in {shown}, when in doubt"))


@pytest.fixture
def compiled(tmp_path, server):
    """Compile at the server with an optimizer; the artefact, and the requests under the line that came before them."""

    def run(optimizer):
        server.script = gossip
        told = []
        finished = at(server, study(PERSONAS), plan(optimizer, trials=3)).run(
            tmp_path / "out", lambda line: told.append((line, len(server.sent)))
        )
        ends = [place for _, place in told[1:]] + [len(server.sent)]
        return finished, [
            (line, server.sent[begin:end]) for (line, begin), end in zip(told, ends, strict=True)
        ]

    return run


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_no_request_of_a_fold_holds_a_word_of_its_test_personas_but_the_grading_of_them(compiled, optimizer):
    _, parts = compiled(optimizer)
    folds = grouped_folds(labelled(study(PERSONAS)), 2, 0)
    sides = [{token(int(item.unit[1:])) for item in fold.test} for fold in folds]
    learned = 0
    for line, requests in parts[1:-1]:
        number = int(FOLD.match(line)[1])
        hidden = sides[number - 1]
        testing = False
        for sent in requests:
            *before, last = (json.dumps(message) for message in sent.messages)
            assert not words_in(" ".join(before)) & hidden
            learned += len(words_in(" ".join(before)))
            if sent.role == "proposer":
                assert not words_in(last) & hidden
                assert not testing
                continue
            (graded,) = words_in(last)  # a response is graded without a word of another persona's
            testing = testing or graded in hidden
            assert (graded in hidden) == testing  # nothing is learned after the test has begun
        assert testing
    assert learned  # words of training personas are where those of test personas are looked for
    assert bool([sent for _, requests in parts for sent in requests if sent.role == "proposer"]) == (
        optimizer in ("miprov2", "gepa", "search")
    )


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_no_key_and_no_rater_is_in_any_request_or_in_the_file(compiled, optimizer):
    finished, parts = compiled(optimizer)
    texts = [sent.text for _, requests in parts for sent in requests]
    for text in [*texts, finished.path.read_text(encoding="utf-8")]:
        assert KEY not in text
        assert RATER not in text


@pytest.mark.parametrize("optimizer", ["labeled", "bootstrap"])
def test_the_file_holds_no_label_beyond_its_demos_signature_fields_and_no_model(compiled, optimizer):
    finished, _ = compiled(optimizer)
    content = json.loads(finished.path.read_text(encoding="utf-8"))
    state = content.pop("state")
    demos = state.pop("demos")
    assert demos
    assert all(demo.keys() <= {*GradeResponse.fields, "augmented"} for demo in demos)
    assert not words_in(json.dumps([content, state]))
    assert state["lm"] is None
    assert (state["traces"], state["train"]) == ([], [])
