"""One file that shows a leaderboard: every model by stratum, with ranges of ranks and runs of one's own; no script."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dspy_proact.evaluation.measured_run import names_of
from dspy_proact.plain_text import encodable
from dspy_proact.report.leaderboard import Leaderboard, own_name
from dspy_proact.report.leaderboard_text import leaderboard_document, leaderboard_headline, legend
from dspy_proact.report.numbers import letter
from dspy_proact.report.page.figures import PAGE, Cited, colour, look, one_file, page_text, templates
from dspy_proact.report.page.scatter import clipped
from dspy_proact.report.summary import Summary
from dspy_proact.stand_in import stand_in_note
from dspy_proact.stats import Headline


def leaderboard_page(board: Leaderboard) -> str:
    """The page of a leaderboard, as HTML that needs no other file."""
    shown = _LeaderboardPage(board)
    functions = (colour, legend, letter, look, own_name, short)
    own = {function.__name__: function for function in functions}
    template = templates().get_template("leaderboard.html")
    return encodable(one_file(template, page_text(PAGE, "page.css"), "", "", page=shown, cited=shown.cited, **own))


@dataclass(frozen=True)
class _LeaderboardPage:
    board: Leaderboard

    @cached_property
    def cited(self) -> Cited:
        """What numbers are from: the document of `leaderboard --json`."""
        return Cited({"ranking": leaderboard_document(self.board)})

    @property
    def answer(self) -> Headline:
        return leaderboard_headline(self.board, letter)

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return self.board.summaries

    @cached_property
    def names(self) -> list[str]:
        """The model of each run with its program."""
        return names_of(self.summaries)

    @property
    def several(self) -> bool:
        """Whether there are runs, which have letters and colours."""
        return bool(self.summaries)

    @property
    def runs(self) -> dict[str | None, int]:
        """The number of each run, by its path; published rows have none."""
        return {summary.path: number for number, summary in enumerate(self.summaries)}

    @property
    def stand_in(self) -> str:
        return stand_in_note(role for summary in self.summaries for role in summary.roles)

    @property
    def bars(self) -> Mapping[str, str]:
        """Heading of each column of the figure, by name: of the strata, of other shares, or of the score that ranks."""
        columns = self.board.columns
        strata = {name: name for name in self.board.declared.strata if name in columns}
        others = {name: columns[name] for name in columns if name not in (self.board.ranking, *self.board.counts)}
        return strata or others or {self.board.ranking: columns[self.board.ranking]}


def short(text: str) -> str:
    """A name on one line, its middle left out where it is long."""
    return clipped(encodable(text), 60)
