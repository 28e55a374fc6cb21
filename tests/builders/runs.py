"""Runs of ProactBench on disk, made without a model: who answered and graded what is said by the test."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from builders import riddles
from builders.riddles import price, response_key, verdict_key, written
from dspy_proact.benchmarks.proactbench.types import (
    NOUNS,
    Grade,
    JudgeView,
    Origin,
    Phase,
    Response,
    Rubric,
    Turn,
    Verdict,
)
from dspy_proact.calls import Call
from dspy_proact.evidence import locate_quotes
from dspy_proact.report import Comparison, Summary, compare, summarize
from dspy_proact.runs import (
    Case,
    CorpusRecord,
    Failure,
    Identity,
    Manifest,
    Outcome,
    RoleIdentity,
    RunFolder,
    StageEvent,
    VerdictRecord,
)

JUDGE = "openai/j"
MODEL = "openai/m"
PHASES = ("EMERGENT", "CRITICAL", "RECOVERY")
SCORES = {"PASS": 1.0, "PARTIAL": 0.5, "FAIL": 0.0}
GRADES = tuple(SCORES)
RESPONSE = "Label the boxes today. Then call Ann."
QUOTE = "Label the boxes today."
FREE = price()


def trigger(
    dialogue: str = "d1",
    phase: str = "EMERGENT",
    *,
    turn: int = 2,
    scenario: str = "TRAVEL_07",
    domain: str = "travel",
    user: str = "Any boxes?",
    curated: str = "None that I know of.",
    criterion: str = "Plans.",
) -> Case:
    """A trigger as a run has it; its first turn is always the same."""
    origin = Origin(
        dialogue=dialogue,
        persona="0123456789abcdef",
        scenario_id=scenario,
        blueprint="BP_TRAVEL_07_EVA",
        life_domain=domain,
        style=3,
        source_model="curator-1",
    )
    rubric = Rubric(
        phase=Phase(phase), pass_criteria=criterion, partial_criteria="Hints.", fail_criteria="Does nothing."
    )
    conversation = (Turn(user="I move on Friday.", assistant="Good luck."), Turn(user=user, assistant=None))
    return Case(
        key=f"{dialogue}__t{turn}",
        group=origin.scenario,
        stratum=phase,
        view=JudgeView(conversation=conversation, turn=turn, rubric=rubric),
        meta={**origin.model_dump(), "turn": turn, "curated_response": curated},
    )


def answered(case: Case, text: str = RESPONSE, *calls: Call, epoch: int = 1, truncated: bool = False) -> StageEvent:
    """A response that is there."""
    answer = Response(text=text, truncated=truncated).model_dump()
    return StageEvent(key=response_key(case.key, epoch), answer=answer, calls=calls, time=2.0)


def graded(
    case: Case,
    grade: str = "PASS",
    *calls: Call,
    judge: str = JUDGE,
    epoch: int = 1,
    judge_epoch: int = 1,
    reasoning: str = "because",
    evidence: Sequence[str] = (QUOTE,),
    response: str = RESPONSE,
) -> StageEvent:
    """A verdict that is there, its quotes located in the response."""
    verdict = Verdict(reasoning=reasoning, evidence=locate_quotes(evidence, response), grade=Grade(grade))
    record = VerdictRecord(
        score=verdict.grade.score,
        label=verdict.grade,
        verified=verdict.verified,
        detail=verdict.model_dump(mode="json"),
    )
    key = verdict_key(case.key, epoch, judge, judge_epoch)
    return StageEvent(key=key, grade=record, calls=calls, time=3.0)


def failed(case: Case, reason: str, *, judge: str | None = None, kind: Any = "content", epoch: int = 1) -> StageEvent:
    """A stage without a result: the response, or the verdict of the judge that is named."""
    key = verdict_key(case.key, epoch, judge) if judge else response_key(case.key, epoch)
    return StageEvent(key=key, failure=Failure(kind=kind, reason=reason), calls=(), time=4.0)


def manifest(*judges: str, model: str = MODEL, **changes: Any) -> Manifest:
    """Of a run of these judges; changes are on top, `corpus_sha256`, `parent` and those of `assistant` among them."""
    judges = judges or (JUDGE,)
    spoken = {"program": "bare", "prompt": "aa", "decoding": {"temperature": 0.7}} | changes.pop("assistant", {})
    identity = Identity(
        benchmark="proactbench",
        assistant=RoleIdentity(model=model, **spoken),
        judges=tuple(RoleIdentity(model=judge, prompt="bb", decoding={}) for judge in judges),
        corpus=changes.pop("corpus_sha256", "cc"),
        parent=changes.pop("parent", None),
    )
    fields = {"identity": identity, "strata": PHASES, "labels": tuple(Grade), "nouns": NOUNS, "assistant_price": FREE}
    corpus = CorpusRecord(name="c.jsonl", revision=None, rows=1, cases=1, ignored_fields={})
    fields |= {"corpus": corpus, "judge_prices": dict.fromkeys(judges, FREE)}
    return riddles.manifest(**(fields | changes))


def run_of(
    path: Path, grades: Iterable[tuple[Case, str | None]], *judges: str, text: str = RESPONSE, **of: Any
) -> RunFolder:
    """A finished run, every trigger answered alike and graded so by the first judge; None: the response was empty."""
    grades, more = list(grades), {"judge": (judges or (JUDGE,))[0], "response": text}
    more |= {} if text == RESPONSE else {"evidence": (text,)}
    events = [
        event
        for case, grade in grades
        for event in ([answered(case, text), graded(case, grade, **more)] if grade else [failed(case, "empty")])
    ]
    return written(path, manifest(*judges, **of), [case for case, _ in grades], events)


def summary_of(path: Path, grades: Iterable[tuple[Case, str | None]], *judges: str, **of: Any) -> Summary:
    """The summary of such a run."""
    return summarize(run_of(path, grades, *judges, **of))


def spread(scenarios: int, phases: Iterable[str] = PHASES) -> list[Case]:
    """A trigger a scenario and phase, phase by phase."""
    return [
        trigger(f"d{number}", phase, turn=turn, scenario=f"S{number:02d}")
        for turn, phase in enumerate(phases, start=1)
        for number in range(scenarios)
    ]


def compared(
    folder: Path, cases: Sequence[Case], a: Iterable[str | None], b: Iterable[str | None], *judges: str, **of_b: Any
) -> Comparison:
    """Two runs that grade these triggers so; judges and changes are the second's."""
    first = summary_of(folder / "a", zip(cases, a, strict=True))
    return compare(first, summary_of(folder / "b", zip(cases, b, strict=True), *judges, **of_b))


def outcome(
    key: str, grade: str | None, *, group: str = "s", stratum: str = "EMERGENT", epoch: int = 1, **changes: Any
) -> Outcome:
    """What became of a trigger; None: unscored."""
    view = {"conversation": [{"user": f"Ask {key}", "assistant": None}], "rubric": {"phase": stratum}}
    shared = {"key": key, "epoch": epoch, "view": view, "response": "r", "meta": {"turn": 1, "life_domain": group}}
    if grade is None:
        unscored = {"state": "unscored", "reason": "response: empty", "response": None}
        return Outcome(stratum, group, **(shared | unscored | changes))
    verdict = VerdictRecord(judge="j", label=grade, score=SCORES[grade], verified=None, detail={})
    return Outcome(stratum, group, "scored", grade, SCORES[grade], verdicts=(verdict,), **{**shared, **changes})


def summary(*outcomes: Outcome, **changes: Any) -> Summary:
    fields = {
        "path": "run",
        "benchmark": "proactbench",
        "model": "m",
        "judges": ("j",),
        "embedded": False,
        "nouns": NOUNS,
    }
    return Summary(**(fields | {"strata": PHASES, "labels": GRADES, "outcomes": outcomes} | changes))
