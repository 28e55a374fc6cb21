"""A results file of the official evaluator as a summary."""

from dspy_proact.benchmarks.proactbench.corpus import Results, ResultTrigger
from dspy_proact.benchmarks.proactbench.report.particulars import NOUNS
from dspy_proact.benchmarks.proactbench.types import Grade, Phase, Verdict
from dspy_proact.evidence import locate_quotes
from dspy_proact.report.measured import Controls
from dspy_proact.report.summary import Summary
from dspy_proact.runs import GivenVerdict, Outcome

UNNAMED = "a judge that the file does not name"


def summarize_results(results: Results) -> Summary:
    """The scores of a results file; its triggers without a grade are unscored, whatever the file counts them as."""
    return Summary(
        path=results.name,
        benchmark="proactbench",
        model=results.model,
        judges=(UNNAMED,),
        strata=tuple(Phase),
        labels=tuple(Grade),
        nouns=NOUNS,
        controls=Controls(reason="a results file holds no control turns"),
        embedded=results.model == "embedded",
        outcomes=tuple(map(_outcome, results.triggers)),
    )


def _outcome(trigger: ResultTrigger) -> Outcome:
    origin = trigger.origin
    user = {"user": trigger.user_message, "assistant": None}
    outcome = Outcome(
        stratum=trigger.rubric.phase,
        group=origin.scenario,
        state="pending",
        key=trigger.key,
        response=trigger.response,
        meta={**origin.model_dump(), "turn": trigger.turn, "curated_response": trigger.curated_response or ""},
        view={"conversation": [user], "turn": trigger.turn, "rubric": trigger.rubric.model_dump(mode="json")},
    )
    if trigger.unscored_reason:
        return outcome.unscored(trigger.unscored_reason)
    return outcome.graded([_verdict(trigger)], tuple(Grade))


def _verdict(trigger: ResultTrigger) -> GivenVerdict:
    assert trigger.grade is not None, "asked of graded triggers only"
    quotes = locate_quotes(trigger.evidence, trigger.response or "")
    verdict = Verdict(reasoning=trigger.reasoning, evidence=quotes, grade=trigger.grade)
    detail = verdict.model_dump(mode="json")
    return GivenVerdict(UNNAMED, 1, verdict.grade, verdict.grade.score, verdict.verified, detail)
