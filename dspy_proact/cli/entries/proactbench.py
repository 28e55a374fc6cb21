"""ProactBench on the command line."""

from pathlib import Path
from typing import TYPE_CHECKING

from dspy_proact.cli.entries.asked import Agreeing, Answering, AssistantTuning, Graders, JudgeTuning
from dspy_proact.cli.entries.entry import LACKED, Entry, Leaderboards
from dspy_proact.cli.options.corpus import HUB
from dspy_proact.cli.options.model import default_judge
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.benchmarks.proactbench.benchmark import ProactBench
    from dspy_proact.benchmarks.proactbench.compile.assistant.assistant_compile import AssistantCompile
    from dspy_proact.benchmarks.proactbench.compile.judge.judge_compile import JudgeCompile
    from dspy_proact.benchmarks.proactbench.evaluation import Evaluation, Rejudging
    from dspy_proact.benchmarks.responses import Responses


class ProactBenchEntry(Entry):
    """ProactBench, which has everything but settings."""

    name = "proactbench"
    measures = "Whether an assistant takes up what a user disclosed and never asked about."
    size = "198 dialogues with 624 triggers in 25 scenarios"
    licence = "Apache-2.0, and CC-BY-4.0 for what derives from personas"
    data = "Hugging Face dataset bosonai/proactbench, fetched by `datasets` at the first use; a sample is bundled"
    published_corpus = HUB
    judge = default_judge(embedded=False)
    options = frozenset(LACKED)
    as_published = ("--judge-prompt", "official")

    @property
    def best(self) -> str:
        """Of the published models, over all phases."""
        from dspy_proact.benchmarks.proactbench.corpus import published_models

        first = published_models()[0]
        weighted = first.overall.weighted
        assert weighted is not None, "published models have grades"
        return f"{100 * weighted:.1f} % weighted over all phases: {first.model} (arXiv 2605.09228)"

    def benchmark(self) -> "type[ProactBench]":
        """Triggers, responses and verdicts."""
        from dspy_proact.benchmarks.proactbench.benchmark import ProactBench

        return ProactBench

    def evaluations(self, answering: Answering, graders: Graders) -> "list[Evaluation]":
        """The assistant that is named, on one corpus, which is read once."""
        from dspy_proact.benchmarks.proactbench.evaluation import Evaluation
        from dspy_proact.cli.options.corpus import read_corpus
        from dspy_proact.cli.views.program_notes import say_of_assistant, say_of_judge

        judging, assistant = graders.judging, answering.assistant.read()
        say_of_judge(judging.program, graders.models)
        say_of_assistant(assistant, answering.models)
        corpus = read_corpus(answering.corpus, answering.revision)
        return [
            Evaluation(
                corpus,
                model,
                graders.models,
                assistant=assistant,
                judge_prompt=judging.prompt,
                judge_program=judging.program,
                gate=graders.gate,
            )
            for model in answering.models
        ]

    def responses(self, path: Path, corpus: str | None) -> "Responses":
        """Those of a run, or of a results file with its corpus."""
        from dspy_proact.benchmarks.proactbench.corpus import read_results
        from dspy_proact.benchmarks.proactbench.results import responses_of_results
        from dspy_proact.cli.options.corpus import answered_corpus
        from dspy_proact.cli.views.summary import is_results

        if not is_results(path):
            return super().responses(path, corpus)
        results = read_results(path)
        answered = answered_corpus(results, corpus)
        if answered is None:
            raise UsageError(
                f"{path}: a results file holds no conversations; name the corpus that it answers with --corpus"
            )
        return responses_of_results(results, answered)

    def rejudging(self, responses: "Responses", graders: Graders) -> "Rejudging":
        """The judges that are named, or a compiled one."""
        from dspy_proact.benchmarks.proactbench.evaluation import Rejudging
        from dspy_proact.cli.views.program_notes import say_of_judge

        judging = graders.judging
        say_of_judge(judging.program, graders.models)
        return Rejudging(
            responses,
            graders.models,
            judge_prompt=judging.prompt,
            judge_program=judging.program,
            gate=graders.gate,
        )

    def assistant_compile(self, tuning: AssistantTuning) -> "AssistantCompile":
        """Tuned for phases, with guards."""
        from dspy_proact.benchmarks.proactbench.compile.assistant.assistant_compile import AssistantCompile
        from dspy_proact.benchmarks.proactbench.types import Phase
        from dspy_proact.cli.options.corpus import read_corpus
        from dspy_proact.cli.options.prompt import text_of

        return AssistantCompile(
            read_corpus(tuning.corpus, tuning.revision),
            tuning.model,
            tuning.judge,
            tuning.report_judge,
            tuning.proposer,
            recipe=tuning.recipe,
            phases=tuple(phase for phase in Phase if phase in tuning.phases) or (Phase.RECOVERY,),
            margins=dict(tuning.margins),
            system_prompt=text_of(tuning.system_prompt),
            start=tuning.start,
            gate=tuning.gate,
        )

    def judge_compile(self, tuning: JudgeTuning) -> "JudgeCompile":
        """Tuned to people's ratings."""
        from dspy_proact.benchmarks.proactbench.compile.judge.judge_compile import JudgeCompile

        return JudgeCompile(
            tuning.labels.load(),
            tuning.judge,
            tuning.proposer,
            recipe=tuning.recipe,
            votes=tuning.votes,
            start=tuning.start,
            guards=tuning.guards,
            gate=tuning.gate,
        )

    def leaderboards(self) -> Leaderboards:
        """Of 16 published models."""
        from dspy_proact.benchmarks.proactbench import report as proactbench

        return proactbench

    def agree(self, agreeing: Agreeing) -> int | None:
        """Ratings are those that are named."""
        return None
