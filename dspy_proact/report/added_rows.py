"""Rows of others for a leaderboard, each with where it is from: a file that a person writes.

    {
      "benchmark": "contest",
      "rows": [
        {"model": "acme/nova", "scores": {"score": 0.52, "strict": 0.5, "easy": 0.7}, "scored": 600, "total": 624,
         "judge": "openai/gpt-5.4", "source": "https://acme.example/nova", "date": "2026-11-01"}
      ]
    }

Nothing here can verify them: they are read strictly, marked, and never ranked.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field

from dspy_proact.errors import CorpusError
from dspy_proact.files.rows import Id, JsonFile, OwnPart, read_bytes, text_of
from dspy_proact.report.corpus_ranking import SCORE
from dspy_proact.runs import Nouns

STRICT, MACRO = "strict", "macro"
"""Columns of every benchmark beside the score over what was scored: that over all tried, and the mean of strata."""
ROUNDED = 0.001
"""By how much two scores may differ that are rounded to a tenth of a percent."""
_LONGEST = 200
"""Characters of a name or a URL."""
_WANTED = "a JSON file of rows of others"


Columns = Mapping[str, tuple[float, float]]
"""The least and the greatest that the score of a column can be, by the name of the column."""


class AddedRow(OwnPart):
    """A row of others."""

    model: Id = Field(max_length=_LONGEST)
    scores: dict[str, float] = Field(min_length=1)
    """By the name of a column; shares are in [0, 1]."""
    scored: int = Field(ge=1)
    """Cases with a score."""
    total: int = Field(ge=1)
    """Cases that were tried."""
    judge: Id | None = Field(max_length=_LONGEST)
    """The model that graded; null where none did."""
    source: Id
    """Where the row is published, as a URL."""
    date: Id
    """When it was, as YYYY-MM-DD."""

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Field and problem wherever the row contradicts itself."""
        if self.scored > self.total:
            yield "scored", f"{self.scored:,} cases have a score, of only {self.total:,} in total"
        try:
            parts = urlsplit(self.source)
            valid = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
        except ValueError:
            valid = False
        if not valid or len(self.source) > _LONGEST or " " in self.source:
            yield "source", f"no URL of at most {_LONGEST} characters with http or https, and without a user"
        try:
            valid = date.fromisoformat(self.date).isoformat() == self.date
        except ValueError:
            valid = False
        if not valid:
            yield "date", "no day as YYYY-MM-DD"

    def score_misfits(self, columns: Columns, headline: str) -> Iterator[tuple[str, str]]:
        """Field and problem of the scores that the columns of a benchmark do not take."""
        for name, value in self.scores.items():
            if name not in columns:
                near = get_close_matches(name, columns, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(columns)}"
                yield f"scores.{name}", f"no column of this leaderboard; {hint}"
            elif not columns[name][0] <= value <= columns[name][1]:
                low, high = columns[name]
                hint = "; is it a percentage?" if high == 1 < value <= 100 else ""
                yield f"scores.{name}", f"is from {low:g} to {high:g}, not {value:g}{hint}"
        lenient, strict = self.scores.get(headline), self.scores.get(STRICT)
        if lenient is None and strict is None:
            yield "scores", f"neither {headline} nor {STRICT}, by which the table is sorted"
        most = self.scored / self.total
        if headline == SCORE and lenient is None and strict is not None and strict > most + ROUNDED:
            yield "scores.strict", f"is at most {most:.3f}, since {self.scored:,} of {self.total:,} have a score"
        if headline == SCORE and lenient is not None and strict is not None:
            # Of all that were tried, with 0 for what has no score, the mean is this.
            expected = lenient * self.scored / self.total
            if abs(strict - expected) > ROUNDED:
                of = f"{lenient:g} over {self.scored:,} of {self.total:,}"
                yield "scores.strict", f"a score of {of} is {expected:.3f} over all, not {strict:g}"

    def with_both(self, headline: str) -> dict[str, float | None]:
        """The scores with the one of strict and lenient that is left out, where it follows from the other."""
        scores: dict[str, float | None] = dict(self.scores)
        share = self.scored / self.total if headline == SCORE else 1.0
        if headline == MACRO and self.scored < self.total:
            share = None  # it depends on the strata in which scores are missing
        lenient, strict = scores.get(headline), scores.get(STRICT)
        if share and lenient is None and strict is not None:
            scores[headline] = min(1.0, strict / share)
        if share is not None and strict is None and lenient is not None:
            scores[STRICT] = lenient * share
        return scores

    def provenance(self, nouns: Nouns) -> str:
        """What is known of it, in a line."""
        judged = f"judged by {self.judge}" if self.judge else "without a judge"
        return (
            f"unverified: {self.scored:,} of {self.total:,} {nouns.cases} scored, {judged}; {self.source}, {self.date}"
        )


class _AddedFile(OwnPart):
    benchmark: str
    rows: list[dict[str, object]] = Field(min_length=1)


class _RowOfFile(JsonFile):
    """An object in the list `rows` of a file; `number` counts from 0, as in the paths of fields."""

    def error(self, problem: str, field: str | None = None) -> CorpusError:
        return CorpusError(problem, source=self.source, field=f"rows[{self.number}]{f'.{field}' if field else ''}")


def added_rows(path: Path, benchmark: str, columns: Columns, headline: str) -> list[AddedRow]:
    """The rows of a file; raises a `CorpusError` that names the field at fault, or the row that stands there twice."""
    source = str(path)
    file = JsonFile.of(source, text_of(read_bytes(source, _WANTED), source))
    listed = _AddedFile.of(file)
    if listed.benchmark != benchmark:
        raise file.error(f"{listed.benchmark!r}, but the leaderboard is of {benchmark!r}", "benchmark")
    rows = list[AddedRow]()
    for number, fields in enumerate(listed.rows):
        line = _RowOfFile(source, number, "", fields)
        row = AddedRow.of(line)
        for field, problem in row.score_misfits(columns, headline):
            raise line.error(problem, field)
        if any((row.model, row.judge, row.source) == (other.model, other.judge, other.source) for other in rows):
            raise line.error("the row is there twice: the same model, judge and source", "model")
        rows.append(row)
    return rows
