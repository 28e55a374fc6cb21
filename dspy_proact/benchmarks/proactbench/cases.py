"""The cases of ProactBench, of a corpus or of files that have responses already; neither needs DSPy."""

from dataclasses import replace
from pathlib import Path

from dspy_proact.benchmarks.proactbench.conversation import parse_transcript
from dspy_proact.benchmarks.proactbench.corpus.dialogues import Corpus, control_turns, load_corpus, trigger_key
from dspy_proact.benchmarks.proactbench.corpus.results import Results, read_results
from dspy_proact.benchmarks.proactbench.types import ControlView, Dialogue, JudgeView, Response, usable
from dspy_proact.errors import ContentError, UsageError
from dspy_proact.evaluation.responses import Responses, response_stage
from dspy_proact.runs import (
    CONTROL,
    HELD_BACK,
    Case,
    CaseSet,
    CorpusRecord,
    Failure,
    RoleIdentity,
    Settings,
    StageEvent,
)

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


def responses_in(path: Path, named: str | None, _: Settings | None = None) -> list[Responses]:
    """Those of a results file of the official evaluator, with the corpus that it answers."""
    results = read_results(path)
    if (corpus := answered_corpus(results, named)) is None:
        raise UsageError(
            f"{path}: a results file holds no conversations; name the corpus that it answers with `corpus`"
        )
    return [responses_of_results(results, corpus)]


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


def responses_of_results(results: Results, corpus: Corpus) -> Responses:
    """Those of a results file, which holds no history: the corpus gives it.

    Triggers of the corpus that the file lacks are kept, as responses that are absent. Raises a `UsageError` where the
    file answers another corpus.
    """
    corpus.require((trigger.key for trigger in results.triggers), results.name)
    for trigger in results.triggers:
        dialogue, expected = corpus.triggers[trigger.key]
        message = dialogue.turns[trigger.turn - 1].user
        if trigger.rubric != expected.rubric or trigger.user_message not in (None, message):
            raise UsageError(
                f"{results.name}: the trigger {trigger.key!r} is rephrased in the corpus {corpus.name!r}; "
                "name the version of the corpus that it answers with `corpus`"
            )
    stages = {trigger.key: _stage(trigger.key, trigger.response) for trigger in results.triggers}
    absent = Failure(kind="content", reason="absent", detail="the results file does not have this trigger")
    return Responses(
        name=results.name,
        parent=results.sha256,
        identity=RoleIdentity(model=results.model, program="unknown", prompt="", decoding={}),
        case_set=case_set_of(corpus, controls=False),
        stages=tuple(stages.get(key) or response_stage(key, None, absent) for key in corpus.triggers),
        embedded=results.model == "embedded",
        benchmark="proactbench",
    )


def _stage(case: str, text: str | None) -> StageEvent:
    """The response stage that a response in a file stands for, or why there is none that can be graded."""
    if text is None:
        missing = "the results file has no response to this trigger"
        return response_stage(case, None, Failure(kind="content", reason="no_response", detail=missing))
    try:
        return response_stage(case, Response(text=usable(text)))
    except ContentError as error:
        return response_stage(case, None, Failure(kind="content", reason=error.reason, detail=error.detail))
