"""ProAgentBench: say when a person at a computer turns to an AI assistant, and with what."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from dspy_proact.benchmarks.proagentbench.moments import (
    COMMONEST,
    RIGHT,
    WRONG,
    Assistance,
    MomentGrade,
    MomentView,
    ProAgentBenchSettings,
    graded,
)
from dspy_proact.errors import CorpusError
from dspy_proact.evaluation.benchmark import CallForecast, CorpusFacts, lazily
from dspy_proact.evaluation.published import Published
from dspy_proact.evaluation.ruled import RuledBenchmark
from dspy_proact.evaluation.stream import decision_measures
from dspy_proact.evaluation.text_ranking import cosine
from dspy_proact.images import scaled
from dspy_proact.runs import Case, CaseSet, ExpectedCall, Measure, Nouns, Scored, Settings

if TYPE_CHECKING:
    from dspy_proact.evaluation.ask import Ask
    from dspy_proact.models import Embedder

_PACKAGE = "dspy_proact.benchmarks.proagentbench"
_LONGEST_EMBEDDED = 20_000
"""Characters of a query that are embedded."""
_ANSWER_TOKENS = (30, 600)
"""Of an answer: assumed."""


def agent_inputs(view: Any) -> dict[str, Any]:
    """What is seen, without the truth."""
    assert isinstance(view, MomentView), "the benchmark makes its own cases"
    seen = {"activity": list(view.activity), "current": view.current, "memory": view.memory}
    return seen | ({"screenshot": view.screenshot} if view.screenshot else {})


def answer_calls(case: Case, program: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """The question as often as there are samples; a second stage is not foreseen."""
    wanted, shot = ProAgentBenchSettings.of(settings), case.view_as(MomentView).screenshot
    images = (scaled(shot.width, shot.height),) if shot else ()
    return [ExpectedCall(program.messages(agent_inputs(case.view)), _ANSWER_TOKENS, images)] * wanted.samples


class ProAgentBench(RuledBenchmark[Assistance, MomentGrade]):
    """Moments of people's work, and the program that says when and how to help."""

    name = "proagentbench"
    about = "Whether an agent that sees a person's screen helps when they turn to an AI assistant, and with what."
    corpus = CorpusFacts(
        size="28,528 events of 17 people, 7,222 of them with help",
        licence="research only; nothing of it is bundled or fetched",
        source="a folder of participants' SQLite files in the published schema, by path only; a sample is bundled",
        auditing=lazily(f"{_PACKAGE}.auditing", "auditing"),
    )
    forecast = CallForecast(answer_calls)
    strata: Sequence[str] = ("earlier", "later")
    labels: Sequence[str] = (RIGHT, WRONG)
    nouns = Nouns(case="moment", stratum="part", group="person", groups="people", row="event")
    measures = (
        *decision_measures("moments with help"),
        Measure(name="wanted", title="moments that wanted help", parts=("wanted",), least=0, most=1),
        Measure(name="intention", title="intention", parts=("intention",), least=0, most=1),
        Measure(name="similarity", title="similarity", parts=("similarity",), least=-1, most=1),
        Measure(name="lexical_similarity", title="lexical similarity", parts=("lexical_similarity",), least=0, most=1),
    )
    answer_type = Assistance
    view = MomentView
    settings_type = ProAgentBenchSettings
    people = None
    published = Published(
        rows=lazily(f"{_PACKAGE}.report", "published_rows"),
        differences=lazily(f"{_PACKAGE}.report", "differences"),
        columns={
            "score": "accuracy",
            "precision": "P",
            "recall": "R",
            "f1": "F1",
            "balanced_accuracy": "balanced",
            "wanted": "wanted",
            "intention": "intention",
        },
        notes=(
            "always helping has F1 66.7 where half of the moments wanted help; `wanted` is that share, which a "
            "published row implies by its accuracy, P and R: rows of other shares are of other moments.",
            "the commonest intention alone is right at 35 % of the published moments that wanted help.",
        ),
        source="arXiv 2602.04482",
    )

    def read(self, corpus: Any, settings: Settings, revision: str | None = None) -> CaseSet:
        """The moments of every person, as the settings show and choose them."""
        from dspy_proact.benchmarks.proagentbench.corpus import load_corpus

        if revision is not None:
            raise CorpusError("a folder has no revisions; leave the revision out", source=str(corpus))
        return load_corpus(str(corpus), ProAgentBenchSettings.of(settings))

    def agent(self, settings: Settings, roles: Mapping[str, Any]) -> Any:
        """The program that the settings name."""
        wanted = ProAgentBenchSettings.of(settings)
        return self.module("programs").MomentAgent(
            wanted.program == "staged", wanted.cot, wanted.memory != "none", wanted.screenshot, wanted.samples
        )

    def inputs(self, view: BaseModel) -> dict[str, Any]:
        """What is seen, without the truth."""
        return agent_inputs(view)

    async def answer(self, case: Case, ask: "Ask") -> Assistance:
        """What the program says, or a baseline: the commonest intention, and a query that quotes nothing."""
        rules = ProAgentBenchSettings.of(ask.settings)
        if rules.baseline == "none":
            answer, truth = await super().answer(case, ask), case.view_as(MomentView).truth
            embedder: Embedder | None = ask.roles.get("embedder")
            if embedder is None or not (truth.wanted and truth.query):
                return answer
            if not (answer.need_help and answer.query.strip()):
                return answer.model_copy(update={"similarity": 0.0})
            one, other = await embedder.embed([text[:_LONGEST_EMBEDDED] for text in (answer.query, truth.query)])
            return answer.model_copy(update={"similarity": cosine(one, other)})
        by_graph = rules.baseline == "graph"
        acts = case.meta["graph"] == 1 if by_graph else rules.acts(case.key, int(case.meta["moment"]))
        if not acts:
            return Assistance(need_help=False)
        intention: Any = case.meta["graph_intention"] if by_graph else COMMONEST
        return Assistance(need_help=True, intention=intention, query="Can you help me with this?")

    async def grade(self, case: Case, answer: Assistance, ask: "Ask") -> Scored[MomentGrade]:
        """When by what the person did, and how by their intention and first query."""
        return graded(answer, case.view_as(MomentView).truth, ProAgentBenchSettings.of(ask.settings).cost)

    def feedback(self, case: Case, answer: Assistance, scored: Scored[MomentGrade]) -> str:
        """Whether help was sought, and for what; not the query."""
        truth = case.view_as(MomentView).truth
        if not truth.wanted:
            return "The person went on without help" + (", and was interrupted." if answer.need_help else ".")
        reason = "The person turned to an AI assistant" + (f" for {truth.intention}" if truth.intention else "")
        return f"{reason}; the answer was {answer.intention if answer.need_help else 'silence'}."
