"""The cases of ProactBench: every trigger of a corpus, and beside them its control turns."""

from collections.abc import Sequence

from dspy_proact.benchmarks.proactbench.corpus import Corpus, control_turns, trigger_key
from dspy_proact.benchmarks.proactbench.types import Dialogue, Turn
from dspy_proact.benchmarks.proactbench.views import ControlView, JudgeView
from dspy_proact.runs import CONTROL, Case, CaseSet, CorpusRecord


def case_set_of(corpus: Corpus, controls: bool = True) -> CaseSet:
    """The cases of a corpus: its triggers and then, if they are wanted, its control turns, each in its order."""
    record = CorpusRecord(
        name=corpus.name,
        revision=corpus.revision,
        rows=len(corpus.dialogues),
        cases=corpus.trigger_count,
        ignored_fields=dict(corpus.ignored_fields),
    )
    return CaseSet((*cases_of(corpus), *(controls_of(corpus) if controls else ())), record, corpus.sha256)


def cases_of(corpus: Corpus) -> tuple[Case, ...]:
    """One case a trigger, in the order of the corpus."""
    return tuple(
        _case(dialogue, trigger.rubric.phase, JudgeView.of(dialogue, trigger))
        for dialogue in corpus.dialogues
        for trigger in dialogue.triggers
    )


def controls_of(corpus: Corpus) -> tuple[Case, ...]:
    """One case a control turn, in the order of the corpus."""
    return tuple(
        _case(dialogue, CONTROL, ControlView.of(dialogue, turn))
        for dialogue in corpus.dialogues
        for turn in control_turns(dialogue)
    )


def conversation_case(conversation: Sequence[Turn]) -> Case:
    """A conversation of a person's own, which has no key, no scenario, no phase and no rubric."""
    view = ControlView(conversation=tuple(conversation), turn=len(conversation))
    return Case(key="", group="", stratum="", view=view)


def user_message(case: Case) -> str:
    """The message that awaits its response."""
    return conversation_of(case)[-1].user


def conversation_of(case: Case) -> tuple[Turn, ...]:
    """The turns up to the one whose response is asked for."""
    assert isinstance(case.view, JudgeView | ControlView), "ProactBench makes its own cases"
    return case.view.conversation


def _case(dialogue: Dialogue, stratum: str, view: JudgeView | ControlView) -> Case:
    curated = dialogue.turns[view.turn - 1].assistant or ""
    return Case(
        key=trigger_key(dialogue.origin.dialogue, view.turn),
        group=dialogue.origin.scenario,
        stratum=stratum,
        view=view,
        meta={**dialogue.origin.model_dump(), "turn": view.turn, "curated_response": curated},
    )
