"""A compile knows nothing of what it tunes: a classifier of words goes through it with every optimizer."""

from collections.abc import Callable
from pathlib import Path

import pytest
from server import Answer, Sent, Server, shuffled
from toy_task import COLOURS, RULE, Word, task_at, weighing, words

from dspy_proact.compile.cross_fit import Compiled, CrossFit
from dspy_proact.compile.forecast import CompileObserver, Forecast, Progress
from dspy_proact.compile.optimizers import silenced
from dspy_proact.errors import Interrupted
from dspy_proact.models import Gate, Record
from dspy_proact.programs import OPTIMIZERS, Optimizer, Recipe


def fit(server: Server, optimizer: Optimizer, width: int = 8, record: Record | None = None) -> CrossFit:
    """A small compile."""
    recipe = Recipe(optimizer=optimizer, trials=3, max_demos=4, folds=3)
    task = task_at(server, recipe, Gate(retries=0, concurrency=width), record)
    return CrossFit(task, recipe, width, Progress(CompileObserver(), Forecast({}, width, 0, 0), 0))


def compiled(folder: Path, optimizer: Optimizer, width: int, script: Callable[[Sent], Answer]) -> Compiled:
    """A compile with a record, at a server of its own."""
    folder.mkdir()
    with Server(script) as server, Record(folder / "record.jsonl") as record, silenced():
        made = fit(server, optimizer, width, record).compiled()
        assert len(server.sent) == record.paid  # nothing is sent twice but under another rollout
        return made


def told(made: Compiled) -> object:
    """All that came of a compile but the calls."""
    return (
        made.tuned.fingerprint(),
        [(each.program.fingerprint(), each.score, each.share) for each in made.chosen.tried],
        made.chosen.place,
        dict(made.before.results),
        dict(made.after.results),
        made.fold_scores,
    )


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_it_learns_and_comes_to_the_same_at_any_width_with_answers_in_any_order(tmp_path, optimizer):
    found = [compiled(tmp_path / str(width), optimizer, width, shuffled(weighing, seed=width)) for width in (1, 8, 64)]
    assert told(found[0]) == told(found[1]) == told(found[2])
    made = found[0]
    light = sum(word.weight == "LIGHT" for word in words()) / len(words())
    assert sum(made.before.results.values()) / len(words()) == 1 - light  # every word is called heavy
    assert set(made.after.results) == {word.key for word in words()}
    assert made.fold_scores == (1, 1, 1)
    shown = made.tuned.weigh.demos
    assert RULE in made.tuned.instruction or any(demo.weight == "LIGHT" for demo in shown)
    assert made.chosen.tried[0].score < max(each.score for each in made.chosen.tried) == 1


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_nothing_of_a_folds_test_units_is_sent_but_to_test_them(server, optimizer):
    server.script = weighing
    of = fit(server, optimizer)
    before = of._tested(of.task.start, of.task.items).results
    for number, fold in enumerate(of.task.folds):
        server.sent.clear()
        of._fold(number, fold, before)
        unseen = {word.text for word in fold.test}
        assert len({word.unit for word in fold.test}) == len(COLOURS) / 3
        tested = [sent for sent in server.of("judge") if asked(sent) in unseen]
        assert sorted(asked(sent) for sent in tested) == sorted(unseen)
        for sent in server.sent:
            last = sent.text if sent.role == "proposer" else str(sent.messages[:-1])
            assert not [word for word in unseen if word in last]


def asked(sent: Sent) -> str:
    """The word that is asked about."""
    shown = str(sent.messages[-1]["content"])
    return next(word.text for word in words() if word.text in shown)


def test_words_are_told_apart_by_their_text():
    """So that what is sent can be read for them."""
    texts = [word.text for word in words()]
    assert len(set(texts)) == len(texts)
    assert not [(one, two) for one in texts for two in texts if one != two and one in two]
    assert isinstance(words()[0], Word)


def test_a_bug_in_one_part_ends_the_others_and_is_told(server, monkeypatch):
    server.script = weighing
    of = fit(server, "labeled")

    def finished(self, chosen, training):
        raise ValueError("a bug")

    monkeypatch.setattr(type(of.task), "finished", finished)
    with pytest.raises(ValueError, match="a bug"):
        of.compiled()
    assert isinstance(of.switch.halt, Interrupted)
