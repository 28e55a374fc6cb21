"""Whether a first sentence contradicts the number beside it: constructed reports of every kind.

    python eval/headlines.py

A report is made by public functions of what `support/constructed.py` draws, and its headline, which is a value, is held
against its JSON and against what a terminal prints: at most 30 words and one interval, which is that of the JSON; a
side that its number, its interval and its test are on; no difference denied that the overall test shows; the count;
ranks in the order of the scores; every caveat once. Exits 1 when anything contradicts.
"""

import argparse
import io
import multiprocessing
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from html import unescape
from itertools import combinations
from typing import Any

import numpy as np
from rich.console import Console
from support import constructed

from dspy_proact.programs.card import Card
from dspy_proact.report import (
    Comparison,
    Summary,
    compare,
    comparison_document,
    leaderboard_document,
    print_comparison,
    print_leaderboard,
    print_summary,
    summary_document,
)
from dspy_proact.report.headline import comparison_headline, headline, study_headline
from dspy_proact.report.leaderboard import Leaderboard
from dspy_proact.report.leaderboard_text import leaderboard_headline
from dspy_proact.report.numbers import percent, points_of, share
from dspy_proact.report.pairs import PairStudy, pairs_document, pairs_headline, print_pairs
from dspy_proact.report.plan import LabellingPlan, plan_document, plan_headline, print_plan
from dspy_proact.report.several import SeveralRuns, compare_several, print_several, several_document, several_headline
from dspy_proact.report.study import RatingStudy
from dspy_proact.report.study_text import print_study, studies_document
from dspy_proact.stats import Headline

WORDS, SURE, HALF = 30, 0.05, 0.5
INTERVAL = re.compile(r"(?:\d\d % |\[)([+-]?\d+(?:\.\d+)?)(?: to |, )([+-]?\d+(?:\.\d+)?)")
SIDES = {"higher": 1, "lower": -1}
PHRASES = {
    "higher": re.compile(r"scores higher|is better|agrees? .*better"),
    "lower": re.compile(r"scores lower|is worse|less well"),
}
OPEN = ("Whether", "No ", "With ", "It cannot", "cannot be")
"""How sentences begin, or what stands in them, that claim no side."""


@dataclass(frozen=True)
class Printed:
    """A report: the value that its headline is, its JSON and what a terminal prints."""

    kind: str
    headline: Headline
    document: Mapping[str, Any]
    text: str
    cell: str = ""
    """The number as the table below has it."""
    null: float = 0.0
    """From which a side is told; of a rank, which has none, below any score."""
    further: Sequence[str] = ()
    """What contradicts that is of this kind alone."""


def terminal(printing: Callable[..., None], shown: Any) -> str:
    """What a wide terminal prints, on one line."""
    file = io.StringIO()
    printing(shown, Console(file=file, width=100_000))
    return " ".join(file.getvalue().split())


# What contradicts in any report


def contradictions(report: Printed) -> Iterator[str]:
    """What its headline contradicts, a few words each."""
    first, document = report.headline, report.document
    if document["headline"] != first.text or document["claim"] != first.claim:
        yield "JSON has another headline"
    if len(first.text.split()) > WORDS:
        yield "too many words"
    if not first.text.endswith(".") or re.search(r"[.!?] [A-Z]", first.text):
        yield "not one sentence"
    yield from _of_lines(first, report.text)
    if report.cell not in report.text.removeprefix(" ".join(first.text.split())):
        yield "not the number of the table"
    yield from _of_interval(first, document)
    yield from _of_side(first, report.null)
    yield from report.further


def _of_lines(first: Headline, text: str) -> Iterator[str]:
    """Of the sentence and the lines below it, as they are printed."""
    if not text.startswith(" ".join(first.text.split())):
        yield "not printed first"
    if len(set(first.caveats)) < len(first.caveats) or any(
        text.count(" ".join(line.split())) != 1 for line in first.caveats
    ):
        yield "a caveat not once"
    if any("judged differently" in line for line in first.caveats[1:]):
        yield "judged differently is not the first caveat"


def _of_interval(first: Headline, document: Mapping[str, Any]) -> Iterator[str]:
    """Of the number that the sentence carries."""
    intervals, number = INTERVAL.findall(first.text), first.number
    if len(intervals) > 1:
        yield "several intervals"
    if number is None:
        if intervals:
            yield "an interval of no number"
        return
    if number.low is not None and not any(_rounds_to(intervals, number.low, number.high or 0, by) for by in (1, 100)):
        yield "interval not printed, or another one"
    if number.value is not None and not any(_is(asdict(number), own) for own in _numbers(document)):
        yield "number not in the JSON"


def _rounds_to(intervals: Sequence[tuple[str, str]], low: float, high: float, by: int) -> bool:
    return any(
        all(
            abs(by * value - float(text)) <= HALF * 10 ** -len(text.partition(".")[2]) + 1e-9
            for text, value in zip(printed, (low, high), strict=True)
        )
        for printed in intervals
    )


def _numbers(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every estimate in a JSON value but that of the claim."""
    if isinstance(value, Mapping):
        if "low" in value and "side" not in value:
            yield value
        for inner in value.values():
            yield from _numbers(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _numbers(inner)


def _is(number: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(number[name] == other.get(name) for name in ("value", "low", "high"))


def _of_side(first: Headline, null: float) -> Iterator[str]:
    """Of the side that is claimed, in words and as a value."""
    claimed = [
        side for side, words in PHRASES.items() if words.search(first.text) and not any(o in first.text for o in OPEN)
    ]
    if claimed and claimed != [first.side]:
        yield "words claim another side"
    number = first.number
    if (
        number
        and number.low is not None
        and not number.low <= null <= (number.high or 0)
        and "was detected" in first.text
    ):
        yield "no difference, beside an interval without it"
    if first.side is None:
        return
    sign = SIDES[first.side]
    if number is None or number.value is None or sign * (number.value - null) <= 0:
        yield "side without a number on it"
    elif (
        number.low is not None
        and number.high is not None
        and sign * (number.low if sign > 0 else number.high) <= sign * null
    ):
        yield "side whose interval does not exclude the null"
    if first.p is not None and first.p > SURE:
        yield "side with p above .05"


# What contradicts in one kind


def of_comparison(comparison: Comparison) -> Printed:
    """Two runs: whatever is claimed or denied by the overall test."""
    first, document = comparison_headline(comparison), comparison_document(comparison)
    overall = document["overall"][comparison.a.leading_mean]
    lenient, strict = overall["weighted"], overall["strict"]["weighted"]
    shown, counted = (_shown(row) for row in (lenient, strict))
    further: list[str] = []
    if first.side and (first.side != shown or counted != shown):
        further.append("side that one of the two tests does not show")
    if shown and shown == counted and first.side is None:
        further.append("difference denied that the overall test shows")
    if (shown or counted) and first.text.startswith("No difference"):
        further.append("no difference, where a test shows one")
    if (
        first.number
        and first.number.value is not None
        and (first.number.value, first.p) != (lenient["value"], lenient["p"])
    ):
        further.append("not the overall difference and its test")
    if (
        first.text.startswith("No difference")
        and lenient["low"] is not None
        and not lenient["low"] <= 0 <= lenient["high"]
    ):
        further.append("no difference, beside an interval without 0")
    if first.count != document["cases"]["compared"]:
        further.append("another count of cases")
    cell = points_of(comparison.lenient.overall.weighted.difference)
    return Printed("compare", first, document, terminal(print_comparison, comparison), cell, further=further)


def _shown(row: Mapping[str, Any]) -> str | None:
    """The side that a difference in JSON is on by its test and its interval."""
    low, value, high = row["low"], row["value"], row["high"]
    if row["p"] is None or row["p"] > SURE or "p_reason" in row or not value:
        return None
    return None if low is not None and low <= 0 <= high else "higher" if value > 0 else "lower"


def of_several(several: SeveralRuns) -> Printed:
    """More than two runs: how many lie on which side of the first, and the order of all."""
    first, document = several_headline(several), several_document(several)
    further, sides = list[str](), [row["side"] for row in document["comparisons"]]
    for side in SIDES:
        if (counted := re.search(rf"(\d+) (?:scored )?{side}", first.text)) and int(counted[1]) != sides.count(side):
            further.append("another number of runs")
        if side in sides and not counted:
            further.append("side of a run that is not counted")
    for row in document["comparisons"]:
        lenient = row["overall"][several.summaries[0].leading_mean]["weighted"]
        if row["side"] and (row["side"] != _shown(lenient) or (row["p_holm"] or 1) > SURE):
            further.append("side that the adjusted test does not show")
        if not row["side"] and _shown(lenient) and (row["p_holm"] or 1) <= SURE and "no difference was" in first.text:
            further.append("no difference, where a test shows one")
    best, tests = several.best, several.best.pairs
    for run in best.below:  # shown by a test of its own that bears the number of all pairs
        of = compare(several.summaries[run], several.summaries[best.run]).lenient.overall.weighted
        if of.p is None or of.p * tests > SURE or (of.difference.value or 0) <= 0:
            further.append("run below the best that the adjusted test does not show")
    scores = [(row["few"], -(row["strict"]["value"] or 0)) for row in document["runs"]]
    if scores != sorted(scores):
        further.append("not the best first")
    return Printed("several", first, document, terminal(print_several, several), further=further)


def of_run(run: Summary) -> Printed:
    """One run."""
    first, document = headline(run), summary_document(run)
    counts, score = document["cases"], document["overall"][run.leading_mean]["weighted"]
    further = ["another count of cases"] if first.count != counts["scored"] else []
    if first.number and not _is(asdict(first.number), score):
        further.append("another score than the one that leads")
    return Printed("run", first, document, terminal(print_summary, run), percent(run.leading.weighted), further=further)


def of_leaderboard(board: Leaderboard) -> Printed:
    """Published rows with runs: ranks in the order of the score that ranks, and ranges that hold them."""
    first, document = leaderboard_headline(board), leaderboard_document(board)
    rows = [row for row in document["rows"] if row["rank"] is not None]
    further = [*_of_ranks(rows, board.ranking)]
    alone = [row["scores"][board.ranking] for row in rows if row["rank_range"] == [1, 1]]
    if first.side and not (first.number and any(_is(asdict(first.number), score) for score in alone)):
        further.append("side of a row that is not alone on the first rank")
    if "the others" in first.text and len(rows) == 1:
        further.append("better than nothing")
    if match := re.search(r"ranks (\d+) of (\d+)", first.text):
        if int(match[2]) != len(rows):
            further.append("another number of ranked rows")
        if not any(str(row["rank"]) == match[1] and not row["published"] for row in rows):
            further.append("rank of no run")
    cell = share(first.number.value).replace("100.0", "100") if first.number else ""
    return Printed("leaderboard", first, document, terminal(print_leaderboard, board), cell, -1.0, further)


def _of_ranks(rows: Sequence[Mapping[str, Any]], score: str) -> Iterator[str]:
    """Of ranked rows, by the name of the score that ranks."""
    for one, other in combinations(rows, 2):
        ahead, behind = (round(row["scores"][score]["value"] or 0, 9) for row in (one, other))
        if np.sign(ahead - behind) != -np.sign(one["rank"] - other["rank"]):
            yield "rank against the score"
    for row in rows:
        own, others = row["scores"][score], [other["scores"][score]["value"] for other in rows]
        low, high = row["rank_range"] or (1, len(rows))
        if not low <= row["rank"] <= high:
            yield "rank out of its range"
        if own["low"] is None:
            continue
        above, below = (sum(value > own["high"] for value in others), sum(value < own["low"] for value in others))
        if low - 1 > above or len(rows) - high > below:
            yield "ranks ruled out by rows inside the interval"


def of_study(study: RatingStudy) -> Printed:
    """A judge beside people: no side without the 98 % interval, 30 items and ten groups."""
    first, document = study_headline(study), studies_document([study])
    low, high = document["within"]["judge_minus_human_98"]
    shown = None if low is None or low <= 0 <= high else "higher" if low > 0 else "lower"
    further = ["side that the 98 % interval does not show"] if first.side and first.side != shown else []
    if first.side and (document["within"]["items"] < 30 or first.count != document["within"]["items"]):
        further.append("claim on too few items, or another count")
    if "people" in first.text and (document["within"]["raters"] or 0) < 4 and first.side:
        further.append("few raters stand for people")
    cell = str(study.pooled.within.difference) if study.pooled.compared and study.pooled.within.items else ""
    return Printed("study", first, document, terminal(print_study, study), cell, further=further)


def of_pairs(study: PairStudy) -> Printed:
    """Which answer is chosen."""
    first, document = pairs_headline(study), pairs_document(study)
    further = ["another share"] if first.number and first.number.value != document["all"]["share"]["value"] else []
    if first.side and len(document["raters"]) == 1:
        further.append("one rater decides")
    return Printed("pairs", first, document, terminal(print_pairs, study), percent(study.overall.share), HALF, further)


def of_card(card: Card) -> Printed:
    """A compiled program."""
    first, document, target = card.headline, card.document(), card.target
    further = ["shown, or not, against the card"] if (first.side == "higher") != card.shown else []
    if first.side and (target.low98 or 0) <= 0:
        further.append("improvement whose 98 % interval does not lie above 0")
    if first.text.startswith("Improvement shown") != card.shown:
        further.append("words against the card")
    if first.count != target.count:
        further.append("another count of cases")
    text = " ".join(unescape(re.sub("<[^>]+>", " ", card._repr_html_())).split())
    return Printed("card", first, document, text, str(target.difference), further=further)


def of_plan(plan: LabellingPlan) -> Printed:
    """How many people and ratings: one answer, which is the plan in the JSON."""
    first, document = plan_headline(plan), plan_document(plan)
    further, best = list[str](), document["plan"]
    if best and not all(re.search(rf"\b{best[name]:,}\b", first.text) for name in ("raters", plan.nouns.cases)):
        further.append("another number of raters or cases")
    if best is None and "out of reach" not in first.text:
        further.append("a plan that is out of reach")
    return Printed("plan", first, document, terminal(print_plan, plan), further=further)


KINDS: Mapping[str, Callable[[constructed.Rng], list[Printed]]] = {
    "comparisons": lambda rng: of_runs(constructed.constructed_runs(rng, constructed.one_of(rng, (2, 2, 3, 5)))),
    "leaderboards": lambda rng: [of_leaderboard(constructed.constructed_leaderboard(rng))],
    "studies": lambda rng: [
        of_study(constructed.constructed_study(rng))
        if rng.random() < 0.75
        else of_pairs(constructed.constructed_pairs(rng))
    ],
    "cards and plans": lambda rng: [
        of_card(constructed.constructed_card(rng))
        if rng.random() < 0.75
        else of_plan(constructed.constructed_plan(rng))
    ],
}


def of_runs(runs: Sequence[Summary]) -> list[Printed]:
    """The first run, each other beside it, and all together where they are more than two."""
    together = [of_several(compare_several(runs))] if len(runs) > 2 else []
    return [*map(of_run, runs[:1]), *(of_comparison(compare(runs[0], run)) for run in runs[1:]), *together]


def examined(numbered: tuple[int, str], seed: int) -> list[tuple[str, str, str]]:
    """Kind, contradiction and sentence of each in the report of a number."""
    number, kind = numbered
    reports = KINDS[kind](np.random.default_rng((seed, number)))
    return [(report.kind, fault, report.headline.text) for report in reports for fault in contradictions(report)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=500, help="of each of the four kinds")
    parser.add_argument("--seed", type=int, default=20261128)
    parser.add_argument("--quick", action="store_true", help="3 of each")
    options = parser.parse_args()
    count = 3 if options.quick else options.reports
    jobs = [(number, kind) for kind in KINDS for number in range(count)]
    with multiprocessing.Pool() as pool:
        results = pool.map(partial(examined, seed=options.seed), jobs, chunksize=10)
    contradicting = [(number, *fault) for (number, _), faults in zip(jobs, results, strict=True) for fault in faults]
    print("| kind | reports | contradictions |\n| --- | --- | --- |")
    for kind in KINDS:
        own = [faults for (_, name), faults in zip(jobs, results, strict=True) if name == kind]
        print(f"| {kind} | {count} | {sum(map(bool, own))} |")
    for (kind, fault), times in Counter((kind, fault) for _, kind, fault, _ in contradicting).most_common():
        number, text = next((number, text) for number, *of, text in contradicting if of == [kind, fault])
        print(f"\n{kind}: {fault}, {times} times, first in {number}: {text}")
    print(f"\n{sum(map(bool, results))} of {len(jobs):,} contradict themselves, seed {options.seed}")
    sys.exit(int(any(results)))


if __name__ == "__main__":
    main()
