"""What a compile tells whom: words that are planted in every persona are read for in every request and in the file."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from server import Answer, Sent, Server
from tuning import KEY, RATER, at, plan, proposal, study, taught, token

from dspy_proact.compile import OPTIMIZERS, Finished, Optimizer, grouped_folds, labelled
from dspy_proact.errors import UsageError
from dspy_proact.programs import GradeResponse

PERSONAS = 4
WORDS = tuple(token(persona) for persona in range(PERSONAS))
JUDGE = taught(study(PERSONAS))
FOLD = re.compile(r"fold (\d+) of (\d+)")


def words_in(text: str) -> set[str]:
    return {word for word in WORDS if word in text}


def gossip(sent: Sent) -> Answer:
    """A proposer that puts every planted word that it is shown into the instruction, and a judge that learns."""
    if sent.role == "judge":
        return JUDGE(sent)
    shown = " ".join(sorted(words_in(json.dumps(sent.messages))))
    return Answer(proposal(sent).replace("when in doubt", f"as in {shown}, when in doubt"))


@dataclass(frozen=True)
class Heard:
    """A compile, and what was sent between the lines that it told."""

    optimizer: str
    finished: Finished
    parts: Sequence[tuple[str, Sequence[Sent]]]

    @property
    def folds(self):
        """The folds' requests, each with the words of its test personas."""
        folds = grouped_folds(labelled(study(PERSONAS)), 2, 0)
        words = [{token(int(item.unit[1:])) for item in fold.test} for fold in folds]
        return [(words[int(found[1]) - 1], sent) for line, sent in self.parts if (found := FOLD.match(line))]


def listened(folder: Path, optimizer: Optimizer, start: Path | None = None) -> Heard:
    """Compile at a server of its own."""
    with Server(gossip) as server:
        told: list[tuple[str, int]] = []
        compiling = at(server, study(PERSONAS), plan(optimizer, trials=3), start=start)
        finished = compiling.run(folder, lambda line: told.append((line, len(server.sent))))
        ends = [place for _, place in told[1:]] + [len(server.sent)]
        parts = [(line, server.sent[begin:end]) for (line, begin), end in zip(told, ends, strict=True)]
        return Heard(optimizer, finished, parts)


@pytest.fixture(scope="module", params=OPTIMIZERS)
def heard(request, tmp_path_factory):
    """A compile with each optimizer."""
    return listened(tmp_path_factory.mktemp("leaks") / "out", request.param)


def test_no_request_of_a_fold_holds_a_word_of_its_test_personas_but_the_grading_of_them(heard):
    learned, tested = 0, 0
    assert len(heard.folds) == 2
    for hidden, requests in heard.folds:
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
        tested += testing
    # A program that is the start's is tested from DSPy's memory; where something was learned it is seen to be asked,
    # and words of training personas are found where those of test personas are looked for.
    assert tested
    assert learned
    proposals = [sent for _, requests in heard.folds for sent in requests if sent.role == "proposer"]
    assert bool(proposals) == (heard.optimizer in {"miprov2", "gepa", "search"})


def test_no_key_and_no_rater_is_in_any_request_or_in_the_file(heard):
    texts = [sent.text for _, requests in heard.parts for sent in requests]
    for text in [*texts, heard.finished.path.read_text(encoding="utf-8")]:
        assert KEY not in text
        assert RATER not in text


def test_the_file_holds_no_label_beyond_its_demos_signature_fields_and_no_model(heard):
    content = json.loads(heard.finished.path.read_text(encoding="utf-8"))
    state = content.pop("state")
    demos = state.pop("demos")
    assert bool(demos) or heard.optimizer not in {"labeled", "bootstrap"}
    assert all(demo.keys() <= {*GradeResponse.fields, "augmented"} for demo in demos)
    assert state["lm"] is None
    assert (state["traces"], state["train"]) == ([], [])
    state["signature"].pop("instructions")  # the proposer's words
    assert not words_in(json.dumps([content, state]))


def test_a_start_that_has_seen_one_of_the_conversations_is_refused(tmp_path):
    start = listened(tmp_path / "first", "labeled").finished.path
    with pytest.raises(UsageError, match=r"was compiled on \d+ of the conversations that these ratings are of"):
        listened(tmp_path / "second", "gepa", start)
