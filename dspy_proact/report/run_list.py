"""The runs in a folder and below it, each in a line: what was measured, the score, how much is done, its labels."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from dspy_proact.errors import RunError
from dspy_proact.report.summary import summarize
from dspy_proact.runs import RunFolder
from dspy_proact.stats import Estimate

_NO_SCORE = Estimate(None, reason="the run cannot be read")
_DIGITS = 12
"""Of a commit in a list."""


@dataclass(frozen=True)
class ListedRun:
    """A run in a list; one that cannot be read has the `reason`, and nothing else but its path."""

    path: Path
    benchmark: str | None = None
    model: str | None = None
    judge: str | None = None
    """Its judges by their models; None where the benchmark grades by itself."""
    score: Estimate = _NO_SCORE
    """The mean score that a report of it begins with, a share in [0, 1]."""
    scored: int = 0
    """Cases with a grade, in any epoch."""
    cases: int = 0
    """Of the whole corpus, whether they were asked for or not."""
    state: str = "cannot be read"
    """How many are pending, or unscored; else `complete`; with the shard of one."""
    created: str | None = None
    """When it was begun, to the minute, UTC."""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    note: str | None = None
    commit: str | None = None
    """As in its manifest."""
    embedded: bool = False
    """Whether a stand-in took part."""
    reason: str | None = None

    @classmethod
    def of(cls, path: Path) -> Self:
        """The run at a path; raises a `RunError` where it cannot be read."""
        folder = RunFolder(path)
        summary, manifest = summarize(folder), folder.manifest()
        pending, unscored = summary.count("pending"), summary.count("unscored")
        several = len(summary.outcomes) != summary.case_count  # of epochs: these are no cases
        of_all = f" of {len(summary.outcomes):,} answers" if several else ""
        state = f"{pending}{of_all} pending" if pending else f"{unscored}{of_all} unscored" if unscored else "complete"
        return cls(
            path,
            summary.benchmark,
            summary.model_name,
            " + ".join(summary.judge_names.values()) or None,
            summary.leading.weighted,
            len({outcome.key for outcome in summary.scored}),
            max(manifest.corpus.cases, summary.case_count),
            f"{state}, {manifest.shards}" if manifest.shards else state,
            manifest.created[:16],
            manifest.tags,
            manifest.note,
            manifest.commit,
            summary.embedded,
        )

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.path.name or self.path.resolve().name

    @property
    def count(self) -> str:
        """How many cases of the corpus have a grade, such as `2 of 624`."""
        return f"{self.scored:,} of {self.cases:,}" if self.cases else "-"

    @property
    def short_commit(self) -> str:
        """The first digits of the commit, with `-dirty` where files were changed; empty without one."""
        digits, dirty, _ = (self.commit or "").partition("-dirty")
        return digits[:_DIGITS] + dirty

    @property
    def labels(self) -> str:
        """The tags as they are typed."""
        return ", ".join(f"{name}={value}" for name, value in self.tags.items())

    @property
    def document(self) -> dict[str, Any]:
        """The run as JSON; scores are 0 to 100."""
        low, value, high = (
            None if share is None else round(100 * share, 1)
            for share in (self.score.low, self.score.value, self.score.high)
        )
        return {
            "run": self.name.rpartition("--")[2],
            "path": str(self.path),
            **{name: getattr(self, name) for name in ("benchmark", "model", "judge")},
            "score": value,
            "low": low,
            "high": high,
            **{name: getattr(self, name) for name in ("scored", "cases", "state", "created")},
            "tags": dict(self.tags),
            "note": self.note,
            "commit": self.commit,
            "reason": self.reason,
        }


def list_runs(folder: Path, tags: Mapping[str, str] | None = None, note: str = "", commit: str = "") -> list[ListedRun]:
    """The runs in a folder and below it, the latest first, and then those that cannot be read.

    Where tags, a part of the note or the beginning of the commit are given, only runs with all of them, and those that
    cannot be read, which may have them.
    """
    listed: list[ListedRun] = []
    for path in run_folders(folder):
        try:
            manifest = RunFolder(path).manifest()
            if (
                (tags or {}).items() <= manifest.tags.items()
                and note.casefold() in (manifest.note or "").casefold()
                and (manifest.commit or "").startswith(commit)
            ):
                listed.append(ListedRun.of(path))
        except RunError as error:
            listed.append(ListedRun(path, reason=str(error)))
    return sorted(listed, key=lambda run: run.created or "", reverse=True)


def run_folders(folder: Path) -> Iterator[Path]:
    """The folders of runs in a folder and below it, in order; hidden folders and links to others are passed over."""
    waiting = [folder]  # no recursion: folders may be nested deeper than Python calls
    while waiting:
        path = waiting.pop()
        with suppress(OSError):  # what may not be read is passed over
            if RunFolder(path).exists:
                yield path
            elif path == folder or (path.is_dir() and not path.is_symlink() and not path.name.startswith(".")):
                waiting += sorted(path.iterdir(), reverse=True)
