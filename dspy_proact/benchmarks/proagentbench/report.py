"""What is ProAgentBench's own in reports: baselines beside a run, burstiness, moments as they are read, published rows.

The paper has a burstiness of .787 for people and of .166 for a model.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, pstdev

import numpy as np

from dspy_proact.benchmarks.proagentbench.corpus import DATA
from dspy_proact.benchmarks.proagentbench.moments import MomentGrade
from dspy_proact.evaluation.measured_run import MeasuredRun
from dspy_proact.evaluation.published import PublishedRow, several_answers
from dspy_proact.evaluation.reporting import Addition, Grounds, PageSection, Reporting, View, sections_of, terms_of
from dspy_proact.evaluation.stream import Decision
from dspy_proact.files.rows import csv_rows
from dspy_proact.report.numbers import share
from dspy_proact.report.terminal import TerminalTable, table
from dspy_proact.runs import Outcome, VerdictRecord
from dspy_proact.stats.classification import classification


def published_rows() -> tuple[PublishedRow, ...]:
    """The published tables by accuracy, the best first.

    With precision P, recall R and accuracy A a row implies the share of moments that wanted help on which it was
    scored: (1 - A) / (1 - R + R (1 - P) / P), of .50 to .56. Rows of other shares are of other moments.
    """
    rows = list[PublishedRow]()
    for row in csv_rows(DATA / "published" / "models.csv"):
        percents = {name: float(row[name]) / 100 if row[name] else None for name in ("accuracy", "precision", "recall")}
        a, p, r = (percents[name] for name in ("accuracy", "precision", "recall"))
        wanted = None if a is None or p is None or r is None else (1 - a) / (1 - r + r * (1 - p) / p)
        scores = {
            "score": a,
            "precision": p,
            "recall": r,
            "f1": float(row["f1"]) / 100,
            "wanted": wanted,
            "intention": float(row["intention"]) / 100,
        }
        notes = ["P and R were not published" if wanted is None else f"scored where {wanted:.2f} wanted help"]
        notes += [f"published similarity {row['similarity']}"] if row["similarity"] else []
        of_model = row["kind"] in {"zero-shot", "CoT", "self-consistency"}
        name = f"{row['name']} ({row['kind']})"
        rows.append(PublishedRow(name, scores, kind="model" if of_model else "trained or with memory", notes=notes))
    return tuple(sorted(rows, key=lambda row: (row.kind, -(row.scores["score"] or 0.0))))


def differences(summary: MeasuredRun) -> Iterator[str]:
    """What a run was measured otherwise than the published rows; a run never stands among them."""
    manifest = summary.manifest
    assert manifest is not None, "the caller requires one"
    settings = manifest.identity.settings
    if settings["baseline"] != "none":
        yield f"a baseline that decides by a rule: {settings['baseline']}"
    if settings["memory"] != "none":
        yield f"told of the person's earlier work: memory={settings['memory']}"
    if not settings.get("screenshot"):
        yield "nothing is shown of the screen but a summary"
    if settings["negatives"] != "matched":
        yield "all moments without help, not as many as with it"
    yield f"the corpus is {manifest.corpus.name!r}; which moments were published is not known"
    yield "our prompt, and nothing shown of the window that the moment opens"
    yield from several_answers(summary)


def rules(summary: MeasuredRun, outcomes: Sequence[Outcome]) -> dict[str, Mapping[str, float | None]]:
    """What always, never and the graph alone score on moments of a run, by the name of a measure."""
    assert summary.manifest is not None, "no results files are read"
    cost = float(summary.manifest.identity.settings["cost"])
    wanted, graph = ([outcome.meta[name] == 1 for outcome in outcomes] for name in ("wanted", "graph"))
    decided = {"always": [True] * len(wanted), "never": [False] * len(wanted), "graph alone": graph}
    of = {name: [Decision(*pair) for pair in zip(acts, wanted, strict=True)] for name, acts in decided.items()}
    return {name: decision_values(decisions, cost) for name, decisions in of.items()}


def decision_values(decisions: Sequence[Decision], cost: float) -> dict[str, float | None]:
    """What decisions score, at least one, by the name of a measure; None where that is undefined."""
    counts, parts = np.zeros((1, 2, 2)), [decision.parts(cost) for decision in decisions]
    for decision in decisions:
        counts[0, int(decision.wanted), int(decision.acted)] += 1
    values: dict[str, float | None] = {"accuracy": fmean(part["right"] for part in parts)}
    for name in ("precision", "recall", "f1", "balanced_accuracy", "kappa"):
        value = float(classification(counts, name)[0])
        values[name] = None if np.isnan(value) else value
    return values | {"value": fmean(part["value"] for part in parts)}


def burstiness(times: Sequence[float]) -> float | None:
    """B = (s - m) / (s + m) of gaps between times, with mean m and standard deviation s (Goh and Barabasi 2008).

    It is -1 for a regular beat, 0 for a Poisson process, towards 1 for bursts; None with fewer than two gaps, or where
    all are 0.
    """
    gaps = [later - earlier for earlier, later in pairwise(sorted(times))]
    if len(gaps) < 2 or not any(gaps):
        return None
    mean, deviation = fmean(gaps), pstdev(gaps)
    return (deviation - mean) / (deviation + mean)


def bursts(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float | None]]:
    """B of the moments that wanted help and of those that got it, by person."""
    of = defaultdict[str, dict[str, list[float]]](lambda: {"wanted": [], "acted": []})
    for outcome in outcomes:
        at = float(outcome.meta["at"])
        of[outcome.group]["wanted"] += [at] if outcome.meta["wanted"] else []
        of[outcome.group]["acted"] += [at] if outcome.verdicts and outcome.verdicts[0].parts["acted"] else []
    return {person: {name: burstiness(times) for name, times in sides.items()} for person, sides in sorted(of.items())}


def commonest(outcomes: Sequence[Outcome]) -> tuple[str, float] | None:
    """The commonest intention of the moments that wanted help, and its share; None where none is known."""
    known = Counter(str(outcome.meta["intention"]) for outcome in outcomes if outcome.meta["intention"])
    return next(((name, count / known.total()) for name, count in known.most_common(1)), None)


def _of_run(summary: MeasuredRun) -> Addition:
    """Rules without a model, burstiness and the commonest intention at the moments of the first epoch."""
    first = [outcome for outcome in summary.scored if outcome.epoch == 1]
    if not first:
        return Addition()
    by_rule, by_person, most = rules(summary, first), bursts(first), commonest(first)
    intention = most and {"name": most[0], "share": most[1]}
    document = {"rules": by_rule, "burstiness": by_person, "commonest_intention": intention}
    titles = [name.replace("_", " ") for name in by_rule["always"]]
    details: list[TerminalTable | str] = [
        table(("without a model", *titles), [[name, *map(_number, row.values())] for name, row in by_rule.items()])
    ]
    if most:
        right = f"is right at {share(most[1])} % of the moments that wanted help"
        details.append(f"the commonest intention alone, {most[0]}, {right}.")
    rows = [[person, *map(_number, sides.values())] for person, sides in by_person.items()]
    details.append(table(("burstiness, -1 to 1", "of help sought", "of help given"), rows))
    details.append("burstiness: (s - m) / (s + m) of the gaps between moments; - where there are fewer than two gaps.")
    return Addition(document, details)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:z.2f}"


def _sections(view: View) -> Iterator[PageSection]:
    if "truth" not in view:  # the run keeps no inputs
        yield from sections_of(view)
        return
    headings = (f"{event['seconds_ago']} s ago: {event['app']}" for event in view["activity"])
    texts = (f"{event['window_title']}\n{event['summary']}".strip() for event in view["activity"])
    yield PageSection("activity", "chat", tuple(zip(headings, texts, strict=True)))
    yield PageSection("now", "terms", terms_of(view["current"]))
    if view["memory"]:
        yield PageSection("earlier work", "terms", (("memory", view["memory"]),))
    yield PageSection("what the person did", "terms", terms_of(view["truth"]), hidden=True)


def _answer(kept: str) -> str:
    answer = json.loads(kept)
    if not answer["need_help"]:
        return "(silence)"
    return f"{answer['intention']}\n\n{answer['query']}"


def _grounds(verdict: VerdictRecord) -> Grounds:
    grade = MomentGrade.model_validate(verdict.detail)
    return Grounds("", points=terms_of(grade.model_dump(mode="json")))


REPORTING = Reporting(
    meta=frozenset(),
    about_case=(
        "A moment is the begin of an event in a person's work. The agent says whether the person turns to an AI "
        "assistant now, and with what; the truth is what the person did."
    ),
    foremost=frozenset({"precision", "recall", "f1", "balanced_accuracy", "value", "intention"}),
    breakdowns=("intention",),
    alike=lambda one, other: all(one.meta[name] == other.meta[name] for name in ("at", "wanted", "intention")),
    ungrouped=frozenset({"moment", "at", "graph", "graph_intention"}),
    notes=(
        "score: accuracy of when, the share of moments at which help came where it was sought and silence where not. "
        "Help that comes before the person asks counts as wrong.",
        "always helping has recall 1, and F1 2 p / (1 + p) where a share p of the moments wanted help: 66.7 % at a "
        "half, which several published rows do not beat. Read balanced accuracy, kappa and value.",
        "value at a cost: help that was sought is worth 1, other help costs the setting cost (1), silence is worth 0.",
        "intention and similarity are over moments that wanted help, where silence counts as wrong and 0. The lexical "
        "similarity is a cosine of word counts, and not the paper's, which is one of embeddings.",
    ),
    detail=lambda _: MomentGrade,
    answer=_answer,
    sections=_sections,
    grounds=_grounds,
    run=_of_run,
    citation=(
        "@article{tang2026proagentbench,\n  title={ProAgentBench},\n  author={Tang and others},\n"
        "  journal={arXiv preprint arXiv:2602.04482},\n  year={2026}\n}"
    ),
)
