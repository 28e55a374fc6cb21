"""What a model was trained on: rows of `export`, and folders of rewards or of other runs whose answers were used."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ConfigDict

from dspy_proact.evaluation.inspect_run import run_at
from dspy_proact.evaluation.registry import find_benchmark
from dspy_proact.evaluation.split import units_of
from dspy_proact.files.rows import OwnPart
from dspy_proact.files.tables import rows_in
from dspy_proact.kept import Kind, content_of
from dspy_proact.runs import Case

_ROWS = "rows as `export` writes them for rl, sft or dpo, or the folder of a reward"


class TrainingRow(OwnPart):
    """What a row says of its case; other columns are read past."""

    model_config = ConfigDict(extra="ignore", strict=False)

    key: str | None = None
    group: str | None = None
    unit: str | None = None
    """What the split keeps together, such as a persona."""
    split: str | None = None
    judges: tuple[str, ...] | None = None
    """Who graded its answers; None where the row does not say."""


@dataclass(frozen=True)
class TrainedOn:
    """What a model was trained on, and who rewarded it."""

    sources: tuple[str, ...]
    """Files and folders, as a person named them."""
    rows: int
    """Rows, and answers in folders."""
    reserved: int
    """Further rows, of the split `test`: prompts that are exported beside those for training, and taken as not used."""
    names: frozenset[str]
    """Keys, groups and units of their cases."""
    without_unit: Mapping[str, int]
    """Rows that name no unit, counted by the key of their case; it is empty where they name none."""
    judges: tuple[str, ...]
    """Who rewarded, by name, in order; none where benchmarks grade by themselves, or it is not known."""
    judged: bool
    """Whether it is known who rewarded."""

    @classmethod
    def of(cls, sources: Sequence[str | Path], rewarded_by: Sequence[str] = ()) -> "TrainedOn":
        """What files and folders say, and who a person says has rewarded.

        Raises a `CorpusError` where a path holds neither rows nor a run, or a row cannot be read.
        """
        rows, names, without_unit = Counter[bool](), set[str](), Counter[str]()
        judges, graded, silent = {*rewarded_by}, set[str](), list[set[str]]()
        for source in map(Path, sources):
            if content_of(source).kind in (Kind.RUN, Kind.LOG):
                answers, own, graded_by = _of_folder(source)
                rows[True] += answers
                names, judges, graded = names | own, judges | graded_by, graded | own
                continue
            for line in rows_in(source, _ROWS):
                row = TrainingRow.of(line)
                rows[used := row.split != "test"] += 1
                if used:
                    own = {*filter(None, (row.key, row.group, row.unit))}
                    names, judges = names | own, judges | {*(row.judges or ())}
                    if row.judges is None:
                        silent.append(own)
                    if not row.unit:
                        without_unit[row.key or ""] += 1
        return cls(
            sources=tuple(map(str, sources)),
            rows=rows[True],
            reserved=rows[False],
            names=frozenset(names),
            without_unit=without_unit,
            judges=tuple(sorted(judges)),
            # A row that does not say is of a folder that has answers to its case, or of its unit.
            judged=rows[True] > 0 and (bool(rewarded_by) or all(own & graded for own in silent)),
        )

    def left_out(self, cases: Iterable[Case], units: Mapping[str, str]) -> frozenset[str]:
        """Keys of the cases of a test that share a unit with what the model was trained on.

        How a unit is called may depend on the corpus, so that one case of it that was trained on, or is of a group that
        was, leaves out all of it.
        """
        cases = list(cases)
        touched = {units[one.key] for one in cases if self.names & {one.key, one.group, units[one.key]}}
        return frozenset(one.key for one in cases if units[one.key] in touched)

    def unknown(self, keys: Container[str]) -> int:
        """Rows of which neither the unit nor the case is known: any case of the test may be like one of them."""
        return sum(count for key, count in self.without_unit.items() if key not in keys)


def _of_folder(path: Path) -> tuple[int, frozenset[str], frozenset[str]]:
    """The number of answers in a run's folder; keys, groups and units of their cases; and its judges."""
    folder = run_at(path)
    answered = Counter(event.key.case for event in folder.events() if event.key.stage == "response" and event.answer)
    identity, records = folder.manifest().identity, folder.cases_of({*answered})
    units = units_of(find_benchmark(identity.benchmark), records)
    names = frozenset(name for one in records if one.key in answered for name in (one.key, one.group, units[one.key]))
    return answered.total(), names, frozenset(judge.model for judge in identity.judges)
