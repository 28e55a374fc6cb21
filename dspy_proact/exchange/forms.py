"""The forms in which a run is exported, by the names that a person types; imports nothing slow before it writes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.report.summary import Summary
    from dspy_proact.runs import RunFolder

ROWS = "_samples.jsonl"
"""Of Every Eval Ever: what stands after the stem of the first file in the name of that of the rows."""
HIDDEN = "_hidden.jsonl"
"""Likewise, of rows for training: what stands in the name of the file of what models must not see."""
Writer = Callable[..., Sequence[str]]
"""Writes a run, from its folder and its summary, to a path; gives what the file cannot hold, a line each.

Where the form is of several, it takes a sequence of summaries and the path. A last argument is the dataset or the
margin, where the form has one. A `UsageError` where it cannot be written.
"""


@dataclass(frozen=True)
class Form:
    """A form of other tools."""

    about: str
    """What the file is, a few words."""
    ending: str
    """Of the name of the file, which is otherwise that of the run."""
    write: Writer
    name: "Callable[[Summary], str] | None" = None
    """The name of the file, or its path below a folder, where the tool wants its own."""
    beside: str = ""
    """Of a second file: what stands after the stem of the first; empty for none."""
    of_dataset: bool = False
    """Whether a person names the dataset on the Hugging Face hub that it is of."""
    of_several: bool = False
    """Whether it is of one run or several."""
    has_margin: bool = False
    """Whether a person may say by how much one answer must be better than another."""


def _of(module: str, function: str) -> Callable[..., Any]:
    """A function of this room, imported at its first call."""

    def call(*args: Any) -> Any:
        return getattr(import_module(f"dspy_proact.exchange.{module}"), function)(*args)

    return call


def _table(function: str) -> Writer:
    def write(_: "RunFolder", summary: "Summary", path: Path) -> Sequence[str]:
        getattr(import_module("dspy_proact.report.export"), function)(summary, path)
        return ()

    return write


def _official(folder: "RunFolder", summary: "Summary", path: Path) -> Sequence[str]:
    from dspy_proact.evaluation.registry import benchmark_of

    results = (declared := benchmark_of(summary.benchmark)).results
    if results is None or results.write is None:
        raise UsageError(f"{summary.path}: {declared.name} has no official format; use csv or parquet as the `format`")
    return results.write(folder, summary, path)


FORMS: Mapping[str, Form] = {
    "official": Form("a results file of the benchmark's own evaluator", ".jsonl", _official),
    "csv": Form("a row per verdict", ".csv", _table("export_csv")),
    "parquet": Form("a row per verdict", ".parquet", _table("export_parquet")),
    "eval": Form(
        "a log of Inspect",
        ".eval",
        _of("inspect_log", "export_inspect"),
        name=_of("inspect_log", "log_name"),
    ),
    "every-eval-ever": Form(
        "two files for the datastore of Every Eval Ever",
        ".json",
        _of("every_eval_ever", "export_every_eval_ever"),
        name=_of("every_eval_ever", "aggregate_path"),
        beside=ROWS,
    ),
    "mlflow": Form("rows for `mlflow.genai.evaluate`", ".json", _of("mlflow_rows", "export_mlflow")),
    "hub": Form("a score for `.eval_results`", ".yaml", _of("hub_results", "export_hub"), of_dataset=True),
    "rl": Form(
        "prompts for a reward",
        ".rl.jsonl",
        _of("training_rows", "export_rl"),
        beside=HIDDEN,
        of_several=True,
    ),
    "sft": Form("passed answers to imitate", ".sft.jsonl", _of("training_rows", "export_sft"), of_several=True),
    "dpo": Form(
        "passed against failed answers",
        ".dpo.jsonl",
        _of("training_rows", "export_dpo"),
        of_several=True,
        has_margin=True,
    ),
}
"""By name, in the order of the help."""
