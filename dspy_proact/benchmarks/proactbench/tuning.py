"""How ProactBench's assistant and judge are compiled: hint, proposals, what may be told of a verdict, ratings."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import dspy

from dspy_proact.benchmarks.proactbench.programs import JUDGE_INSTRUCTIONS, Assistant, BareChat, Judge
from dspy_proact.benchmarks.proactbench.types import Grade, JudgeView, Phase, Response, Rubric, Verdict
from dspy_proact.evaluation.people import parts_of
from dspy_proact.evaluation.ratings import RatedItem
from dspy_proact.evaluation.tuning import (
    JUDGE_TIPS,
    NO_VERDICT,
    CardRows,
    Feedback,
    JudgeQuestion,
    Proposal,
    ScoredPrediction,
    Tuning,
)
from dspy_proact.evidence import locate_quotes, words_of
from dspy_proact.plain_text import tame
from dspy_proact.programs.artefact import ProgramRole
from dspy_proact.programs.embedded.words import sentences, stem
from dspy_proact.runs import Case, Scored

HINT = files("dspy_proact.benchmarks.proactbench").joinpath("hint.txt").read_text("utf-8").strip()
"""What a teacher is told: a bare assistant has next to nothing to teach itself."""


class ProposePrompt(dspy.Signature):
    """Write a better system prompt for a chat assistant that is to be proactive without being pushy.

    Proactive: it takes up what the user disclosed and did not ask about, where that is of use to them. Pushy: it adds
    suggestions where the user wants an answer and nothing more. State principles; do not mention single conversations.
    """

    instruction: str = dspy.InputField(desc="the system prompt now")
    shortfalls: list[str] = dspy.InputField(desc="last messages, responses to them, and what a judge said")
    tip: str = dspy.InputField(desc="what to try")
    improved_instruction: str = dspy.OutputField(desc="the system prompt alone")


class ProposeInstruction(dspy.Signature):
    """Improve the instruction of a judge that grades an assistant's responses, so that it agrees more with people.

    Keep what works and the fields of its answer. State principles; do not mention single conversations or responses.
    """

    instruction: str = dspy.InputField(desc="what the judge is told now")
    shortfalls: list[str] = dspy.InputField(desc="verdicts of the judge, and how people graded the same responses")
    tip: str = dspy.InputField(desc="what to try")
    improved_instruction: str = dspy.OutputField()


class TamedChat(BareChat):
    """The bare chat of a compile: its responses go into proposers' prompts, where DSPy's markers would be obeyed."""

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """The answer without markers, as the signature's only output."""
        return {name: tame(text) for name, text in super().parse(signature, completion).items()}


def hinted(student: Assistant) -> Assistant:
    """A copy that is hinted at; its students are not."""
    teacher = student.deepcopy()
    teacher.adapter = TamedChat(HINT)
    return teacher


PROPOSALS: Mapping[ProgramRole, Proposal] = {
    "assistant": Proposal(
        ProposePrompt,
        (
            "Have it notice what the user mentioned and did not ask about, and turn it into one concrete next step.",
            "Have it do so only when the user is done or wraps up, and only answer while the user is in the middle of "
            "a task.",
            "Have it say when to hold back, and keep what it adds to one sentence.",
        ),
        teacher=hinted,
    ),
    "judge": Proposal(ProposeInstruction, JUDGE_TIPS),
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
        """An assistant whose responses are tamed; a judge whose one call is one trace."""
        if isinstance(program, Assistant):
            program.adapter = TamedChat()
        elif isinstance(program, Judge):
            program.quote = None
        return program

    def feedback(self, case: Case, answer: Response, scored: Scored[Any] | None) -> Feedback:
        """The grade, quotes that stand in the response, and of the reasons what has nothing of the rubric."""
        view, response = _triggered(case), answer.text
        before = f"User: {view.conversation[-1].user}\nAssistant: {response}"
        if scored is None:
            text = "The judge's verdict on this response could not be read."
            return Feedback(text, f"{before}\n{text}", NO_VERDICT)
        verdict = scored.detail
        turns = [text for turn in view.conversation for text in (turn.user, turn.assistant or "")]
        kept, count = without_rubric_words(verdict.reasoning, view.rubric, "\n".join([*turns, response]))
        quotes = [response[quote.start : quote.end] for quote in verdict.evidence if quote.start is not None]
        lines = [
            f"The judge graded this response {verdict.grade}.",
            *([f"It quoted: {' / '.join(quotes)}"] if quotes else []),
            *([f"It said: {' '.join(kept)}"] if kept else ["Its reasons are not told."]),
        ]
        text = "\n".join(lines)
        return Feedback(text, f"{before}\n{text}", scored.score, withheld=(count - len(kept), count))

    # The judge

    def question(self, case: Case, answer: Any) -> JudgeQuestion:
        """That of `GradeResponse`; the quotes are located in the response."""
        view = _triggered(case)

        def read(prediction: dspy.Prediction) -> Scored[Verdict]:
            evidence = locate_quotes(prediction.evidence, answer.text)
            verdict = Verdict(reasoning=prediction.reasoning, evidence=evidence, grade=Grade(prediction.grade))
            return Scored(verdict.grade.score, verdict.grade, verdict, verdict.verified)

        inputs = {"conversation": list(view.conversation), "rubric": view.rubric, "response": answer.text}
        return JudgeQuestion(inputs, read)

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

    def judge_feedback(self, item: RatedItem, judgement: ScoredPrediction) -> Feedback:
        """What people said of a response, and what the judge said; never a word of the rubric's, nor the response."""
        grades, prediction = item.grades[""], judgement.prediction
        counts = ", ".join(f"{sum(grade.grade == level for grade in grades)} {level}" for level in Grade)
        reasons = [f"- {grade.grade}: {grade.reason.strip()}" for grade in grades if grade.reason.strip()]
        located = any(quote.start is not None for quote in judgement.scored.detail.evidence)
        lines = [
            f"People graded this response: {counts}.",
            *(["Their reasons:", *reasons] if reasons else []),
            f"The judge said {prediction.grade}: {prediction.reasoning}",
            f"Its quote {'stands' if located else 'does not stand'} in the response.",
        ]
        text = "\n".join(lines)
        return Feedback(text, text)


def _triggered(case: Case) -> JudgeView:
    assert isinstance(case.view, JudgeView), "a trigger has a rubric"
    return case.view


_RUN = 4
_ENDINGS = ("ingly", "edly", "ing", "ies", "ed", "es", "ly", "s")
_VOCABULARY = files("dspy_proact.benchmarks.proactbench").joinpath("vocabulary.txt").read_text("utf-8")


def without_rubric_words(reasoning: str, rubric: Rubric, seen: str) -> tuple[list[str], int]:
    """The sentences of a judge's reasoning that have no words or runs of the rubric alone, and how many it has in all.

    What is `seen`, conversation and response, may be told.
    """
    criteria = "\n".join((rubric.pass_criteria, rubric.partial_criteria, rubric.fail_criteria))
    runs = _runs(criteria) - _runs(seen)
    known = _stems(seen) | _PUBLIC | (_PLAIN - _stems(criteria))
    all_sentences = sentences(reasoning)
    kept = [
        f"{' '.join(words)}."
        for sentence in all_sentences
        if (words := words_of(sentence)) and _stems(sentence) <= known and not _runs(sentence) & runs
    ]
    return kept, len(all_sentences)


def _stems(text: str) -> set[str]:
    return {stem(word, _ENDINGS) for word in words_of(text)}


def _runs(text: str) -> set[tuple[str, ...]]:
    words = words_of(text)
    return {tuple(words[index : index + _RUN]) for index in range(len(words) - _RUN + 1)}


_PUBLIC = {stem for stem in _stems(" ".join(JUDGE_INSTRUCTIONS.values())) if stem.isalpha()}
"""What every judge is told, whatever the rubric; its numbers are those of its rules."""
_PLAIN = _stems(_VOCABULARY)
