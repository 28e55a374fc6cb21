"""Options that name answers that exist, to be graded in place of those of a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from dspy_proact.cli.options import option
from dspy_proact.cli.options.verb import Bundle, Heading, Section, first_typed
from dspy_proact.cli.views.message import say
from dspy_proact.errors import CorpusError, UsageError

if TYPE_CHECKING:
    from dspy_proact.evaluation.benchmark import Benchmark
    from dspy_proact.evaluation.responses import Responses
    from dspy_proact.runs import CaseSet, Settings


@dataclass(frozen=True)
class NamedAnswers:
    """Answers that a person names: of a table, of a run, of a results file or of a log."""

    file: Path | None
    """None where a model answers."""
    model: str | None
    """Who answered, for a file that does not say so."""

    def require_alone(self, others: Sequence[str]) -> None:
        """Raise a `UsageError` where an option of what would answer is typed beside `--answers`, or `--as` alone."""
        if self.file is None and self.model is not None and not first_typed(["--app"]):
            raise UsageError("--as: has no effect without --answers or --app")
        if self.file is not None and (flag := first_typed(others)):
            raise UsageError(f"--answers and {flag} are mutually exclusive: the answers exist, and no model is asked")

    def beside(self, corpus: str | None) -> "NamedAnswers":
        """Those that lie in the folder of a corpus, where the name is that of a file there and of none here."""
        if self.file is None or self.file.exists() or corpus is None:
            return self
        named = Path(corpus)
        made = (named if named.is_dir() else named.parent) / f"{self.file}.jsonl"
        return replace(self, file=made, model=self.model or str(self.file)) if made.is_file() else self

    def kind(self, columns: "Sequence[tuple[str, str]]") -> Literal["run", "results", "log", "table"]:
        """What the file is, by its content, and by whether a person says who answered or which column is what."""
        from dspy_proact.evaluation.inspect_run import OURS
        from dspy_proact.files.inspect_log import header_of
        from dspy_proact.files.tables import ENDINGS
        from dspy_proact.kept import Kind, content_of

        assert self.file is not None, "asked of answers that are named"
        content = content_of(self.file).kind
        if content is Kind.LOG:
            return "run" if OURS in header_of(self.file).metadata else "log"
        if content is Kind.RUN:
            return "run"
        ending = self.file.suffix.lower()
        # Results files are JSONL, as tables may be.
        named = self.model is not None or bool(columns) or (ending in ENDINGS and ending != ".jsonl")
        return "table" if named or content is Kind.FOLDER else "results"

    def read(
        self,
        declared: "Benchmark[Any, Any]",
        settings: "Settings",
        corpus: str | None,
        cases: "Callable[[], CaseSet]",
        columns: Sequence[tuple[str, str]],
    ) -> "Sequence[Responses]":
        """The answers, of each model apart; `cases` reads the corpus, which a run knows and a results file names.

        Raises a `UsageError` where it is not said who answered, or more is said than the file leaves open.
        """
        from dspy_proact.evaluation.responses import Responses, existing_responses

        assert self.file is not None, "asked of answers that are named"
        kind = self.kind(columns)
        named: Any = {"benchmark": declared, "settings": settings, "columns": dict(columns)}
        if kind in ("run", "results"):
            if self.model is not None or columns:
                raise UsageError(f"{self.file}: a run knows who answered; leave --as and --map out")
            try:
                return existing_responses(declared, self.file, corpus, settings)
            except CorpusError as error:
                if kind == "run":
                    raise
                hint = f"{error.problem}; if it is a table of answers, name who answered: --as NAME"
                raise CorpusError(hint, source=error.source, line=error.line, field=error.field) from None
        if kind == "log":
            responses = Responses.of_log(self.file, cases(), model=self.model, **named)
        elif self.model is None:
            raise UsageError(f"--as: name who answered in {self.file}, such as --as my-assistant")
        else:
            responses = Responses.of_rows(self.file, self.model, cases(), **named)
        file, of = responses.file, responses.case_set.corpus
        if file and file.cases < of.cases:
            say(f"{file.name}: has {file.cases:,} of the {of.cases:,} {declared.nouns.cases} of the corpus {of.name}.")
        if file and file.cut_short:
            say(f"{file.name}: {file.cut_short}.")
        return [responses]


ANSWERS = Bundle(
    "answers",
    NamedAnswers,
    Section(
        Heading.MODELS,
        click.Option(
            ["--answers", "answers_file"],
            metavar="FILE|RUN",
            type=click.Path(path_type=Path),
            help="Grade existing answers: a table with --as NAME, a run, a results file or an Inspect log.",
        ),
        option.text(
            "--as",
            "NAME",
            "Who answered in the table of --answers; what to call --app, such as a version.",
            "answers_model",
        ),
    ),
    prefix="answers_",
)
