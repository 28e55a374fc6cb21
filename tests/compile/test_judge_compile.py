"""What a judge's compile alone has: votes, and the guard by which no worked case that the start gets right is lost."""

import json
from collections import Counter

import pytest
from builders import judges
from builders.judges import QUOTE, at, lasting, models, recipe, study, taught
from fakes.server import GRADES, Answer, verdict

from dspy_proact import Judge, Limits, Phase
from dspy_proact.benchmarks.proactbench.corpus.bundled import judge_cases
from dspy_proact.compile import judge_target as judging
from dspy_proact.compile.training import variant
from dspy_proact.errors import LimitReached
from dspy_proact.programs.artefact import Cuts

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
    server.script, ratings = unequal("PASS", "FAIL", "FAIL"), study()
    made = at(server, study(), recipe("labeled"), votes=3).run(tmp_path / "out").artefact
    assert made.votes == 3
    # An optimizer compares by the first vote alone; whatever is tested, or fitted on, is voted on.
    times = Counter(Counter(json.dumps(sent.body, sort_keys=True) for sent in server.sent).values())
    assert set(times) <= {1, 3}
    assert times[3] >= len(ratings.items)
    # Mean level (2 + 0 + 0) / 3 = .67 lies between the plain cuts: PARTIAL throughout, so that every phase has a kappa
    # of 0 and judges nothing.
    assert made.card["emergent"].after.value == pytest.approx(0.0)
    partial = sum(judges.consensus(item) == "PARTIAL" for item in judges.graded(ratings)) / len(ratings.items)
    exact = [row.beside["exact before"].value for row in made.card.rows]
    assert sum(exact) / 3 == pytest.approx(partial)


def test_every_vote_has_an_answer_of_its_own_that_is_kept(tmp_path, server):
    server.script = unequal(*GRADES)
    complete = at(server, study(), recipe("labeled"), votes=2).run(tmp_path / "whole")
    first, server.script = len(server.sent), unequal(*GRADES)
    # One at a time, so that a limit leaves an item with its first vote and without its second.
    with pytest.raises(LimitReached):
        at(server, study(), recipe("labeled"), votes=2, limits=Limits(calls=17), concurrency=1).run(tmp_path / "parts")
    resumed = at(server, study(), recipe("labeled"), votes=2).run(tmp_path / "parts")
    assert len(server.sent) == 2 * first
    assert lasting(resumed.path) == lasting(complete.path)


def test_a_card_of_two_raters_speaks_of_these_alone(tmp_path, server):
    server.script = models
    card = at(server, study(), recipe("labeled")).run(tmp_path / "out").artefact.card
    lines = [item.reason or "" for item in (card.target.before, card.target.after)]
    assert (card.raters, ["for these 2 raters only" in reason for reason in lines]) == (2, [True, True])


# The guard

CASES = judge_cases()


@pytest.mark.parametrize("learns", [False, True])
def test_an_improvement_is_claimed_of_the_file_that_is_written_and_never_of_the_start(tmp_path, server, learns):
    """A judge that grades by chance may rise out of fold, while nothing better is found on everything."""
    read = judges.study(personas=8, per_persona=4)
    server.script = judges.taught(read) if learns else judges.models
    finished = judges.at(server, read, judges.recipe("labeled" if learns else "search")).run(tmp_path / "out")
    card = finished.artefact.card
    start = Judge()
    same = finished.artefact.put_into(Judge(), "file").fingerprint() == start.fingerprint()
    assert card.unchanged is (same and not learns)
    enough = {"target": card.target.model_copy(update={"count": 60}), "group_count": 10}
    raised = card.model_copy(update={"shown": False, "unchanged": True, **enough})
    assert raised.headline.text.startswith("No improvement: no candidate beat the starting program")
    assert "+" not in raised.headline.text
    assert not (card.unchanged and card.shown)


def case_of(sent):
    """The worked case that is asked about; None for an item of the study."""
    if sent.role != "judge":
        return None
    text = sent.messages[-1]["content"]
    shown = [
        case
        for case in CASES
        if f"\n    {case.case.view.rubric.pass_criteria}\n" in text
        and "\n".join(f"    {line}" if line else "" for line in case.answer.text.splitlines()) in text
    ]
    return shown[0] if shown else None


def keeps(lost=()):
    """A judge that keeps to the rules; shown demos it agrees with people, too, but loses some cases."""
    otherwise = taught(study())

    def answer(sent):
        case = case_of(sent)
        if case is None:
            return otherwise(sent)
        forgets = len(sent.messages) > 2 and case.name in lost
        grade = case.label if not forgets else "FAIL" if case.label != "FAIL" else "PASS"
        return Answer(verdict(grade, [case.answer.text]))

    return answer


def compiled(server, folder, *guards, **more):
    return at(server, study(), recipe("labeled"), guards=guards, **more).run(folder)


@pytest.mark.parametrize("lost", [(), ("vague",)])
def test_a_candidate_that_loses_a_case_cannot_win_and_another_may(tmp_path, server, lost):
    server.script = keeps(lost)
    free, guarded = compiled(server, tmp_path / "b"), compiled(server, tmp_path / "a", "cases")
    assert free.artefact.demos, "without the guard it wins"
    assert (guarded.artefact.states == free.artefact.states) is not bool(lost)
    assert not (lost and guarded.artefact.demos)
    assert [guarded.artefact.card.counts[f"cases {when}"] for when in ("before", "after")] == [(40, 40), (40, 40)]
    assert "cases after" not in free.artefact.card.counts


def test_what_the_start_gets_wrong_need_not_be_right(tmp_path, server):
    server.script = lambda sent: models(sent) if case_of(sent) is None else Answer(verdict("FAIL"))
    right = sum(case.label == "FAIL" for case in CASES)
    card = compiled(server, tmp_path / "a", "cases").artefact.card
    assert [card.counts[f"cases {when}"] for when in ("before", "after")] == [(right, 40), (right, 40)]


def test_the_guard_is_part_of_the_identity_and_of_the_forecast(server):
    free, guarded = at(server, study(), recipe("labeled")), at(server, study(), recipe("labeled"), guards=["cases"])
    assert guarded.identity != free.identity
    # 2 folds and the whole: 3 training sets, each with the start and one candidate.
    calls = guarded.forecast().roles["judge"].calls - free.forecast().roles["judge"].calls
    assert calls == 3 * 2 * 40


def test_no_more_is_asked_than_is_forecast(tmp_path, server):
    server.script = keeps()
    compiling = at(server, study(), recipe("search"), guards=["cases"])
    compiling.run(tmp_path / "out")
    assert len(server.of("judge")) <= compiling.forecast().roles["judge"].calls


def on_everything(compiling):
    target = compiling.target
    return compiling.training(target.items, compiling.tested(target.start, target.items))


def test_cuts_are_fitted_on_all_training_items_that_stand_in_no_demo(server, monkeypatch):
    server.script = models
    training, items = on_everything(at(server, study(), recipe("labeled"))), list[str]()
    monkeypatch.setattr(judging, "fitted_cuts", lambda _, own, *rest: items.extend(item.key for item in own) or {})
    program = variant(training.student, [], training.labelled[:2])
    training.target.finished(program, training)
    assert len(items) == len(training.items) - 2
    assert not {example.key for example in training.labelled[:2]} & {*items}


def test_cuts_that_would_lose_a_case_give_way_to_the_starts_in_their_phase_alone(server, monkeypatch):
    """A PARTIAL has level 1: read from 1.2 on it becomes a FAIL, read from .8 on it stays one."""
    server.script = keeps()
    compiling = at(server, study(), recipe("labeled"), guards=["cases"])
    harsh, harmless = Cuts(partial=1.2, full=1.5), Cuts(partial=0.8, full=1.5)
    fitted = {Phase.EMERGENT: harmless, Phase.CRITICAL: harsh, Phase.RECOVERY: harmless}
    monkeypatch.setattr(judging, "fitted_cuts", lambda *_: fitted)
    training = on_everything(compiling)
    cuts = compiling.target.finished(training.student, training).cuts
    assert cuts == {**fitted, Phase.CRITICAL: compiling.target.start.cuts[Phase.CRITICAL]}


def test_a_case_that_cannot_be_read_is_not_right(server):
    server.script = lambda sent: Answer("no object")
    compiling = at(server, study(), recipe("labeled"), guards=["cases"])
    assert not compiling.target.right(on_everything(compiling).guarded_at_start, compiling.target.start.cuts)


# Each phase has an instruction of its own


# GEPA takes the phases in turn, one a proposal.
@pytest.mark.parametrize(("optimizer", "trials"), [("search", 2), ("miprov2", 4), ("gepa", 12)])
def test_an_optimizer_is_shown_the_rules_of_each_phase(tmp_path, server, optimizer, trials):
    server.script = models
    states = at(server, study(), recipe(optimizer, trials=trials)).run(tmp_path / "out").artefact.states
    assert [*states] == [phase.lower() for phase in Phase]
    shown = "\n".join(sent.text for sent in server.of("proposer"))
    assert [phase for phase in Phase if f"This is {phase}" in shown] == [*Phase]
