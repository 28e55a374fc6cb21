"""What tests by models showed of the triggers of a corpus, and the checks that follow."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import Field

from dspy_proact.audit.auditing import part_of
from dspy_proact.audit.check import AuditCheck, Finding, State
from dspy_proact.benchmarks.proactbench.generation.effect import effect_of
from dspy_proact.benchmarks.proactbench.generation.made import UNSCORED, Effect, PlantedCell, Sampled
from dspy_proact.benchmarks.proactbench.generation.planted import PLANTED
from dspy_proact.benchmarks.proactbench.generation.proof import enough, weakness
from dspy_proact.benchmarks.proactbench.generation.turn_rules import rubric_findings
from dspy_proact.benchmarks.proactbench.generation.values import DraftRubric, RubricAudit, Swap, SwapAudit
from dspy_proact.benchmarks.proactbench.types import Grade
from dspy_proact.report.numbers import counted, percent, points_of
from dspy_proact.types import Frozen

_TRIGGERS = ("trigger", "triggers")


class TestedFact(Frozen):
    """A fact that a pass needs, with the words by which the user disclosed it."""

    __test__ = False  # no test of pytest's
    id: str
    fact: str
    turn: int
    quote: str


class TestedTrigger(Frozen):
    """One trigger, and what each test of it showed."""

    __test__ = False
    key: str
    persona: str
    """The unit of clustering."""
    phase: str
    facts: tuple[TestedFact, ...] = ()
    rubric: DraftRubric | None = None
    """With the facts that it rests on; None where none was located."""
    audit: RubricAudit | None = None
    swap: Swap | None = None
    swap_audit: SwapAudit | None = None
    looking: Sampled | None = None
    """Grades of the assistant that is told to look, with the facts and without."""
    left_out: dict[str, list[str]] = Field(default_factory=dict[str, list[str]])
    """Of a CRITICAL trigger: by the fact that was left out alone, the grades of the same assistant."""
    matrix: dict[str, str] = Field(default_factory=dict[str, str])
    """By planted assistant, its grade."""
    charged: bool | None = None
    """Whether the checklist of offers makes an unwanted one where the facts are gone; None where that is not known."""
    reason: str = ""
    """Why a test was not made; empty where all were."""


def effect(triggers: Sequence[TestedTrigger]) -> Effect:
    """How often responses pass with the facts and without, over all triggers that could be tested."""
    return effect_of([(one.persona, one.looking) for one in triggers if one.looking])


def checks_of(triggers: Sequence[TestedTrigger], assistant: str, auditor: str) -> Iterator[AuditCheck]:
    """What the tests show, in the order of reading; the models are those that answered and audited."""
    yield _facts(triggers, auditor)
    yield _anchor_test(triggers, assistant)
    yield _left_out(triggers)
    yield _audits(triggers, auditor)
    yield _planted(triggers)


def _facts(triggers: Sequence[TestedTrigger], auditor: str) -> AuditCheck:
    located = sum(bool(one.facts) for one in triggers)
    findings = [Finding(key=one.key, problem=one.reason) for one in triggers if one.reason]
    has = part_of(located, len(triggers), ("rubric", "rubrics"), ("rests", "rest"))
    sentence = f"{has} on facts that {auditor} names and code locates in what the user said; the others are not tested."
    return AuditCheck.reported("facts of rubrics", sentence, len(triggers), findings)


def _anchor_test(triggers: Sequence[TestedTrigger], assistant: str) -> AuditCheck:
    """Passed where the interval of the difference lies above zero; a trigger without one is a finding."""
    name, shown = "anchor test", effect(triggers)
    if not shown.triggers:
        return AuditCheck.not_tested(name, "No trigger has graded responses with its facts and without")
    arms = f"{percent(shown.with_anchors)} % pass with the facts and {percent(shown.without_anchors)} % without"
    of = f"{counted(shown.triggers, 'trigger')} of {counted(shown.personas, 'persona')}"
    sentence = f"Of responses by {assistant}, told to look, {arms}: {points_of(shown.difference)} points, on {of}."
    findings = [
        Finding(key=one.key, problem=reason) for one in triggers if one.looking and (reason := weakness(one.looking))
    ]
    low = shown.difference.low
    state: State = "reported" if low is None else "passed" if low > 0 else "failed"
    if low is None and shown.difference.reason:
        sentence = f"{sentence[:-1]}; {shown.difference.reason}."
    return AuditCheck(
        name=name,
        state=state,
        sentence=sentence,
        tested=shown.triggers,
        findings=tuple(findings),
        estimate=shown.difference,
    )


def _left_out(triggers: Sequence[TestedTrigger]) -> AuditCheck:
    name, tested = "leave one fact out", [one for one in triggers if one.left_out]
    if not tested:
        return AuditCheck.not_tested(name, "No CRITICAL trigger with several facts was tested")
    findings = [
        Finding(key=one.key, problem=f"{grades.count(Grade.PASS)} of {len(grades)} responses pass without {fact}.")
        for one in tested
        for fact, grades in one.left_out.items()
        if grades.count(Grade.PASS) >= enough(len(grades))
    ]
    passed = part_of(len({finding.key for finding in findings}), len(tested), ("CRITICAL trigger", "CRITICAL triggers"))
    sentence = f"{passed} a fact without which responses pass: not all of its facts are needed."
    return AuditCheck.reported(name, sentence, len(tested), findings)


def _audits(triggers: Sequence[TestedTrigger], auditor: str) -> AuditCheck:
    """Reported: a model's opinion of another's rubric is right far from always."""
    audited = [(one, one.audit, one.rubric) for one in triggers if one.audit and one.rubric]
    name = "audit of rubrics"
    if not audited:
        return AuditCheck.not_tested(name, "No rubric was audited")
    findings = [
        Finding(key=one.key, problem=reason)
        for one, audit, rubric in audited
        for reason in rubric_findings(audit.model_copy(update={"advice": ""}), rubric)
    ]
    objected = part_of(len({finding.key for finding in findings}), len(audited), ("rubric", "rubrics"))
    sentence = f"{objected} an objection from {auditor}; models err about rubrics, so read them."
    return AuditCheck.reported(name, sentence, len(audited), findings)


def _planted(triggers: Sequence[TestedTrigger]) -> AuditCheck:
    """Failed where an assistant of known conduct passes more, or less, than a sound corpus lets it."""
    name, cells = "planted assistants", planted_cells(triggers)
    tested = sum(bool(one.matrix) for one in triggers)
    if not tested:
        return AuditCheck.not_tested(name, "No planted assistant answered; `proof=full` has them answer")
    missed = [(who, phase, cell) for who, row in cells.items() for phase, cell in row.items() if cell.missed]
    findings = [
        Finding(
            key="",
            problem=f"{who}, {phase}: {cell.passed} of {cell.graded} pass, and {100 * cell.low:.0f} to "
            f"{100 * cell.high:.0f} % may.",
        )
        for who, phase, cell in missed
    ]
    bars = sum(bool(cell.graded) for row in cells.values() for cell in row.values())
    known = [one.charged for one in triggers if one.charged is not None]
    charged = f"; a checklist of offers is charged at {sum(known)} of {len(known)} swaps" if known else ""
    outside = part_of(len(missed), bars, ("bar", "bars"), ("is missed", "are missed"))
    sentence = f"{outside} by assistants of known conduct, on {counted(tested, *_TRIGGERS)}{charged}."
    return AuditCheck.judged(name, sentence, tested, findings)


def planted_cells(triggers: Sequence[TestedTrigger]) -> Mapping[str, Mapping[str, PlantedCell]]:
    """By planted assistant and phase, how many of the graded triggers it passed."""
    cells = dict[str, dict[str, PlantedCell]]()
    for who, bars in PLANTED.items():
        grades = {
            phase: [
                one.matrix[who] for one in triggers if one.phase == phase and one.matrix.get(who, UNSCORED) != UNSCORED
            ]
            for phase in bars
        }
        cells[who] = {phase: PlantedCell(of.count(Grade.PASS), len(of), *bars[phase]) for phase, of in grades.items()}
    return cells
