"""`compare --card`: a judge without the rubric is asked, if one is named, and the card is printed and written."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dspy_proact.cli.exit_status import exit_status
from dspy_proact.cli.options.arguments import flags_in_hand, with_options
from dspy_proact.cli.options.benchmark import BenchmarkChoice
from dspy_proact.cli.options.models import EMBEDDED, NamedModel
from dspy_proact.cli.options.option import Output
from dspy_proact.cli.options.verb import first_typed
from dspy_proact.cli.views.message import console, print_json, print_more, say
from dspy_proact.cli.views.pages import write_over_its_like
from dspy_proact.cli.views.runs import run_all
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.evaluation import Rejudging
from dspy_proact.report.numbers import counted
from dspy_proact.runs import Scope
from dspy_proact.trained.card import TrainedCard
from dspy_proact.trained.card_text import print_trained_card, trained_card_document, trained_card_markdown
from dspy_proact.trained.preference import PairChoices, Pairs, Preference
from dspy_proact.trained.trained_on import TrainedOn

if TYPE_CHECKING:
    from collections.abc import Callable

    from dspy_proact.models import Gate

_TITLE = "# Card of a trained model"
_WITHOUT_JUDGE = ("--benchmark", "--card", "--trained-on", "--rewarded-by", "--markdown", "--explain", "--json")
"""Options of a card that need no judge."""


@dataclass(frozen=True)
class CardOptions:
    """What a person says of a trained model, and who is to be asked."""

    trained_on: tuple[str, ...]
    rewarded_by: tuple[str, ...]
    judge: NamedModel
    gate: "Callable[[], Gate]"
    markdown: Path | None


def card_shown(
    base: Path, tuned: Path, chosen: BenchmarkChoice, options: CardOptions, output: Output, explain: bool
) -> int:
    """Ask the judge without the rubric, if one is named, and print the card of the second run; the exit status."""
    if not options.judge.name and (flag := first_typed(but=_WITHOUT_JUDGE)):
        raise UsageError(f"{flag}: has no effect without a judge of the preference; name one with --judge")
    if options.markdown and output.as_json:
        raise UsageError("--markdown and --json are mutually exclusive")
    chosen.require(base, tuned)
    declared = chosen.known(base, tuned)
    if options.rewarded_by and not options.trained_on:
        raise UsageError("--rewarded-by: has no effect without what was trained on; name it with --trained-on")
    trained = TrainedOn.of(options.trained_on, options.rewarded_by) if options.trained_on else None
    card = TrainedCard(chosen.summary(base), chosen.summary(tuned), declared, trained)
    if options.judge.name:
        choices = _choices(card, options, output)
        if choices is None or isinstance(choices, int):
            return choices or 0
        card = card.with_choices(choices)
    flags = [*flags_in_hand(), "--controls"]

    def spelled(text: str) -> str:
        return with_options(text, flags)

    if options.markdown:
        write_over_its_like(
            options.markdown,
            [base, tuned],
            lambda: f"{_TITLE}\n\n{trained_card_markdown(card, spelled)}",
            "a card",
            _TITLE.lower().encode(),
        )
        return 0
    if output.as_json:
        print_json(trained_card_document(card))
        return 0
    print_trained_card(card, console(), explain, spelled)
    print_more(explain)
    return 0


def _choices(card: TrainedCard, options: CardOptions, output: Output) -> PairChoices | int | None:
    """What was chosen; None after a forecast, the exit status where it was stopped."""
    pairs = Pairs.of(card.base, card.tuned, card.keys, card.declared)
    responses = pairs.responses()
    if responses is None:
        say("No two responses of the test differ, so that no judge is asked.")
        return None if output.dry_run else PairChoices.of(None, pairs, card.keys)
    judging = Rejudging(responses, options.judge.specs(EMBEDDED), benchmark=Preference(), gate=options.gate())
    folder = output.out or judging.default_folder
    ending = run_all([(judging, folder)], Scope(), output)
    if ending is None:
        return None
    if ending.halt:
        ending.close(Preference())
        return exit_status(ending.halt)
    (done,) = ending.finished
    if done.unscored:
        again = " The same command asks for them again." if done.retryable > done.by_content else ""
        say(f"{counted(done.unscored, 'choice')} missing, which count against the trained model.{again}")
    say(f"The choices are in {folder}.")
    return PairChoices.of(folder, pairs, card.keys)
