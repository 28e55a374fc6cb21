"""The guard of a judge's compile: no worked case that the start gets right is lost."""

from server import Answer, verdict
from tuning import at, models, recipe, study, taught

from dspy_proact.benchmarks.proactbench.corpus import judge_cases
from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.compile import judge_compile as judging
from dspy_proact.compile.training import Candidate, Chosen
from dspy_proact.programs.artefact import Cuts

CASES = judge_cases()


def case_of(sent):
    """The worked case that is asked about; None for an item of the study."""
    if sent.role != "judge":
        return None
    said = sent.messages[-1]["content"]
    shown = [
        each
        for each in CASES
        if f"\n    {each.view.rubric.pass_criteria}\n" in said
        and "\n".join(f"    {line}" if line else "" for line in each.response.splitlines()) in said
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
        grade = case.grade if not forgets else "FAIL" if case.grade != "FAIL" else "PASS"
        return Answer(verdict(grade, [case.response]))

    return answer


def compiled(server, folder, *guards, **more):
    return at(server, study(), recipe("labeled"), guards=guards, **more).run(folder)


def test_a_candidate_that_loses_no_case_may_win(tmp_path, server):
    server.script = keeps()
    guarded, free = compiled(server, tmp_path / "a", "cases"), compiled(server, tmp_path / "b")
    assert guarded.artefact.states == free.artefact.states
    assert [guarded.artefact.card.counts[f"cases {when}"] for when in ("before", "after")] == [(40, 40), (40, 40)]
    assert "cases after" not in free.artefact.card.counts


def test_a_candidate_that_loses_one_cannot_win(tmp_path, server):
    server.script = keeps(lost=["vague"])
    free, guarded = compiled(server, tmp_path / "b"), compiled(server, tmp_path / "a", "cases")
    assert free.artefact.states["grade"].demos, "without the guard it wins"
    assert not guarded.artefact.states["grade"].demos
    assert [guarded.artefact.card.counts[f"cases {when}"] for when in ("before", "after")] == [(40, 40), (40, 40)]


def test_what_the_start_gets_wrong_need_not_be_right(tmp_path, server):
    server.script = lambda sent: models(sent) if case_of(sent) is None else Answer(verdict("FAIL"))
    right = sum(case.grade == "FAIL" for case in CASES)
    card = compiled(server, tmp_path / "a", "cases").artefact.card
    assert [card.counts[f"cases {when}"] for when in ("before", "after")] == [(right, 40), (right, 40)]


def test_the_guard_is_part_of_the_identity_and_of_the_forecast(server):
    free, guarded = at(server, study(), recipe("labeled")), at(server, study(), recipe("labeled"), guards=["cases"])
    assert guarded.identity != free.identity
    # 2 folds and the whole: 3 training sets, each with the start, 2 trials and 3 further candidates.
    calls = guarded.forecast().roles["judge"].calls - free.forecast().roles["judge"].calls
    assert calls == 3 * (1 + 2 + 3) * 40


def test_no_more_is_asked_than_is_forecast(tmp_path, server):
    server.script = keeps()
    compiling = at(server, study(), recipe("search"), guards=["cases"])
    compiling.run(tmp_path / "out")
    assert len(server.of("judge")) <= compiling.forecast().roles["judge"].calls


def test_cuts_that_would_lose_a_case_give_way_to_the_starts_in_their_phase_alone(server, monkeypatch):
    """A PARTIAL has level 1: read from 1.2 on it becomes a FAIL, read from .8 on it stays one."""
    server.script = keeps()
    compiling = at(server, study(), recipe("labeled"), guards=["cases"])
    harsh, harmless = Cuts(partial=1.2, full=1.5), Cuts(partial=0.8, full=1.5)
    fitted = {Phase.EMERGENT: harmless, Phase.CRITICAL: harsh, Phase.RECOVERY: harmless}
    monkeypatch.setattr(judging, "fitted_cuts", lambda *_: fitted)
    training = compiling.training(compiling.items, compiling.tested(compiling.program, compiling.items).results)
    student = Candidate(training.student, 0.5)
    cuts = compiling.finished(Chosen((student,), 0, {}), training).cuts
    assert cuts == {**fitted, Phase.CRITICAL: compiling.program.cuts[Phase.CRITICAL]}


def test_a_case_that_cannot_be_read_is_not_right(server):
    server.script = lambda sent: Answer("no object")
    compiling = at(server, study(), recipe("labeled"), guards=["cases"])
    training = compiling.training(compiling.items, compiling.tested(compiling.program, compiling.items).results)
    assert not training.right_at_start
