"""ProactBench: a turn of a curated dialogue, a response to it, and a judge that grades it by a rubric."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from dspy_proact.benchmarks.proactbench.cases import case_set_of, own_case, responses_in
from dspy_proact.benchmarks.proactbench.corpus import bundled, rated_items
from dspy_proact.benchmarks.proactbench.corpus.dialogues import load_corpus
from dspy_proact.benchmarks.proactbench.types import (
    HELD_BACK,
    NOUNS,
    UNWANTED,
    ControlView,
    Grade,
    JudgeView,
    Offers,
    Phase,
    Response,
    Verdict,
    assistant_view,
    dialogue_mark,
)
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import (
    NO_ROLES,
    Benchmark,
    CallForecast,
    CorpusFacts,
    ModelDefaults,
    StandIn,
    Start,
    lazily,
)
from dspy_proact.evaluation.people import People, StudyLayout
from dspy_proact.evaluation.published import Published
from dspy_proact.evaluation.results import ResultsFormat
from dspy_proact.runs import Case, CaseSet, ExpectedCall, Scored, Settings

if TYPE_CHECKING:
    from dspy_proact.benchmarks.proactbench.programs import Assistant, Judge
    from dspy_proact.benchmarks.proactbench.tuning import ProactTuning
    from dspy_proact.evaluation.ask import Ask
    from dspy_proact.evaluation.controls import Controls
    from dspy_proact.evaluation.reporting import Reporting

_PACKAGE = "dspy_proact.benchmarks.proactbench"
ASSUMED_WORDS = 300
"""Of a response that is not written yet, in the judge's prompt."""
RESPONSE_TOKENS = (250, 3800)
"""Of one response: from the tersest to the most talkative of the published models, on average (264 and 3,792)."""
VERDICT_TOKENS = (450, 550)
"""Of one verdict, likewise (457 and 520)."""


def answer_calls(case: Case, program: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """The bare chat, or what a prompt makes of it."""
    return [ExpectedCall(program.messages(assistant_view(case.view).inputs), RESPONSE_TOKENS)]


def grade_calls(case: Case, answer: Response | None, judge: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """The judge's question, or the detector's."""
    from dspy_proact.benchmarks.proactbench.programs import OfferDetector

    assert isinstance(case.view, JudgeView | ControlView), "ProactBench makes its own cases"
    program: Any = OfferDetector() if isinstance(case.view, ControlView) else judge
    inputs = case.view.inputs(answer.text if answer else "word " * ASSUMED_WORDS)
    return [ExpectedCall(program.messages(inputs), VERDICT_TOKENS)]


def require_system(cases: Sequence[Case], program: Any, judges: Sequence[Any]) -> None:
    """The system text of a dialogue reaches the program under test and the judges, or nothing is asked."""
    views = [case.view for case in cases]
    if not (count := sum(bool(getattr(view, "system", None)) for view in views)):
        return
    from dspy_proact.benchmarks.proactbench.programs import OfficialJudge
    from dspy_proact.programs.asking import SYSTEM, takes

    if program is not None and not takes(program, SYSTEM):
        raise UsageError(
            f"`program`: takes no `{SYSTEM}`, and {count} of {len(views)} cases have a system text of their own, "
            f"such as a product's rules; give it an input `{SYSTEM}: str` that it passes to its model"
        )
    for judge in judges:
        if isinstance(judge, OfficialJudge):
            judge.require(views)


class ProactBench(Benchmark[Response, Verdict | Offers]):
    """Triggers of curated dialogues, the assistant that responds there, and the judge of its responses."""

    name = "proactbench"
    about = "Whether an assistant takes up what a user disclosed and never asked about."
    corpus = CorpusFacts(
        size="198 dialogues with 624 triggers in 25 scenarios",
        licence="Apache-2.0, and CC-BY-4.0 for what derives from personas",
        source="Hugging Face dataset bosonai/proactbench, fetched by `datasets` at the first use; a sample is bundled",
        name="proactbench",
        reference="curated_response",
        own_case=own_case,
        making=lazily(f"{_PACKAGE}.generation.making", "making"),
        reviewing=lazily(f"{_PACKAGE}.reviewing", "reviewing"),
        auditing=lazily(f"{_PACKAGE}.audit.auditing", "auditing"),
    )
    strata: Sequence[str] = tuple(Phase)
    labels: Sequence[str] = tuple(Grade)
    nouns = NOUNS
    view = JudgeView
    answer_type = Response
    models = ModelDefaults(judge="openai/gpt-5.4", judge_prompts=("official",), require=require_system)
    forecast = CallForecast(
        answer_calls, grade_calls, f"Judge prompts assume {ASSUMED_WORDS}-word responses where none exist yet."
    )
    results = ResultsFormat(
        read=responses_in,
        check=lazily(f"{_PACKAGE}.report.results", "check_file"),
        write=lazily(f"{_PACKAGE}.report.results", "export_results"),
    )
    published = Published(
        rows=bundled.published_models,
        differences=lazily(f"{_PACKAGE}.report.reporting", "differences"),
        columns={"score": "score", "strict": "strict"} | {str(phase): phase[0] for phase in Phase},
        notes=(
            f"{', '.join(phase[0] for phase in Phase)}: the score by phase ({', '.join(Phase)}).",
            "published: ProactBench (arXiv 2605.09228), judge GPT-5.4.",
        ),
        as_published={"judge_prompt": "official"},
        source="arXiv 2605.09228",
    )
    people = People(
        briefing="You read a conversation up to a message of the user's, and the response to it. Somewhere the user "
        "mentioned something that matters and did not ask about it. Grade whether the response acts on that unasked, "
        "and not how good it is otherwise: a fine answer to the question alone may fail. The criteria say what a full "
        "and what a partial uptake are in this conversation.",
        scores={str(grade): grade.score for grade in Grade},
        worked_cases=bundled.judge_cases,
        ratings=bundled.known_ratings,
        layout=StudyLayout(rated_items.items_in, rated_items.official_files),
        study=lazily(f"{_PACKAGE}.report.published_rule", "published_study"),
        pairs=lazily(f"{_PACKAGE}.report.reporting", "published_pairs"),
    )

    def read(self, corpus: Any, settings: Settings, revision: str | None = None) -> CaseSet:
        """Every trigger and control turn of a corpus: of a `Corpus`, or as `load_corpus` reads it."""
        return case_set_of(load_corpus(corpus, revision) if isinstance(corpus, str) else corpus)

    def mark(self, view: BaseModel) -> str:
        """Of the dialogue."""
        return dialogue_mark(view)

    def program(self, settings: Settings, start: Start, roles: Mapping[str, Any] = NO_ROLES) -> "Assistant":
        """The bare chat, or one with a system prompt."""
        from dspy_proact.benchmarks.proactbench.programs import Assistant

        return Assistant(start.prompt)

    def judge(self, settings: Settings, start: Start) -> "Judge":
        """Our judge, or one with the official words."""
        from dspy_proact.benchmarks.proactbench.programs import Judge, OfficialJudge

        return OfficialJudge() if start.prompt == "official" else Judge()

    def stand_in(self, role: str) -> StandIn:
        """Rules that take up what was disclosed, and that look for it."""
        from dspy_proact.benchmarks.proactbench.embedded import assistant, judge

        return assistant if role == "assistant" else judge

    def inputs(self, view: BaseModel) -> dict[str, Any]:
        """The curated turns before, whatever was answered at them, and the message that awaits its response.

        The dialogue's system text comes beside them where it has one.
        """
        return assistant_view(view).inputs

    def answer_of(self, prediction: Any) -> Response:
        """The response, and whether it was cut."""
        return Response(text=prediction.response, truncated=bool(prediction.toDict().get("truncated")))

    async def grade(self, case: Case, answer: Response, ask: "Ask") -> Scored[Verdict | Offers]:
        """The judge's verdict on a response; at a control turn what its model finds offered."""
        from dspy_proact.benchmarks.proactbench.programs import OfferDetector

        if isinstance(case.view, ControlView):
            offers = await OfferDetector().look(case.view, answer.text, ask.asking)
            return Scored(
                float(not offers.unwanted), UNWANTED if offers.unwanted else HELD_BACK, offers, offers.verified
            )
        assert isinstance(case.view, JudgeView), "ProactBench makes its own cases"
        verdict = await ask.program.judge(case.view, answer.text, ask.asking)
        return Scored(verdict.grade.score, verdict.grade, verdict, verdict.verified)

    def tuning(self, settings: Settings) -> "ProactTuning":
        """For Recovery; what is told of a verdict has nothing of the rubric."""
        from dspy_proact.benchmarks.proactbench.tuning import ProactTuning

        return ProactTuning(self, settings)

    def feedback(self, case: Case, answer: Response, scored: Scored[Verdict | Offers]) -> str:
        """Nothing of the rubric."""
        return self.tuning(Settings()).feedback(case, answer, scored).text

    @property
    def reporting(self) -> "Reporting":
        """Conversations, rubrics, quotes and offers."""
        from dspy_proact.benchmarks.proactbench.report.reporting import REPORTING

        return REPORTING

    @property
    def controls(self) -> "Controls":
        """Unwanted offers."""
        from dspy_proact.benchmarks.proactbench.report.control_turns import CONTROLS

        return CONTROLS
