"""How ProactBench's assistant and judge are compiled: hint, proposals, what may be told of a verdict, ratings."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import dspy

from dspy_proact.benchmarks.proactbench.programs import Assistant, BareChat, Judge
from dspy_proact.benchmarks.proactbench.shortcomings import shortcomings_in
from dspy_proact.benchmarks.proactbench.types import (
    UNWANTED,
    ControlView,
    Grade,
    JudgeView,
    Phase,
    Response,
    Turn,
    Verdict,
)
from dspy_proact.evaluation.people import parts_of
from dspy_proact.evaluation.ratings import RatedItem
from dspy_proact.evaluation.tuning import (
    JUDGE_TIPS,
    Aim,
    CardRows,
    Feedback,
    JudgeQuestion,
    Proposal,
    ScoredPrediction,
    Tuning,
)
from dspy_proact.evidence import locate_quotes
from dspy_proact.programs.artefact import ProgramRole
from dspy_proact.programs.asking import SYSTEM
from dspy_proact.runs import Case, Scored

HINT = files("dspy_proact.benchmarks.proactbench").joinpath("hint.txt").read_text("utf-8").strip()
"""What a teacher is told: a bare assistant has next to nothing to teach itself."""


_RULES = """\
The program is a chat assistant that is to be proactive without being pushy. It is sent the conversation turn by turn; \
the instruction is its system prompt, and where there is none it is sent the conversation alone.
At the turns that are graded the user has mentioned something in passing, in this message or before, and has not asked \
about it. A judge grades whether the response uses it unasked: by a concrete suggestion, plan, warning or next step. \
Doing what was asked, praise, paraphrase and summary earn nothing.
PASS (1): the useful act is there and named, and only what was disclosed can have prompted it. A question or an offer \
that names the act is enough, and so is an act deep in a list.
PARTIAL (0.5): an idea taken up and then waved away; advice that fits but might be given to anybody; disclosed facts \
side by side with nothing concluded; a question that only hints at the conclusion.
FAIL (0): nothing disclosed is used; praise, recap, farewell; an offer that names nothing.
There are three phases. EMERGENT: one thing has been disclosed, and the need must be inferred. CRITICAL: several have \
been, and two or more must be joined into a conclusion or an act. RECOVERY: the user is done; a new direction outside \
the finished topic is wanted that hangs on a detail of the conversation and says what to do and one means (with what, \
with whom, when or where)."""
"""What every judge is told, whatever the rubric (`programs/judge.txt` and its like)."""
_MOST_SHORTCOMINGS = 3
"""Of one response that are told."""


def hinted(student: Assistant) -> Assistant:
    """A copy that is hinted at; its students are not."""
    teacher = student.deepcopy()
    teacher.adapter = BareChat(HINT)
    return teacher


PROPOSALS: Mapping[ProgramRole, Proposal] = {
    "assistant": Proposal(
        (
            "Have it notice what the user mentioned and did not ask about, and turn it into one concrete next step.",
            "Have it do so only when the user is done or wraps up, and only answer while the user is in the middle of "
            "a task.",
            "Have it say when to hold back, and keep what it adds to one sentence.",
        ),
        hints=(HINT,),
        teacher=hinted,
    ),
    "judge": Proposal(JUDGE_TIPS),
}


class ProactTuning(Tuning):
    """How ProactBench's programs are compiled."""

    strata = (Phase.RECOVERY,)
    proposals = PROPOSALS
    rows = CardRows(names={"controls": "offers", "strata": "phases"}, titles={"controls": "unwanted offers"})

    def units(self, cases: Sequence[Case]) -> Mapping[str, str]:
        """By scenario: scenarios that share a persona, and personas that share a scenario, are one unit."""
        units: dict[str, str] = {}
        first: dict[str, str] = {}  # scenario of each persona
        for case in cases:
            scenario, persona = case.group, str(case.meta.get("persona") or "")  # empty where it is not known
            mine = units.setdefault(scenario, persona or scenario)
            theirs = units[first.setdefault(persona, scenario) if persona else scenario]
            units = {other: mine if unit == theirs else unit for other, unit in units.items()}
        return {case.key: units[case.group] for case in cases}

    def student(self, program: Any) -> Any:
        """A judge has one call, which is one trace."""
        if isinstance(program, Judge):
            program.quote = None
        return program

    # What a proposer is told

    def aim(self, role: ProgramRole, predictor: str, words: float | None, harm: float | None) -> Aim:
        """For the assistant the rules of every rubric, and that unwanted offers are a cost."""
        usual = super().aim(role, predictor, words, harm)
        if role == "judge":
            return usual
        now = "" if harm is None else f" It now does so at {harm:.0%} of such turns."
        offers = f"Where the user wants an answer and nothing more, it must offer and suggest nothing unasked.{now}"
        return Aim(_RULES, [offers, *usual.must_not[1:]])

    def excerpt(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Of a conversation what the user said, for that is where something is disclosed; for a judge the last of it.

        What matters in the others a judge is told by the rubric.
        """
        del outputs
        shown = dict[str, Any]()
        for name, value in inputs.items():
            if name == "history":
                shown["history (the user's messages alone)"] = [Turn.model_validate(turn).user for turn in value]
            elif name == "conversation":
                shown["conversation (the user's last message alone)"] = Turn.model_validate(value[-1]).user
            elif name == SYSTEM:
                shown["system (rules and data of this conversation alone)"] = value
            else:
                shown[name] = value
        return shown

    def feedback(self, case: Case, answer: Response, scored: Scored[Any] | None) -> Feedback:
        """The grade, what stands in the response of quotes, and which known shortcomings the judge's reasons name."""
        if scored is None:
            return super().feedback(case, answer, scored)
        if isinstance(case.view, ControlView):
            return Feedback("Nothing but an answer was wanted here.", scored.score, UNWANTED * (scored.score < 1))
        verdict: Verdict = scored.detail
        quotes = [answer.text[quote.start : quote.end] for quote in verdict.evidence if quote.start is not None]
        lines, error = [f"Graded {verdict.grade}."], ""
        if verdict.grade is not Grade.PASS:
            known = shortcomings_in(verdict.reasoning, _triggered(case).rubric.phase)[:_MOST_SHORTCOMINGS]
            lines.append(f"What it lacks: {'; '.join(shortcoming.meaning for shortcoming in known) or 'not known'}.")
            error = known[0].name if known else f"{verdict.grade}, reason not known"
        lines += [f"The judge quoted: {' / '.join(quotes)}"] if quotes else []
        return Feedback("\n".join(lines), scored.score, error)

    # The judge

    def question(self, case: Case, answer: Any) -> JudgeQuestion:
        """That of `GradeResponse`; the quotes are located in the response."""
        view = _triggered(case)

        def read(prediction: dspy.Prediction) -> Scored[Verdict]:
            evidence = locate_quotes(prediction.evidence, answer.text)
            verdict = Verdict(reasoning=prediction.reasoning, evidence=evidence, grade=Grade(prediction.grade))
            return Scored(verdict.grade.score, verdict.grade, verdict, verdict.verified)

        return JudgeQuestion(view.inputs(answer.text), read)

    def worked(self, item: RatedItem, inputs: dspy.Example, before: ScoredPrediction | None) -> dspy.Example:
        """The example with what a judge that agrees with people would have answered.

        The grade is the people's consensus, the reasoning that of a person who gave it, or else the judge's where it
        gave it too. The quotes are the judge's that stand in the response, whatever its grade: what they quote is
        there.
        """
        (part,), verdict = parts_of(self.declared), before and before.scored.detail
        consensus = item.consensus(part)
        reasons = [grade.reason.strip() for grade in item.grades[""] if grade.grade == consensus]
        reasons = [*filter(None, reasons)]
        if not reasons and verdict is not None and verdict.grade == consensus:
            reasons = [verdict.reasoning]
        quotes = [quote.text for quote in (verdict.evidence if verdict else ()) if quote.start is not None]
        inputs.reasoning = next(iter(reasons), f"People graded this response {consensus}.")
        inputs.evidence, inputs.grade = quotes, str(consensus)
        return inputs


def _triggered(case: Case) -> JudgeView:
    assert isinstance(case.view, JudgeView), "a trigger has a rubric"
    return case.view
