"""Rows of one's own: responses in a table, graded on a scale of one's own, by criteria or by the scale's words."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel

from dspy_proact.benchmarks.rows.levels import (
    SAMPLE_SCALE,
    RowReply,
    RowSettings,
    RowVerdict,
    RowView,
)
from dspy_proact.benchmarks.rows.report import REPORTING
from dspy_proact.errors import CorpusError
from dspy_proact.evaluation.benchmark import NO_ROLES, Benchmark, CallForecast, CorpusFacts, Start, lazily
from dspy_proact.evaluation.people import Part, People
from dspy_proact.evaluation.reporting import Reporting
from dspy_proact.evaluation.results import ResultsFormat
from dspy_proact.runs import Case, CaseSet, ExpectedCall, Measure, Nouns, Scored, Settings

if TYPE_CHECKING:
    from dspy_proact.evaluation.ask import Ask
    from dspy_proact.evaluation.benchmark import StandIn

_PACKAGE = "dspy_proact.benchmarks.rows"
_ANSWER_TOKENS, _VERDICT_TOKENS = (30, 800), (60, 500)
"""Of a response and of a verdict: assumed."""
_ASSUMED = RowReply(text=" ".join(["word"] * 120))

_PEOPLE = People(
    parts=(Part("", SAMPLE_SCALE, question="How good is the response?"),),
    scores={level: step / (len(SAMPLE_SCALE) - 1) for step, level in enumerate(SAMPLE_SCALE)},
    about="The sample's rows and its raters are made up.",
    ratings=lazily(f"{_PACKAGE}.table", "known_ratings"),
)


def reply_inputs(view: BaseModel) -> dict[str, Any]:
    """The chat as the assistant is given it: nothing of further columns."""
    assert isinstance(view, RowView), "the benchmark makes its own cases"
    return {"messages": list(view.conversation)}


def answer_calls(case: Case, program: Any, settings: Settings) -> Sequence[ExpectedCall] | None:
    """The chat."""
    if not hasattr(program, "messages"):
        return None
    return [ExpectedCall(program.messages(reply_inputs(case.view)), _ANSWER_TOKENS)]


def grade_calls(case: Case, answer: RowReply | None, judge: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """One question."""
    from dspy_proact.benchmarks.rows.programs import judge_inputs

    inputs = judge_inputs(case.view_as(RowView), (answer or _ASSUMED).text, RowSettings.of(settings))
    return [ExpectedCall(judge.messages(inputs), _VERDICT_TOKENS)]


class OwnRows(Benchmark[RowReply, RowVerdict]):
    """Rows of a person's own table, the bare model that responds to their inputs, and a judge of the responses."""

    name = "rows"
    about = "How good a response is, on a scale of one's own."
    corpus = CorpusFacts(
        size="as many rows as you have; a sample of 48 is bundled",
        licence="yours",
        source="a table of your own (CSV, JSONL or Parquet) with an input, a response and labels",
    )
    labels: Sequence[str] = SAMPLE_SCALE[::-1]
    nouns = Nouns(case="row", group="group")
    measures: Sequence[Measure] = ()
    answer_type = RowReply
    view = RowView
    settings_type = RowSettings
    people = _PEOPLE
    results = ResultsFormat(read=lazily(f"{_PACKAGE}.table", "responses_in"))
    forecast = CallForecast(answer_calls, grade_calls, "Where there is no response yet, one of 120 words is counted.")

    def graded_by(self, settings: RowSettings) -> Self:
        """A copy whose labels and parts are those of these settings."""
        if settings.is_default:
            return self
        made, levels = copy(self), settings.levels
        made.labels = levels if settings.nominal else levels[::-1]
        question = "Which of these fits the response?" if settings.nominal else "How good is the response?"
        part = Part("", levels, "nominal" if settings.nominal else "ordinal", question=question)
        scores = {} if settings.nominal else {level: settings.score_of(level) for level in levels}
        about = _PEOPLE.about if settings.levels == SAMPLE_SCALE else ""
        made.people = replace(_PEOPLE, parts=(part,), briefing=settings.criteria, scores=scores, about=about)
        if settings.nominal:
            shares = (
                Measure(name=f"share_{n}", title=level, parts=(f"is_{n}",), least=0, most=1)
                for n, level in enumerate(levels, start=1)
            )
            made.measures = tuple(shares)
        return made

    def read(self, corpus: Any, settings: Settings, revision: str | None = None) -> CaseSet:
        """The rows of the sample, or of a table of one's own."""
        if revision is not None:
            raise CorpusError("a table has no revisions; leave the revision out", source=str(corpus))
        return import_module(f"{_PACKAGE}.table").case_set_of(str(corpus), RowSettings.of(settings))

    def program(self, settings: Settings, start: Start, roles: Mapping[str, Any] = NO_ROLES) -> Any:
        """The bare chat, or one with a system prompt."""
        return import_module(f"{_PACKAGE}.programs").Responder(start.prompt)

    def judge(self, settings: Settings, start: Start) -> Any:
        """The judge by criteria, or by the words of the scale alone."""
        return import_module(f"{_PACKAGE}.programs").RowJudge(RowSettings.of(settings))

    def stand_in(self, role: str) -> "StandIn":
        """Rules in place of a model."""
        stand_in = import_module(f"{_PACKAGE}.stand_in")
        return stand_in.answer if role == "assistant" else stand_in.judged

    def inputs(self, view: BaseModel) -> dict[str, Any]:
        """The chat up to the message that is responded to."""
        return reply_inputs(view)

    def answer_of(self, prediction: Any) -> RowReply:
        """The response."""
        return RowReply(text=prediction.response, truncated=bool(prediction.toDict().get("truncated")))

    async def grade(self, case: Case, answer: RowReply, ask: "Ask") -> Scored[RowVerdict]:
        """The judge's level, and where its quotes stand."""
        from dspy_proact.benchmarks.rows.programs import judge_inputs
        from dspy_proact.evidence import locate_quotes

        settings = RowSettings.of(ask.settings)
        judged = await ask(**judge_inputs(case.view_as(RowView), answer.text, settings))
        quotes = locate_quotes(judged.evidence, answer.text)
        parts = {f"is_{n}": float(level == judged.grade) for n, level in enumerate(settings.levels, start=1)}
        return Scored(
            settings.score_of(judged.grade),
            judged.grade,
            RowVerdict(reasoning=judged.reasoning, evidence=quotes),
            verified=any(quote.counts for quote in quotes) if quotes else None,
            parts=parts if settings.nominal else {},
        )

    def feedback(self, case: Case, answer: RowReply, scored: Scored[RowVerdict]) -> str:
        """The level and the judge's reasons."""
        return f"Graded {scored.label}: {scored.detail.reasoning}"

    def tuning(self, settings: Settings) -> Any:
        """How its programs are compiled."""
        return import_module(f"{_PACKAGE}.tuning").OwnTuning(self, settings)

    @property
    def reporting(self) -> Reporting:
        """How reports show rows."""
        return REPORTING
