"""ProactBench: a turn of a curated dialogue, a response to it, and a judge that grades it by a rubric."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from dspy_proact.benchmarks.proactbench.cases import case_set_of, responses_of_results
from dspy_proact.benchmarks.proactbench.conversation import parse_transcript
from dspy_proact.benchmarks.proactbench.corpus import bundled, rated_items
from dspy_proact.benchmarks.proactbench.corpus.dialogues import Corpus, load_corpus
from dspy_proact.benchmarks.proactbench.corpus.results import Results, read_results
from dspy_proact.benchmarks.proactbench.types import (
    HELD_BACK,
    UNWANTED,
    AssistantView,
    ControlView,
    Grade,
    JudgeView,
    Offers,
    Phase,
    Response,
    Turn,
    Verdict,
    dialogue_mark,
)
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark, ResultsCheck, ResultsFile, StandIn, Start, WorkedCase
from dspy_proact.evaluation.published import PublishedRow
from dspy_proact.files.github import cache_folder
from dspy_proact.kept import Kind, content_of
from dspy_proact.runs import CONTROL, Case, CaseSet, ExpectedCall, Nouns, RunFolder, Scored, Settings

if TYPE_CHECKING:
    from dspy_proact.benchmarks.proactbench.programs import Assistant, Judge
    from dspy_proact.benchmarks.proactbench.tuning import ProactTuning
    from dspy_proact.evaluation.ask import Ask
    from dspy_proact.evaluation.controls import Controls
    from dspy_proact.evaluation.ratings import RatedItem, Ratings
    from dspy_proact.evaluation.reporting import Reporting
    from dspy_proact.evaluation.responses import Responses
    from dspy_proact.models import Embedder
    from dspy_proact.report import Summary
    from dspy_proact.report.pairs import PublishedPairs
    from dspy_proact.report.plan import PublishedRatings

HUB = "proactbench"
"""Name of the published corpus."""
ASSUMED_WORDS = 300
"""Of a response that is not written yet, in the judge's prompt."""
RESPONSE_TOKENS = (250, 3800)
"""Of one response: from the tersest to the most talkative of the published models, on average (264 and 3,792)."""
VERDICT_TOKENS = (450, 550)
"""Of one verdict, likewise (457 and 520)."""


class ProactBench(Benchmark[Response, Verdict | Offers]):
    """Triggers of curated dialogues, the assistant that responds there, and the judge of its responses."""

    name = "proactbench"
    about = "Whether an assistant takes up what a user disclosed and never asked about."
    size = "198 dialogues with 624 triggers in 25 scenarios"
    licence = "Apache-2.0, and CC-BY-4.0 for what derives from personas"
    data = "Hugging Face dataset bosonai/proactbench, fetched by `datasets` at the first use; a sample is bundled"
    strata: Sequence[str] = tuple(Phase)
    labels: Sequence[str] = tuple(Grade)
    control_labels: Sequence[str] = (HELD_BACK, UNWANTED)
    nouns = Nouns(
        case="trigger",
        cases="triggers",
        stratum="phase",
        strata="phases",
        group="scenario",
        groups="scenarios",
        control="control turn",
        controls="control turns",
        row="dialogue",
        rows="dialogues",
    )
    answer_type = Response
    options = frozenset({"*"})
    judge_name = "openai/gpt-5.4"
    label_scores = MappingProxyType({str(grade): grade.score for grade in Grade})
    published_corpus = HUB
    assumption = f"Judge prompts assume {ASSUMED_WORDS}-word responses where none exist yet."
    as_published = ("--judge-prompt", "official")
    for_raters = (
        "You read a conversation up to a message of the user's, and the response to it. Somewhere the user mentioned "
        "something that matters and did not ask about it. Grade whether the response acts on that unasked, and not how "
        "good it is otherwise: a fine answer to the question alone may fail. The criteria say what a full and what a "
        "partial uptake are in this conversation."
    )
    published_beside = "To be ranked, a run must use the published judge, prompt and corpus: leaderboard RUN."

    leaderboard_columns = MappingProxyType(
        {"score": "score", "strict": "strict"} | {str(phase): phase[0] for phase in Phase}
    )
    leaderboard_notes = (
        f"{', '.join(phase[0] for phase in Phase)}: the score by phase ({', '.join(Phase)}).",
        "published: ProactBench (arXiv 2605.09228), judge GPT-5.4.",
    )

    @property
    def best(self) -> str:
        """Of the published models, over all phases."""
        first = self.published()[0]
        return f"score {100 * (first.scores['score'] or 0):.1f} of 100: {first.name} (arXiv 2605.09228)"

    def published(self) -> Sequence[PublishedRow]:
        """The 16 published models, best first; the triggers without a published grade are unscored."""
        return bundled.published_models()

    def differences(self, run: Any) -> Sequence[str]:
        """Judge, prompt, decoding, corpus and extent of the published models."""
        from dspy_proact.benchmarks.proactbench.report.reporting import differences

        return differences(run)

    def read(self, corpus: Any, settings: Settings, revision: str | None = None) -> CaseSet:
        """Every trigger and control turn of a corpus: of a `Corpus`, or as `load_corpus` reads it."""
        return case_set_of(load_corpus(corpus, revision) if isinstance(corpus, str) else corpus)

    def view_type(self, stratum: str) -> type[BaseModel]:
        """What a judge sees of a trigger; of a control turn what the detector of offers sees."""
        return ControlView if stratum == CONTROL else JudgeView

    def mark(self, view: BaseModel) -> str:
        """Of the dialogue."""
        return dialogue_mark(_conversation(view))

    def program(self, settings: Settings, start: Start, companions: Sequence["Embedder"] = ()) -> "Assistant":
        """The bare chat, or one with a system prompt."""
        from dspy_proact.benchmarks.proactbench.programs import Assistant

        return Assistant(start.prompt)

    def judge(self, settings: Settings, start: Start) -> "Judge":
        """Our judge, or one with the official words."""
        from dspy_proact.benchmarks.proactbench.programs import Judge, OfficialJudge

        if start.prompt not in (None, "official"):
            raise UsageError(f"no judge's prompt is called {start.prompt!r}; there are default, official")
        return OfficialJudge() if start.prompt == "official" else Judge()

    def stand_in(self, role: str) -> StandIn:
        """Rules that take up what was disclosed, and that look for it."""
        from dspy_proact.benchmarks.proactbench.embedded import assistant, judge

        return assistant if role == "assistant" else judge

    async def answer(self, case: Case, ask: "Ask") -> Response:
        """The assistant's response at the trigger: an independent probe, with the curated turns before it."""
        return await ask.program.respond(AssistantView.of(_conversation(case.view)), ask.asking)

    def inputs(self, view: BaseModel) -> dict[str, Any]:
        """The turns before, and the message that awaits its response."""
        seen = AssistantView.of(_conversation(view))
        return {"history": list(seen.history), "user_message": seen.user_message}

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

    def answer_calls(self, case: Case, program: Any, settings: Settings) -> Sequence[ExpectedCall]:
        """The bare chat, or what a prompt makes of it."""
        return [ExpectedCall(program.messages(AssistantView.of(_conversation(case.view))), RESPONSE_TOKENS)]

    def grade_calls(
        self, case: Case, answer: Response | None, judge: Any, settings: Settings
    ) -> Sequence[ExpectedCall]:
        """The judge's question, or the detector's."""
        from dspy_proact.benchmarks.proactbench.programs import OfferDetector

        asked: Any = OfferDetector() if isinstance(case.view, ControlView) else judge
        messages = asked.messages(case.view, answer.text if answer else "word " * ASSUMED_WORDS)
        return [ExpectedCall(messages, VERDICT_TOKENS)]

    def control_prompt(self) -> str:
        """Of the detector of offers."""
        from dspy_proact.benchmarks.proactbench.programs import OfferDetector

        return OfferDetector().fingerprint()

    def responses(self, path: Path, corpus: str | None) -> "Responses":
        """Those of a run, or of a results file of the official evaluator with the corpus that it answers."""
        if content_of(path).kind is not Kind.FILE:
            return super().responses(path, corpus)
        results = read_results(path)
        if (answered := _corpus_of(results, corpus)) is None:
            raise UsageError(
                f"{path}: a results file holds no conversations; name the corpus that it answers with --corpus"
            )
        return responses_of_results(results, answered)

    def read_results(self, path: Path) -> ResultsFile:
        """A file of the official evaluator: its own counts against its triggers, and the triggers that it dropped."""
        from dspy_proact.benchmarks.proactbench.report import results as official

        results = read_results(path)

        def check(corpus: str | None) -> ResultsCheck:
            answered = _corpus_of(results, corpus)
            found = official.check_results(results, answered)
            named = corpus or (HUB if answered is None else answered.name)
            return ResultsCheck(official.check_document(found), official.check_lines(found), named)

        return ResultsFile(official.summarize_results(results), check)

    def write_results(self, run: RunFolder, summary: "Summary", path: Path) -> Sequence[str]:
        """As the official evaluator writes it."""
        from dspy_proact.benchmarks.proactbench.report.results import export_results

        return export_results(run, summary, path)

    def ratings(self, named: str, settings: Settings) -> "Ratings | None":
        """The bundled studies, the published one in full, fetched once, or a folder in its layout."""
        if named == "published":
            return bundled.published_study(self)
        if named == bundled.SAMPLE:
            return bundled.sample_study(self)
        if named == HUB:
            return rated_items.fetched_study(self, cache_folder())
        flat = (path.suffix.lower() in {".csv", ".jsonl"} for path in Path(named).glob("*"))
        official = Path(named).is_dir() and ((Path(named) / rated_items.ITEMS).is_file() or not any(flat))
        return rated_items.read_folder(self, Path(named)) if official else None

    def items_of_text(self, data: bytes, source: str) -> "tuple[RatedItem, ...]":
        """Responses with conversation and rubric, one a line."""
        return rated_items.items_in(data, source)

    def official_files(self, ratings: "Ratings") -> Mapping[str, str]:
        """The items and a file a rater, as in the published study."""
        return rated_items.official_files(ratings)

    def published_ratings(self) -> "PublishedRatings":
        """How ratings vary in the published study, and the published corpus as its models did on average."""
        from dspy_proact.benchmarks.proactbench.report.published_rule import published_corpus

        return published_corpus(bundled.published_study(self))

    def published_pairs(self) -> "PublishedPairs":
        """The study of responses by a writer who saw the rubric."""
        from dspy_proact.benchmarks.proactbench.report.published_pairs import PAIRS

        return PAIRS

    def tuning(self, settings: Settings) -> "ProactTuning":
        """For Recovery; what is told of a verdict has nothing of the rubric."""
        from dspy_proact.benchmarks.proactbench.tuning import ProactTuning

        return ProactTuning(self, settings)

    def worked_cases(self) -> Sequence[WorkedCase]:
        """Those of the judge's rules; the rule is their group."""
        return bundled.judge_cases()

    def case_of_text(self, data: bytes, source: str) -> tuple[Case, str | None]:
        """A conversation in any of the field's forms, that ends with the user's message."""
        said = parse_transcript(data, source)
        view = ControlView(conversation=said.turns, turn=len(said.turns))
        return Case(key="", group="", stratum="", view=view), said.system

    def feedback(self, case: Case, answer: Response, scored: Scored[Verdict | Offers]) -> str:
        """Nothing of the rubric."""
        return self.tuning(Settings()).feedback(case, answer, scored)

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


def _conversation(view: Any) -> tuple[Turn, ...]:
    assert isinstance(view, JudgeView | ControlView), "ProactBench makes its own cases"
    return view.conversation


def _corpus_of(results: Results, named: str | None) -> Corpus | None:
    """The corpus that a results file answers: the one that is named, or the sample where it has every trigger."""
    if named is not None:
        return load_corpus(named)
    sample = load_corpus("sample")
    dialogues = {dialogue.origin.dialogue for dialogue in sample.dialogues}
    answered = {trigger.origin.dialogue for trigger in results.triggers}
    return sample if answered and answered <= dialogues else None
