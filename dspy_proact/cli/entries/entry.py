"""A benchmark as the command line knows it.

Nothing slow is imported before a verb asks for it, so that help and the list of benchmarks are there at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dspy_proact.cli.entries.asked import Agreeing, Answering, AssistantTuning, Graders, JudgeTuning
from dspy_proact.cli.options.model import EMBEDDED, NamedModel
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from dspy_proact.benchmarks.execution import Execution
    from dspy_proact.benchmarks.proactbench.compile.assistant.assistant_compile import AssistantCompile
    from dspy_proact.benchmarks.proactbench.compile.judge.judge_compile import JudgeCompile
    from dspy_proact.benchmarks.probe.compile.agent_compile import AgentCompile
    from dspy_proact.benchmarks.probe.compile.judges_compile import JudgesCompile
    from dspy_proact.benchmarks.responses import Responses
    from dspy_proact.models import ModelSpec
    from dspy_proact.programs.artefact import PredictorState, SeveralArtefact
    from dspy_proact.report import Summary
    from dspy_proact.runs import Benchmark, Settings

LACKED = {
    "--system-prompt": "assistant that takes a prompt",
    "--program": "compiled assistant",
    "--judge-prompt": "judge with other words",
    "--judge-program": "compiled judge",
    "--min-kappa": "compiled judge",
    "--corpus": "corpus to choose",
    "--phase": "phases",
    "--guard": "guards of a compile",
    "--max-demos": "worked examples",
    "--ratings": "ratings to choose",
    "--run": "ratings of a run",
    "--items": "ratings of items",
    "--template": "sheet for raters",
    "--draw": "sheet for raters",
    "--draw-seed": "sheet for raters",
    "--plan": "ratings to plan",
    "--consensus": "ratings to compare otherwise",
    "--min-ratings": "ratings to compare otherwise",
    "--exclude": "ratings to compare otherwise",
}
"""Options that not every benchmark has, and what one lacks that does not have them."""


class Leaderboards(Protocol):
    """The room in `report` of a benchmark whose scores were published."""

    def leaderboard(self, runs: "Sequence[Summary]" = ...) -> Any:
        """The published scores in their order, and runs with them; raises `UsageError` for runs of another one."""
        ...

    def leaderboard_document(self, board: Any) -> dict[str, Any]:
        """The document of `leaderboard --json`."""
        ...

    def print_leaderboard(self, board: Any, console: "Console", explain: bool = False) -> None:
        """Print it for a person."""
        ...


class Entry(ABC):
    """What a benchmark is, and what the verbs do with it.

    One that is derived from this says what it has. What it does not say it does not have, and a verb that is asked for
    it raises a `UsageError`.
    """

    name: str
    """As a person types it and its runs record it."""
    measures: str
    """What it measures, a sentence."""
    size: str
    """Of the published corpus, counted in its nouns."""
    licence: str
    """Of the published corpus."""
    data: str
    """Where the corpus comes from."""
    published_corpus: str | None = None
    """Its name, as `--corpus` takes it and runs record it; None where all that there is is a sample."""
    judge: str | None = None
    """Who grades a real model where nobody is named; None for nobody."""
    options: frozenset[str] = frozenset()
    """Those of `LACKED` that it has."""
    of_grading: frozenset[str] = frozenset()
    """Settings that decide grades and no answer, so that answers can be graded again by others."""
    published_beside: str = "A run that is made as they were is ranked among them: leaderboard RUN."
    """Where a run comes to stand on its leaderboard."""
    as_published: Sequence[str] = ()
    """Options of an `eval` that is made as the published scores were."""

    @property
    @abstractmethod
    def best(self) -> str:
        """The best published score and where it stands, a sentence."""

    def settings(self) -> "type[Settings]":
        """What it can be set to, a frozen model whose fields have a default and a line under them."""
        from dspy_proact.runs import Settings

        return Settings

    @abstractmethod
    def benchmark(self) -> "type[Benchmark[Any, Any]]":
        """By which the cases and answers of its runs are read."""

    @abstractmethod
    def evaluations(self, answering: Answering, graders: Graders) -> "Sequence[Execution]":
        """What `eval` does, one a model, in their order.

        Raises:
            UsageError: It cannot be done as asked.
            CorpusError: There is no such corpus, or it is not valid.
        """

    def responses(self, path: Path, corpus: str | None) -> "Responses":
        """Those of the folder of a run; what else can be judged again is the benchmark's own.

        Args:
            path: Of the run.
            corpus: As `--corpus` takes it; None where none is named.

        Raises:
            UsageError: It is no run, or a corpus is named and it knows its own.
        """
        from dspy_proact.benchmarks.responses import Responses
        from dspy_proact.cli.views.summary import is_results
        from dspy_proact.runs import RunFolder

        if is_results(path):
            raise UsageError(f"{path}: {self.name} reads no results files; name the folder of a run")
        if corpus is not None:
            raise UsageError("--corpus is for results files; a run knows its corpus")
        return Responses.of_run(RunFolder(path), self.benchmark())

    def rejudging(self, responses: "Responses", graders: Graders) -> "Execution":
        """What `rejudge` does; raises `UsageError` where it cannot be done as asked."""
        raise UsageError(f"{self.name}: its answers cannot be judged again")

    def assistant_compile(self, tuning: AssistantTuning) -> "AssistantCompile | AgentCompile":
        """What `optimize assistant` does; raises `UsageError` where it cannot be done as asked."""
        raise UsageError(f"{self.name}: it has no assistant to compile")

    def judge_compile(self, tuning: JudgeTuning) -> "JudgeCompile | JudgesCompile":
        """What `optimize judge` does; raises likewise."""
        raise UsageError(f"{self.name}: it has no judge to compile")

    def begun_with(self, artefact: "SeveralArtefact", start: Path | None) -> "tuple[Mapping[str, PredictorState], str]":
        """What one of its programs with several predictors said before it was compiled.

        Args:
            artefact: What came of it.
            start: The compiled program that it began with; the uncompiled one where None.

        Returns:
            What its predictors said, by their names, and the hash by which a card knows the program.

        Raises:
            UsageError: It has no such program, or the start cannot be read.
        """
        raise UsageError(f"{self.name}: it has no program with several questions")

    def leaderboards(self) -> Leaderboards:
        """Where its published scores are put in order; raises `UsageError` where there are none."""
        raise UsageError(f"{self.name}: it has no leaderboard; `compare` takes two of its runs")

    @property
    def ranks(self) -> bool:
        """Whether it has a leaderboard."""
        return type(self).leaderboards is not Entry.leaderboards

    def agree(self, agreeing: Agreeing) -> int | None:
        """What `agree` does; the exit status, and None where people's ratings are those of `--ratings`.

        Raises:
            UsageError: Nobody has rated it.
        """
        raise UsageError(f"{self.name}: there are no people's ratings to agree with")

    def corpus(self, named: str | None, embedded: bool) -> str:
        """The corpus that is meant: where none is named, the stand-in's is the sample, a real model's the published."""
        return named or ("sample" if embedded or self.published_corpus is None else self.published_corpus)

    def judges(self, named: NamedModel, embedded: bool) -> "tuple[ModelSpec, ...]":
        """Who grades: those that are named, or else the stand-in the stand-in, and `judge` a real model."""
        if self.judge is None and not named.name:
            return ()
        return named.specs(self.judge if self.judge and not embedded else EMBEDDED)

    def require(self, flags: Sequence[str]) -> None:
        """Raise a `UsageError` where one of the options that were typed is about what it does not have."""
        for flag in flags:
            if flag in LACKED and flag not in self.options:
                raise UsageError(f"{flag}: {self.name} has no {LACKED[flag]}; leave it out")
