"""ProactiveAgent: propose help at the right moments of a person's work, and be accepted."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from dspy_proact.benchmarks.proactiveagent.turns import (
    ACCEPTED,
    REJECTED,
    Assistance,
    AssistanceGrade,
    Earlier,
    ProactiveAgentSettings,
    TurnView,
    Verdict,
    graded,
    likelihoods,
    stripped,
)
from dspy_proact.evaluation.benchmark import CallForecast, CorpusFacts, ModelDefaults, Rule, Start, lazily
from dspy_proact.evaluation.people import Part, People
from dspy_proact.evaluation.published import Published
from dspy_proact.evaluation.results import ResultsFormat
from dspy_proact.evaluation.ruled import RuledBenchmark
from dspy_proact.evaluation.stream import decision_measures
from dspy_proact.runs import Case, CaseSet, ExpectedCall, Measure, Nouns, Scored, Settings

if TYPE_CHECKING:
    from dspy_proact.evaluation.ask import Ask

_PACKAGE = "dspy_proact.benchmarks.proactiveagent"
_PUBLISHED = decision_measures("turns with a proposal")
_ANSWER_TOKENS, _VERDICT_TOKENS = (60, 600), (60, 400)
"""Of an answer and of a verdict: assumed."""
_ASSUMED = Assistance(proposals=(" ".join(["word"] * 20),))


def events_of(view: Any) -> dict[str, Any]:
    """The inputs of the agent without its earlier answers."""
    assert isinstance(view, TurnView), "the benchmark makes its own cases"
    return {"events": list(view.events)}


def agent_inputs(case: Case, answers: Sequence[Assistance | None], history: int) -> dict[str, Any]:
    """The inputs of the agent, which is shown its earlier answers where the settings say so."""
    return events_of(case.view) | ({"earlier": Earlier.of(answers, history)} if history else {})


def answer_calls(case: Case, program: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """The one question, with a proposal at each earlier turn."""
    history, turns = ProactiveAgentSettings.of(settings).history, int(case.meta["turn"])
    return [ExpectedCall(program.messages(agent_inputs(case, [_ASSUMED] * (turns - 1), history)), _ANSWER_TOKENS)]


def grade_calls(case: Case, answer: Assistance | None, judge: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """A question a proposal, or one about silence."""
    from dspy_proact.benchmarks.proactiveagent.programs import judge_inputs

    view, proposals = case.view_as(TurnView), (answer or _ASSUMED).proposals or ("",)
    return [ExpectedCall(judge.messages(judge_inputs(view, proposal)), _VERDICT_TOKENS) for proposal in proposals]


class ProactiveAgent(RuledBenchmark[Assistance, AssistanceGrade]):
    """Turns of traces, the agent that proposes help at them, and the judge of what it does."""

    name = "proactiveagent"
    about = "Whether an agent that watches a person's work proposes help that is accepted, and is silent otherwise."
    corpus = CorpusFacts(
        size="233 turns of 12 traces; 1,749 rows of votes",
        licence="Apache-2.0",
        source="the folder dataset/test_data of github.com/thunlp/ProactiveAgent, by path or fetched at the first use; "
        "a sample is bundled",
        name="proactiveagent",
        auditing=lazily(f"{_PACKAGE}.auditing", "auditing"),
    )
    strata: Sequence[str] = ("coding", "writing")
    labels: Sequence[str] = (ACCEPTED, REJECTED)
    nouns = Nouns(case="turn", stratum="kind", group="trace", row="trace")
    measures = (
        *_PUBLISHED[:5],
        Measure(name="accept_rate", title="accept rate", parts=("accept_rate",), least=0, most=1),
        *_PUBLISHED[5:],
    )
    answer_type = Assistance
    view = TurnView
    settings_type = ProactiveAgentSettings
    models = ModelDefaults(judge="openai/gpt-4o", temperatures={"assistant": 0.0, "judge": 0.0})
    forecast = CallForecast(
        answer_calls,
        grade_calls,
        "Where there is no answer yet, one proposal of 20 words is counted: in what judges are asked, and with the "
        "setting history at every earlier turn.",
    )
    people = People(
        parts=(
            Part(
                "",
                (REJECTED, ACCEPTED),
                question="Would the person accept this now?",
                criteria={
                    ACCEPTED: "A proposal that fits what they are doing, saves them work not done yet, says what they "
                    "would get, and is worth the interruption; or silence where they can go on without help.",
                    REJECTED: "A proposal about something else, too early or too late, of what they are doing anyway, "
                    "or so general that it fits any work; or silence where they would welcome help.",
                },
            ),
        ),
        briefing="You read what a person does at a computer, oldest first; the last event is now. Nobody asked for "
        "help. An assistant proposes a task that it would do for the person, or stays silent. Put yourself in the "
        "person's place: would you let it do that now, or be left alone? To be polite or well meant is not enough.",
        about="The votes of the sample are its authors', who are language-model agents.",
        likelihoods=likelihoods,
        ratings=lazily(f"{_PACKAGE}.votes", "known_ratings"),
    )
    published = Published(
        rows=lazily(f"{_PACKAGE}.report", "published_rows"),
        differences=lazily(f"{_PACKAGE}.report", "differences"),
        columns={
            "score": "accuracy",
            "recall": "R",
            "precision": "P",
            "f1": "F1",
            "acted": "proposes",
            "balanced_accuracy": "balanced",
        },
        notes=(
            "published rows are counted from the authors' results files, whose judge is their reward model; the tables "
            "of README and paper are of other runs of it. The files count the written word null as a proposal.",
            "an agent that always proposes has recall 1, so that R and F1 tell hardly anything of when an agent speaks "
            "up; read P beside how often it proposes, and balanced accuracy.",
        ),
        source="the authors' results files",
    )
    results = ResultsFormat(read=lazily(f"{_PACKAGE}.outputs", "read_outputs"))

    def read(self, corpus: Any, settings: Settings, revision: str | None = None) -> CaseSet:
        """Every turn of the traces, with as many events as the settings show."""
        from dspy_proact.benchmarks.proactiveagent.corpus import load_corpus

        wanted = ProactiveAgentSettings.of(settings)
        case_set = load_corpus(str(corpus), wanted.window, revision)
        chained = (replace(case, chain=case.group) for case in case_set.cases)
        return replace(case_set, cases=tuple(chained)) if wanted.history else case_set

    def mark(self, view: BaseModel) -> str:
        """The trace: who was tuned to one of its turns has seen it."""
        assert isinstance(view, TurnView), "the benchmark makes its own cases"
        return view.origin

    def rule(self, settings: Settings) -> Rule | None:
        """The baseline that the settings name; a judge grades its decisions too."""
        rule = super().rule(settings)
        return rule and replace(rule, judged=True)

    def agent(self, settings: Settings, roles: Mapping[str, Any]) -> Any:
        """The agent that proposes help."""
        wanted = ProactiveAgentSettings.of(settings)
        return self.module("programs").ProposingAgent(wanted.candidates, wanted.history > 0)

    def judge(self, settings: Settings, start: Start) -> Any:
        """The judge of proposals and of silence."""
        return self.module("programs").ProposalJudge()

    def inputs(self, view: BaseModel) -> dict[str, Any]:
        """The events."""
        return events_of(view)

    async def answer(self, case: Case, ask: "Ask") -> Assistance:
        """What the agent proposes, or a baseline: to help with what the last event says."""
        rules, last = ProactiveAgentSettings.of(ask.settings), case.view_as(TurnView).events[-1].event
        if rules.baseline == "none":
            return self.answer_of(await ask(**agent_inputs(case, ask.earlier, rules.history)))
        acts = rules.acts(case.key, int(case.meta["turn"]))
        return Assistance(proposals=(f"Help the user with this: {last}",) if acts else ())

    def answer_of(self, prediction: Any) -> Assistance:
        """Proposals in their order, each once; the words null and none are silence."""
        fields = prediction.toDict()
        proposals = fields.get("proposals", [fields.get("proposal")])
        kept = tuple(dict.fromkeys(text for proposal in proposals if (text := stripped(proposal))))
        return Assistance(purpose=fields.get("purpose") or "", proposals=kept, message=stripped(fields.get("message")))

    async def grade(self, case: Case, answer: Assistance, ask: "Ask") -> Scored[AssistanceGrade]:
        """What the judge says of each proposal, or of silence."""
        from dspy_proact.benchmarks.proactiveagent.programs import judge_inputs

        view = case.view_as(TurnView)
        judged = [await ask(**judge_inputs(view, proposal)) for proposal in answer.proposals or ("",)]
        verdicts = tuple(Verdict(**{name: verdict[name] for name in Verdict.model_fields}) for verdict in judged)
        return graded(answer, verdicts, ProactiveAgentSettings.of(ask.settings).cost)

    def feedback(self, case: Case, answer: Assistance, scored: Scored[AssistanceGrade]) -> str:
        """What the judge said."""
        pairs = zip(answer.proposals or ("silence",), scored.detail.verdicts, strict=True)
        return "\n".join(f"{'accepted' if v.accepted else 'rejected'}: {proposal}. {v.reason}" for proposal, v in pairs)
