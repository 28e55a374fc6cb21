"""`JudgeCompile` from end to end: every optimizer, stopped and gone on with, with votes, and what it refuses."""

import json
import signal
from collections import Counter

import dspy
import pytest
from server import GRADES, Answer, error, verdict
from tuning import QUOTE, at, consensus, graded, lasting, models, recipe, study, taught

from dspy_proact.benchmarks.proactbench.corpus import load_ratings
from dspy_proact.compile.judge_compile import JudgeCompile
from dspy_proact.errors import LimitReached, ProviderDown, RunError, UsageError
from dspy_proact.models import Limits
from dspy_proact.programs import OPTIMIZERS
from dspy_proact.programs.artefact import read_artefact


def bodies(sent):
    return Counter(json.dumps([each.role, each.body], sort_keys=True) for each in sent)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_compile_that_a_limit_stopped_goes_on_to_the_same_file_and_pays_for_nothing_twice(
    tmp_path, server, optimizer
):
    """So does a second compile from nothing, which the first two runs of this test are."""
    server.script = models
    ratings, how = study(), recipe(optimizer)
    compiling = at(server, ratings, how)
    whole = compiling.run(tmp_path / "whole")
    asked = bodies(server.sent)
    assert whole.paid == len(server.sent)
    # No request is paid for twice, but for what a proposer is asked again on purpose.
    assert set(bodies(server.of("judge")).values()) == {1}
    for role, most in compiling.forecast().roles.items():
        assert len(server.of(role)) <= most.calls
    assert read_artefact(whole.path) == whole.artefact

    server.sent.clear()
    half = whole.paid // 2
    with pytest.raises(LimitReached):
        at(server, ratings, how, limits=Limits(calls=half)).run(tmp_path / "parts")
    assert len(server.sent) == half
    assert not (tmp_path / "parts" / "judge.json").exists()
    resumed = at(server, ratings, how).run(tmp_path / "parts")
    assert resumed.paid == whole.paid - half
    assert bodies(server.sent) == asked
    assert lasting(resumed.path) == lasting(whole.path)


# Votes


def unequal(*grades):
    """A judge that grades the same request otherwise every time, in turn."""
    times = Counter()

    def answer(sent):
        if sent.role == "proposer":
            return models(sent)
        name = json.dumps(sent.body, sort_keys=True)
        times[name] += 1
        return Answer(verdict(grades[(times[name] - 1) % len(grades)], [QUOTE]))

    return answer


def test_each_vote_is_asked_for_and_the_file_says_how_many(tmp_path, server):
    server.script = unequal("PASS", "FAIL", "FAIL")
    ratings = study()
    finished = at(server, ratings, recipe("labeled"), votes=3).run(tmp_path / "out")
    assert finished.artefact.votes == 3
    # An optimizer compares by the first vote alone; whatever is tested, or fitted on, is voted on.
    times = Counter(bodies(server.sent).values())
    assert set(times) <= {1, 3}
    assert times[3] >= len(ratings.items)
    # Mean level (2 + 0 + 0) / 3 = .67 lies between the plain cuts: PARTIAL throughout, so that every phase has a kappa
    # of 0 and judges nothing.
    assert finished.artefact.card["emergent"].after.value == pytest.approx(0.0)
    partial = sum(consensus(each) == "PARTIAL" for each in graded(ratings)) / len(ratings.items)
    exact = [row.beside["exact before"].value for row in finished.artefact.card.rows]
    assert sum(exact) / 3 == pytest.approx(partial)


def test_every_vote_has_an_answer_of_its_own_that_is_kept(tmp_path, server):
    ratings, how = study(), recipe("labeled")
    server.script = unequal(*GRADES)
    whole = at(server, ratings, how, votes=2).run(tmp_path / "whole")
    first, server.script = len(server.sent), unequal(*GRADES)
    # One at a time, so that a limit leaves an item with its first vote and without its second.
    with pytest.raises(LimitReached):
        at(server, ratings, how, votes=2, limits=Limits(calls=17), concurrency=1).run(tmp_path / "parts")
    resumed = at(server, ratings, how, votes=2).run(tmp_path / "parts")
    assert len(server.sent) == 2 * first
    assert lasting(resumed.path) == lasting(whole.path)


def test_a_card_of_two_raters_speaks_of_these_alone(tmp_path, server):
    server.script = models
    card = at(server, study(), recipe()).run(tmp_path / "out").artefact.card
    told = [each.reason or "" for each in (card.target.before, card.target.after)]
    assert (card.raters, ["for these 2 raters only" in reason for reason in told]) == (2, [True, True])


# What goes wrong on the way


def test_a_provider_that_fails_for_good_stops_the_compile_and_the_same_call_goes_on(tmp_path, server):
    ratings, how = study(), recipe("bootstrap")
    server.script = models
    whole = at(server, ratings, how).run(tmp_path / "whole")
    server.sent.clear()
    server.script = lambda sent: error(500) if len(server.sent) > whole.paid // 2 else models(sent)
    with pytest.raises(ProviderDown, match="needs every answer"):
        at(server, ratings, how).run(tmp_path / "parts")
    kept = whole.paid // 2
    assert kept < len(server.sent) <= kept + 32  # nothing is sent after the first failure but what was in flight
    server.script = models
    resumed = at(server, ratings, how).run(tmp_path / "parts")
    assert resumed.paid == whole.paid - kept
    assert lasting(resumed.path) == lasting(whole.path)


@pytest.mark.parametrize("optimizer", ["miprov2", "gepa"])
def test_responses_whose_verdict_cannot_be_read_are_counted_and_end_nothing(tmp_path, server, optimizer):
    unreadable = tuple(study().items[place].response for place in (1, 6))

    def judge(sent):
        lost = any(response in str(sent.messages[-1]["content"]) for response in unreadable)
        return Answer("no object") if sent.role == "judge" and lost else models(sent)

    server.script = judge
    finished = at(server, study(), recipe(optimizer)).run(tmp_path / "out")
    assert finished.artefact.card.unscored == 2
    gain = finished.artefact.card.target
    assert gain.low98_unread is not None
    assert gain.count == 10


def test_a_limit_on_money_needs_a_price_of_the_proposer_too(server):
    with pytest.raises(UsageError, match="price"):
        at(server, study(), recipe(), limits=Limits(usd=1.0))


# What is refused


def test_no_more_folds_are_made_than_there_are_personas_and_fewer_than_three_are_refused(server):
    assert at(server, study(), recipe(folds=5)).recipe.folds == 4
    with pytest.raises(UsageError, match="6 triggers of 2 independent scenarios cannot make 2 folds"):
        at(server, study(2), recipe())


def test_a_folder_goes_on_with_its_own_compile_and_refuses_another_naming_what_differs(tmp_path, server):
    server.script = models
    at(server, study(), recipe()).run(tmp_path / "out")
    calls = len(server.sent)
    assert at(server, study(), recipe()).run(tmp_path / "out").paid == 0  # everything stands in the record
    for other, named in [
        (at(server, study(), recipe(seed=1)), "recipe.seed"),
        (at(server, study(), recipe(), votes=3), "settings.votes"),
        (at(server, study(5), recipe()), "data"),
        (at(server, study(), recipe(), params={"temperature": 0.5}), "models.judge.decoding.temperature"),
    ]:
        with pytest.raises(RunError, match=rf"holds another compile, which differs in {named}\b"):
            other.run(tmp_path / "out")
    assert len(server.sent) == calls


@pytest.mark.parametrize("damaged", ["", "{", "[]", "null"])
def test_a_damaged_folder_is_refused_naming_the_file(tmp_path, server, damaged):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "compile.json").write_text(damaged, encoding="utf-8")
    with pytest.raises(RunError, match=r"compile\.json"):
        at(server, study(), recipe()).run(tmp_path / "out")
    assert server.sent == []


def test_a_study_of_labels_only_is_refused():
    with pytest.raises(UsageError, match="published: has ratings without conversations and responses"):
        JudgeCompile(load_ratings("published"), recipe=recipe())


# Going on from a program


def test_a_start_is_asked_first_and_keeps_what_it_learned(tmp_path, server):
    server.script = taught(study(first=10))
    first = at(server, study(first=10), recipe("labeled")).run(tmp_path / "first")
    demos = first.artefact.states["grade"].demos
    assert demos
    server.sent.clear()
    server.script = models
    at(server, study(), recipe("gepa"), start=first.path).run(tmp_path / "second")
    for sent in server.sent[:12]:  # the judge as it is, on each response
        shown = " ".join(str(message["content"]) for message in sent.messages[:-1])
        assert all(str(demo["response"]) in shown for demo in demos)
    assert (
        at(server, study(), recipe(), start=first.path).default_folder != at(server, study(), recipe()).default_folder
    )


# The surroundings


@pytest.mark.parametrize("optimizer", ["bootstrap", "miprov2", "gepa"])
def test_nothing_is_printed_and_nothing_of_the_process_is_left_changed(tmp_path, server, capfd, optimizer):
    server.script = models
    before = dspy.cache, dspy.settings.lm, signal.getsignal(signal.SIGINT)
    at(server, study(), recipe(optimizer)).run(tmp_path / "out")
    assert capfd.readouterr() == ("", "")
    assert (dspy.cache, dspy.settings.lm, signal.getsignal(signal.SIGINT)) == before
