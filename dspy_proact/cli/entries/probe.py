"""PROBE on the command line."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dspy_proact.cli.entries.asked import Agreeing, Answering, AssistantTuning, Graders, JudgeTuning
from dspy_proact.cli.entries.entry import Entry, Leaderboards
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.benchmarks.probe.benchmark import Probe
    from dspy_proact.benchmarks.probe.compile.agent_compile import AgentCompile
    from dspy_proact.benchmarks.probe.compile.judges_compile import JudgesCompile
    from dspy_proact.benchmarks.probe.corpus import TaskCorpus
    from dspy_proact.benchmarks.probe.evaluation import ProbeEvaluation, ProbeRejudging
    from dspy_proact.benchmarks.probe.settings import ProbeSettings
    from dspy_proact.benchmarks.responses import Responses
    from dspy_proact.programs.artefact import PredictorState, SeveralArtefact
    from dspy_proact.runs import Settings


class ProbeEntry(Entry):
    """PROBE, whose agents, oracles and baselines are settings."""

    name = "probe"
    measures = "Whether an assistant, unasked, finds the one bottleneck in a person's documents and resolves it."
    size = "1,000 tasks of 235 people"
    licence = "MIT for its code; that of the dataset is not known"
    data = "Hugging Face dataset gilfastino/PROBE, fetched at the first use, or its two zips; a sample is bundled"
    published_corpus = "probe"
    judge = "openai/gpt-4o-mini"
    options = frozenset({"--corpus", "--program", "--judge-program"})
    of_grading = frozenset({"upstream_rule"})
    published_beside = "A run of your own stands beside them: leaderboard RUN."
    as_published = ("--set", "sanitize=false", "--set", "upstream_rule=true")

    @property
    def best(self) -> str:
        """Of the published models, by task execution."""
        from dspy_proact.benchmarks.probe.corpus.published import published_scores

        most = max(row.task for row in published_scores())
        first = [row.name for row in published_scores() if row.task == most]
        return f"{100 * most:.0f} % task execution: {' and '.join(first)} (arXiv 2510.19771)"

    def settings(self) -> "type[ProbeSettings]":
        """Agents and their bounds, oracles, baselines, the published rule."""
        from dspy_proact.benchmarks.probe.settings import ProbeSettings

        return ProbeSettings

    def benchmark(self) -> "type[Probe]":
        """Tasks, solutions and what was found about them."""
        from dspy_proact.benchmarks.probe.benchmark import Probe

        return Probe

    def evaluations(self, answering: Answering, graders: Graders) -> "list[ProbeEvaluation]":
        """The agent, or the baseline, that the settings name, on one corpus."""
        from dspy_proact.benchmarks.probe.evaluation import ProbeEvaluation

        settings = _of_probe(graders.settings)
        tasks = _read(answering.corpus, answering.revision, settings)
        return [
            ProbeEvaluation(
                tasks,
                model,
                graders.models,
                settings=settings,
                program=answering.assistant.program,
                judge_program=graders.judging.file,
                gate=graders.gate,
            )
            for model in answering.models
        ]

    def rejudging(self, responses: "Responses", graders: Graders) -> "ProbeRejudging":
        """The judges that are named, by the rule that is set."""
        from dspy_proact.benchmarks.probe.evaluation import ProbeRejudging

        return ProbeRejudging(
            responses,
            graders.models,
            upstream_rule=_of_probe(graders.settings).upstream_rule,
            judge_program=graders.judging.file,
            gate=graders.gate,
        )

    def assistant_compile(self, tuning: AssistantTuning) -> "AgentCompile":
        """The agent that the settings name."""
        from dspy_proact.benchmarks.probe.compile.agent_compile import AgentCompile
        from dspy_proact.cli.views.message import say

        settings = _of_probe(tuning.settings)
        compiling = AgentCompile(
            _read(tuning.corpus, tuning.revision, settings),
            tuning.model,
            tuning.judge,
            tuning.report_judge,
            tuning.proposer,
            settings=settings,
            recipe=tuning.recipe,
            start=tuning.start,
            gate=tuning.gate,
        )
        if (folds := compiling.recipe.folds) < tuning.recipe.folds:
            say(f"{tuning.corpus}: {folds} people make {folds} folds.")
        return compiling

    def agree(self, agreeing: Agreeing) -> int:
        """The judges that are named, else the stand-in, on the answers that the sample's authors graded."""
        from dspy_proact.benchmarks.probe.evaluation import ProbeRejudging
        from dspy_proact.benchmarks.probe.graded import answers_learned_from, responses_of_graded
        from dspy_proact.cli.views.probe_agreement import show_agreement
        from dspy_proact.cli.views.rejudged_run import rejudged

        _require_unset(agreeing.settings, "agree")
        judges = self.judges(agreeing.judge, embedded=not agreeing.judge.name)
        program, responses = agreeing.judging.file, responses_of_graded()
        rejudging = ProbeRejudging(responses, judges, judge_program=program, gate=agreeing.gate())
        ending = rejudged(rejudging, agreeing.scope, agreeing.output)
        if ending is None:
            return 0
        for path in ending.begun:
            learned_on = 0 if program is None else answers_learned_from(program, responses)
            show_agreement(path, agreeing.output.as_json, agreeing.explain, learned_on)
        return ending.close()

    def judge_compile(self, tuning: JudgeTuning) -> "JudgesCompile":
        """Both judges, to the answers that the sample's authors graded."""
        from dspy_proact.benchmarks.probe.compile.judges_compile import JudgesCompile

        _require_unset(tuning.settings, "optimize judge")
        if tuning.votes > 1:
            raise UsageError("--votes: judges of probe give one verdict on an answer; leave it out")
        return JudgesCompile(
            tuning.judge,
            tuning.proposer,
            recipe=tuning.recipe,
            start=tuning.start,
            gate=tuning.gate,
        )

    def begun_with(self, artefact: "SeveralArtefact", start: Path | None) -> "tuple[Mapping[str, PredictorState], str]":
        """Of agents and of judges."""
        from dspy_proact.benchmarks.probe.compiled import start_of, states_of
        from dspy_proact.programs.artefact import AgentArtefact

        program = start_of(artefact.agent if isinstance(artefact, AgentArtefact) else None, start)
        return states_of(program), program.fingerprint()

    def leaderboards(self) -> Leaderboards:
        """Of the paper's models, agents and people."""
        from dspy_proact.benchmarks.probe import report as probe

        return probe


def _of_probe(settings: "Settings") -> "ProbeSettings":
    from dspy_proact.benchmarks.probe.settings import ProbeSettings

    assert isinstance(settings, ProbeSettings), "a verb reads the settings of the benchmark that it is about"
    return settings


def _require_unset(settings: "Settings", verb: str) -> None:
    """Raise a `UsageError` where something is set for a verb that is about the answers that were graded by hand."""
    if name := min(settings.model_fields_set, default=None):
        why = "the answers that people graded are shown to judges alike, whatever is set"
        raise UsageError(f"--set {name}: {verb} reads no setting of probe; {why}. Leave it out")


def _read(named: str, revision: str | None, settings: "ProbeSettings") -> "TaskCorpus":
    """The tasks of a name; what of them the format does not know is told."""
    from dspy_proact.benchmarks.probe.corpus import load_tasks
    from dspy_proact.cli.views.message import say
    from dspy_proact.report.numbers import listed

    tasks = load_tasks(named, revision, sanitize=settings.sanitize, seed=settings.seed)
    if tasks.ignored_fields:
        say(f"{named}: fields that the format does not know are left out: {listed(list(tasks.ignored_fields))}")
    if left_out := len(tasks.left_out):
        of = f"{left_out:,} of {left_out + len(tasks):,} tasks"
        say(f"{named}: {of} {'is' if left_out == 1 else 'are'} left out, such as {tasks.left_out[0]}.")
    return tasks
