"""The cases of ProactBench, of a corpus or of files that have responses already; neither needs DSPy."""

from dataclasses import replace
from pathlib import Path

from dspy_proact.benchmarks.proactbench.conversation import parse_transcript
from dspy_proact.benchmarks.proactbench.corpus.dialogues import Corpus, control_turns, load_corpus, trigger_key
from dspy_proact.benchmarks.proactbench.corpus.results import Results, ResultTrigger, read_results
from dspy_proact.benchmarks.proactbench.types import (
    ControlView,
    Dialogue,
    JudgeView,
    Phase,
    Response,
    Rubric,
    Verdict,
    usable,
)
from dspy_proact.errors import ContentError, UsageError
from dspy_proact.evaluation.responses import Responses, response_stage
from dspy_proact.evidence import locate_quotes
from dspy_proact.runs import (
    CONTROL,
    HELD_BACK,
    Case,
    CaseSet,
    CorpusRecord,
    Failure,
    RoleIdentity,
    Scored,
    Settings,
    StageEvent,
    StageKey,
    VerdictRecord,
)
from dspy_proact.types import Frozen

UNNAMED = "a judge that the file does not name"
OWN_ROW = "own_row"
"""In the `meta` of a control case that is a row of a corpus's controls."""


def case_set_of(corpus: Corpus, controls: bool = True) -> CaseSet:
    """The cases of a corpus: its triggers and then, if they are wanted, its control turns, each in its order."""
    record = CorpusRecord(
        name=corpus.name,
        revision=corpus.revision,
        rows=len(corpus.dialogues),
        cases=corpus.trigger_count,
        ignored_fields=dict(corpus.ignored_fields),
        held_back=corpus.held_back,
    )
    cases = (*cases_of(corpus), *(controls_of(corpus) if controls else ()))
    if corpus.held_back:
        cases = tuple(replace(case, meta={**case.meta, HELD_BACK: True}) for case in cases)
    return CaseSet(cases, record, corpus.sha256)


def own_case(data: bytes, source: str) -> Case:
    """A conversation in any of the field's forms that ends with the user's message, with the system text in it."""
    transcript = parse_transcript(data, source)
    view = ControlView(conversation=transcript.turns, turn=len(transcript.turns), system=transcript.system)
    return Case(key="", group="", stratum="", view=view)


def answered_corpus(results: Results, named: str | None) -> Corpus | None:
    """The corpus that a results file answers: the one that is named, or the sample where it has every trigger."""
    if named is not None:
        return load_corpus(named)
    sample = load_corpus("sample")
    dialogues = {dialogue.origin.dialogue for dialogue in sample.dialogues}
    answered = {trigger.origin.dialogue for trigger in results.triggers}
    return sample if answered and answered <= dialogues else None


def responses_in(path: Path, named: str | None = None, _: Settings | None = None) -> list[Responses]:
    """Those of a results file of the official evaluator, with the corpus that is named."""
    return [responses_of_results(read_results(path), None if named is None else load_corpus(named))]


def cases_of(corpus: Corpus) -> tuple[Case, ...]:
    """One case a trigger, in the order of the corpus."""
    return tuple(
        _case(dialogue, trigger.rubric.phase, JudgeView.of(dialogue, trigger))
        for dialogue, trigger in corpus.triggers.values()
    )


def controls_of(corpus: Corpus) -> tuple[Case, ...]:
    """One case a control turn, in the order of the corpus, and then one a row of its controls, whose `meta` says so."""
    chosen = [(dialogue, turn) for dialogue in corpus.dialogues for turn in control_turns(dialogue)]
    return tuple(
        _case(dialogue, CONTROL, ControlView.of(dialogue, turn), **more)
        for turns, more in ((chosen, {}), (corpus.controls, {OWN_ROW: 1}))
        for dialogue, turn in turns
    )


def _case(dialogue: Dialogue, stratum: str, view: JudgeView | ControlView, **more: int) -> Case:
    curated = dialogue.turns[view.turn - 1].assistant or ""
    return Case(
        key=trigger_key(dialogue.origin.dialogue, view.turn),
        group=dialogue.origin.scenario,
        stratum=stratum,
        view=view,
        meta={**dialogue.origin.model_dump(), "turn": view.turn, "curated_response": curated, **more},
    )


class _LastTurn(Frozen):
    user: str | None
    assistant: None = None


class ResultView(Frozen):
    """What a results file has of a trigger: no history, and the user's message where the file holds it."""

    conversation: tuple[_LastTurn]
    turn: int
    rubric: Rubric


def responses_of_results(results: Results, corpus: Corpus | None = None) -> Responses:
    """Those of a results file, with its verdicts.

    The file holds no history: the corpus gives it, and triggers of the corpus that the file lacks are kept, as
    responses that are absent. Without a corpus the triggers are as the file has them. Raises a `UsageError` where the
    file answers another corpus.
    """
    stages = {trigger.key: _stages(trigger) for trigger in results.triggers}
    case_set = _own_cases(results) if corpus is None else _cases_of_corpus(results, corpus)
    absent = Failure(kind="content", reason="absent", detail="the results file does not have this trigger")
    return Responses(
        name=results.name,
        parent=results.sha256,
        identity=RoleIdentity(model=results.model, program="unknown", prompt="", decoding={}),
        case_set=case_set,
        stages=tuple(
            stage for case in case_set.cases for stage in stages.get(case.key, [response_stage(case.key, None, absent)])
        ),
        embedded=results.model == "embedded",
        benchmark="proactbench",
        judges=(UNNAMED,),
        gradable=corpus is not None,
        strata=tuple(Phase),
    )


def _own_cases(results: Results) -> CaseSet:
    cases = [
        Case(
            key=trigger.key,
            group=trigger.origin.scenario,
            stratum=trigger.rubric.phase,
            view=ResultView(
                conversation=(_LastTurn(user=trigger.user_message),), turn=trigger.turn, rubric=trigger.rubric
            ),
            meta={
                **trigger.origin.model_dump(),
                "turn": trigger.turn,
                "curated_response": trigger.curated_response or "",
            },
        )
        for trigger in results.triggers
    ]
    return CaseSet.of(results.name, cases, rows=results.dialogue_count, ignored_fields=results.ignored_fields)


def _cases_of_corpus(results: Results, corpus: Corpus) -> CaseSet:
    """Those of the triggers of a corpus; raises a `UsageError` where the file answers another one."""
    corpus.require((trigger.key for trigger in results.triggers), results.name)
    for trigger in results.triggers:
        dialogue, expected = corpus.triggers[trigger.key]
        message = dialogue.turns[trigger.turn - 1].user
        if trigger.rubric != expected.rubric or trigger.user_message not in (None, message):
            raise UsageError(
                f"{results.name}: the trigger {trigger.key!r} is rephrased in the corpus {corpus.name!r}; "
                "name the version of the corpus that it answers with `corpus`"
            )
    return case_set_of(corpus, controls=False)


def _stages(trigger: ResultTrigger) -> list[StageEvent]:
    """The response and the verdict that a file has of a trigger, or why there is none."""
    response = _response(trigger.key, trigger.response)
    if response.failure:
        return [response]
    key = StageKey(case=trigger.key, epoch=1, stage="verdict", judge=UNNAMED)
    if trigger.grade is None:
        reason = (trigger.unscored_reason or "").removeprefix("verdict: ")
        failure = Failure(kind="content", reason=reason, detail="the file has no grade that counts")
        return [response, StageEvent(key=key, failure=failure, time=response.time)]
    quotes = locate_quotes(trigger.evidence, trigger.response or "")
    verdict = Verdict(reasoning=trigger.reasoning, evidence=quotes, grade=trigger.grade)
    scored = Scored(verdict.grade.score, verdict.grade, verdict, verdict.verified)
    return [
        response,
        StageEvent(key=key, grade=VerdictRecord.of(scored, verdict.model_dump(mode="json")), time=response.time),
    ]


def _response(case: str, text: str | None) -> StageEvent:
    """The response stage that a response in a file stands for, or why there is none that can be graded."""
    if text is None:
        missing = "the results file has no response to this trigger"
        return response_stage(case, None, Failure(kind="content", reason="no_response", detail=missing))
    try:
        return response_stage(case, Response(text=usable(text)))
    except ContentError as error:
        return response_stage(case, None, Failure(kind="content", reason=error.reason, detail=error.detail))
