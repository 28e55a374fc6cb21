"""Runs, studies, compiles and plans that are constructed to make a sentence false; the same generator gives the same.

Each is drawn with what has misled: few groups or one giant one, strata that point in opposite ways, a run that drops a
quarter of its fails, constant scores at an end, labels of odd worth, other judges, a judge that reads nothing, two
raters, raters who are all alike, cases that are doubles of each other.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel

from dspy_proact import Benchmark, HumanGrade, Published, PublishedRow, RatedItem, Ratings, Summary, labelling_plan
from dspy_proact.calls import Price
from dspy_proact.evaluation.benchmark import NO_ROLES
from dspy_proact.evaluation.published import Counts
from dspy_proact.evaluation.ratings import RatingsSource
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.programs.card import Card, DataSource, Provenance
from dspy_proact.programs.item_scores import GradedPart, ItemScores, ScoreColumn, numbered_once
from dspy_proact.recipe import Recipe
from dspy_proact.report.leaderboard import Leaderboard, leaderboard
from dspy_proact.report.pairs import PairChoice, PairStudy
from dspy_proact.report.plan import LabellingPlan
from dspy_proact.report.study import RatingStudy, study
from dspy_proact.runs import CorpusRecord, Identity, Manifest, Nouns, Outcome, RoleIdentity, VerdictRecord
from dspy_proact.stats import Panel
from support.compiles import STRATA, SimulatedJudges, simulate_compile

Rng = np.random.Generator
SCALES: Sequence[Mapping[str, float]] = (
    {"PASS": 1.0, "PARTIAL": 0.5, "FAIL": 0.0},
    {"YES": 1.0, "NO": 0.0},
    {"GOLD": 1.0, "SILVER": 0.2, "LEAD": 0.0},
    {"HIGH": 0.9, "MIDDLE": 0.8, "LOW": 0.1},
)
"""The score of each label, from the best to the worst."""
LAYOUTS = ("few", "one", "giant", "equal", "equal", "unequal", "unequal", "apart")
"""How cases lie in groups; `apart`: no group has cases of two strata."""
WAYS = ("alike", "higher", "lower", "turned", "same", "ends", "one group", "one step")
"""How the second run of a pair differs from the first."""
LOSSES = ("none", "none", "none", "some", "fails", "mirrored", "all", "pending")
"""What has no score; `fails`: a quarter of the second run's worst, `mirrored`: of the first run's."""
JUDGES = ("constant", "constant by stratum", "good", "like a person", "at random", "none")
PRICE = Price(reason="free")


class Shown(BaseModel):
    """What the programs saw of a case."""

    text: str


class Constructed(Benchmark[Shown, Shown]):
    """A benchmark of any scale, which is never run."""

    name = "constructed"
    labels = tuple(SCALES[0])
    answer_type = Shown

    def __init__(self, scale: Mapping[str, float], strata: Sequence[str], rows: Sequence[PublishedRow] = ()):
        self.labels, self.strata = tuple(scale), tuple(strata)
        self.published = Published(lambda: rows, lambda _: (), columns={"score": "score"}) if rows else None

    def read(self, corpus, settings, revision=None):
        """Not called, as the next two."""
        raise NotImplementedError

    def program(self, settings, start, roles=NO_ROLES):
        """A declaration has one."""
        raise NotImplementedError

    async def grade(self, case, answer, ask):
        """Likewise."""
        raise NotImplementedError


def one_of(rng: Rng, options: Sequence[Any]) -> Any:
    """One of several values, each as likely as the others."""
    return options[int(rng.integers(len(options)))]


# Runs


def drawn_cases(rng: Rng) -> list[Outcome]:
    """Cases of one to three strata in groups, none of them tried yet."""
    layout, strata = one_of(rng, LAYOUTS), STRATA[: int(rng.integers(1, 4))]
    count = len(strata) * int(rng.integers(2, 50))
    groups = {"few": int(rng.integers(2, 8)), "one": 1}.get(layout, int(rng.integers(6, 21)))
    weights = rng.lognormal(0, 1.2, groups) if layout == "unequal" else np.ones(groups)
    if layout == "giant":
        weights[0] = 4 * groups
    of = rng.choice(groups, count, p=weights / weights.sum())
    doubles = rng.random() < 0.2
    return [
        Outcome(
            stratum=strata[number % len(strata)],
            group=f"g{group}{strata[number % len(strata)] if layout == 'apart' else ''}",
            state="pending",
            key=f"c{number}",
            view={"text": f"ask {number // 6 if doubles else number}"},
        )
        for number, group in enumerate(of)
    ]


def drawn_run(
    name: str,
    cases: Sequence[Outcome],
    levels: Sequence[int],
    scale: Mapping[str, float],
    *,
    judge: str = "judge",
    words: str | None = None,
    recorded: bool = True,
) -> Summary:
    """A run whose answers earned the labels at these places of the scale, where -1 is unscored and -2 pending.

    Its answers are in its own words, or those that are given; `recorded` says whether its manifest is known.
    """
    labels = tuple(scale)

    def outcome(case: Outcome, level: int) -> Outcome:
        if level < 0:
            return case if level == -2 else case.unscored("response: empty")
        label = labels[level]
        verdict = VerdictRecord(label=label, score=scale[label], verified=None, detail={}, judge=judge)
        return replace(case, response=f"{words or name} on {case.key}").graded([verdict], labels)

    outcomes = tuple(outcome(case, level) for case, level in zip(cases, levels, strict=True))
    strata = tuple(dict.fromkeys(case.stratum for case in cases))
    identity = Identity(
        benchmark=Constructed.name,
        assistant=RoleIdentity(model=name, decoding={}),
        judges=(RoleIdentity(model=judge, decoding={}),),
        corpus="cc",
    )
    manifest = Manifest(
        identity=identity,
        strata=strata,
        labels=labels,
        embedded=False,
        epochs=1,
        judge_epochs=1,
        corpus=CorpusRecord(name="corpus", revision=None, rows=len(cases), cases=len(cases), ignored_fields={}),
        assistant_price=PRICE,
        judge_prices={judge: PRICE},
        backend="auto",
        versions={},
        created="2026-11-28T12:00:00+00:00",
    )
    return Summary(
        path=f"runs/{name}",
        benchmark=Constructed.name,
        model=name,
        judges=(judge,),
        strata=strata,
        labels=labels,
        embedded=False,
        outcomes=outcomes,
        nouns=Nouns(),
        manifest=manifest if recorded else None,
    )


def drawn_pair(rng: Rng, scale: Mapping[str, float], cases: Sequence[Outcome]) -> tuple[list[int], list[int]]:
    """The places of two runs' labels, the second otherwise in one of the ways, and with one of the losses."""
    worst, count = len(scale) - 1, len(cases)
    names = {name: index for index, name in enumerate(dict.fromkeys(case.group for case in cases))}
    group = np.array([names[case.group] for case in cases])
    shared = 0.6 * rng.standard_normal(len(names))[group] + 0.6 * rng.standard_normal(count)
    first, own = (shared + 0.6 * rng.standard_normal(count) for _ in range(2))
    way, rise = one_of(rng, WAYS), rng.uniform(0.3, 2.5)
    second = {"higher": own + rise, "lower": own - rise, "same": first, "one group": first + 9 * (group == 0)}.get(
        way, own
    )
    if way == "turned":
        second = own + np.where([case.stratum == STRATA[0] for case in cases], rise, -rise)
    a, b = ((worst + 1 - np.digitize(side, [-0.3, 0.4][:worst]) - 1) for side in (first, second))
    if way == "one step":
        b = np.maximum(0, a - 1)
    if way == "ends":
        a, b = (np.full(count, one_of(rng, (0, worst))) for _ in range(2))
    return _lossy(rng, a, b, worst)


def _lossy(rng: Rng, a: Any, b: Any, worst: int) -> tuple[list[int], list[int]]:
    loss, some = one_of(rng, LOSSES), rng.random((2, len(a)))
    if loss == "some":
        a, b = np.where(some[0] < 0.1, -1, a), np.where(some[1] < 0.1, -1, b)
    if loss in ("fails", "mirrored"):
        lossy = b if loss == "fails" else a
        lossy[(lossy == worst) & (some[0] < 0.25)] = -1
    if loss == "all":
        b[:] = -1
    if loss == "pending":
        b[some[0] < 0.5] = -2
    return a.tolist(), b.tolist()


def constructed_runs(rng: Rng, count: int = 2) -> list[Summary]:
    """Two or more runs on the same cases, now and then with other judges, unknown ones, few cases or one's words."""
    scale, cases = one_of(rng, SCALES), drawn_cases(rng)
    first, second = drawn_pair(rng, scale, cases)
    rows = [first, second, *(drawn_pair(rng, scale, cases)[1] for _ in range(count - 2))]
    judges = ["judge", *(one_of(rng, ("judge", "judge", "judge", "another")) for _ in rows[1:])]
    recorded = rng.random() > 0.1
    words = one_of(rng, (None, None, None, "the same"))
    runs = [
        drawn_run(f"model-{chr(97 + number)}", cases, levels, scale, judge=judge, words=words, recorded=recorded)
        for number, (levels, judge) in enumerate(zip(rows, judges, strict=True))
    ]
    if count > 2 and rng.random() < 0.3:
        few = [number for number, case in enumerate(cases) if case.key in ("c0", "c1")]
        runs[-1] = replace(runs[-1], outcomes=tuple(runs[-1].outcomes[number] for number in few))
    return runs


def constructed_leaderboard(rng: Rng) -> Leaderboard:
    """Published rows of an own scale, some of them equal or at an end, and up to three runs of one's own."""
    scale, strata = one_of(rng, SCALES), STRATA[: int(rng.integers(1, 4))]
    rows = [_published(rng, f"vendor/row-{number}", scale, strata) for number in range(int(rng.integers(1, 9)))]
    rows += [replace(rows[0], name="vendor/its double")] if rng.random() < 0.2 else []
    runs = []
    for number in range(int(rng.integers(0, 4))):
        cases = [replace(case, stratum=strata[index % len(strata)]) for index, case in enumerate(drawn_cases(rng))]
        runs.append(drawn_run(f"own-{number}", cases, one_of(rng, drawn_pair(rng, scale, cases)), scale))
    runs = [replace(run, strata=tuple(strata)) for run in runs]
    rows.sort(key=lambda row: -(row.scores["score"] or 0))
    return leaderboard(runs, Constructed(scale, strata, rows))


def _published(rng: Rng, name: str, scale: Mapping[str, float], strata: Sequence[str]) -> PublishedRow:
    worth, counts, chance = [*scale.values()], dict[str, Counts](), rng.dirichlet([0.7] * len(scale))
    labels = {stratum: rng.multinomial(int(rng.integers(5, 150)), chance).tolist() for stratum in strata}
    lost = int(rng.integers(0, 20))
    for stratum, own in labels.items():
        counts[stratum] = Counts(sum(own) + lost, tuple(own))
    total = [sum(own[index] for own in labels.values()) for index in range(len(scale))]
    points = sum(number * value for number, value in zip(total, worth, strict=True))
    return PublishedRow(name, {"score": points / sum(total)}, counts=counts)


# Studies


def constructed_ratings(rng: Rng) -> tuple[Ratings, Constructed]:
    """Ratings by one to eight raters of responses in strata and groups, with a judge of some kind or none."""
    scale, kind = one_of(rng, [scale for scale in SCALES if len(scale) > 2]), one_of(rng, JUDGES)
    labels, strata = [*scale][::-1], STRATA[: int(rng.integers(1, 4))]
    count, groups, raters = int(rng.integers(6, 120)), int(rng.integers(1, 25)), int(rng.integers(1, 9))
    noise, lenient = one_of(rng, (0.0, 0.5, 2.0)), rng.normal(0, one_of(rng, (0.0, 1.5)), raters)
    strict = np.array([one_of(rng, (-1.0, 0.0, 1.0)) for _ in strata])
    of_group = rng.normal(0, 0.6, groups)
    items, grades = list[RatedItem](), list[HumanGrade]()
    for number in range(count):
        at, group = number % len(strata), int(rng.integers(groups))
        height = strict[at] + of_group[group] + rng.standard_normal()

        def grade(error: float, height: float = height) -> str:
            return labels[int(np.digitize(height + error, [-0.5, 0.5]))]

        judged = {
            "constant": labels[1],
            "constant by stratum": labels[int(np.digitize(strict[at], [-0.5, 0.5]))],
            "good": grade(0.0),
            "like a person": grade(float(rng.normal(0, noise))),
            "at random": one_of(rng, labels),
        }.get(kind)
        items.append(RatedItem(str(number), f"g{group}", strata[at], judged={"": judged} if judged else {}))
        chosen = rng.choice(raters, int(rng.integers(1, min(3, raters) + 1)), replace=False)
        grades += [
            HumanGrade(str(number), None, grade(float(lenient[who] + rng.normal(0, noise))), f"r{who}")
            for who in chosen
        ]
    source = RatingsSource(origin="constructed", files={})
    judge, agents = ("" if kind == "none" else "the judge j"), bool(rng.random() < 0.1)
    ratings = Ratings("constructed", Constructed.name, tuple(items), tuple(grades), source, judge=judge, agents=agents)
    return ratings, Constructed(scale, strata)


def constructed_study(rng: Rng) -> RatingStudy:
    """A study of such ratings, the judge now and then compiled on some of them."""
    ratings, declared = constructed_ratings(rng)
    return study(ratings, benchmark=declared, learned_on=one_of(rng, (0, 0, 0, 5)))


def constructed_pairs(rng: Rng) -> PairStudy:
    """Choices between two answers by one to eight raters, who may be all of one mind, or all choose alike."""
    raters, items = int(rng.integers(1, 9)), int(rng.integers(2, 40))
    strength, lean, ties = one_of(rng, (0.0, 1.0, 9.0)), one_of(rng, (0.0, 1.0, 99.0)), one_of(rng, (0.0, 0.2, 1.0))
    minds = lean + strength * rng.standard_normal(raters)
    sides: tuple[Literal["a"], Literal["b"]] = ("a", "b")
    choices = [
        PairChoice(f"r{rater}", f"i{item}", "tie" if rng.random() < ties else sides[int(rng.logistic() < minds[rater])])
        for rater in range(raters)
        for item in range(items)
    ]
    return PairStudy("constructed", ("one", "other"), choices)


# Compiles


def constructed_card(rng: Rng) -> Card:
    """The card of a judge tuned to people's grades, or of an assistant tuned for a score, with what it cost."""
    return _judge_card(rng) if rng.random() < 0.6 else _assistant_card(rng)


def _judge_card(rng: Rng) -> Card:
    items, groups = one_of(rng, ((60, 10), (45, 12), (120, 8), (100, 20), (200, 25)))
    sizes = np.full(groups, items // groups)
    if rng.random() < 0.3:
        sizes = np.array([items - groups + 1, *[1] * (groups - 1)])
    raters, better = one_of(rng, (None, 3, 3, 5)), one_of(rng, (None, 0.9, 0.99))
    judges = SimulatedJudges(one_of(rng, (0.3, 0.8)), one_of(rng, (0.05, 0.5)), better, candidates=3, raters=raters)
    drawn = simulate_compile(rng, sizes.tolist(), judges, one_of(rng, (0.0, 0.0, 0.1)))
    of, after = drawn.groups, drawn.before if rng.random() < 0.1 else drawn.after
    part = GradedPart(
        name="",
        levels=("FAIL", "PARTIAL", "PASS"),
        scale="ordinal",
        grades=_grades(drawn.panel),
        before=_levels(drawn.before),
        after=_levels(after),
    )
    strata = sorted({*drawn.strata})
    scores = ItemScores(
        strata=tuple(strata), stratum=tuple(map(strata.index, drawn.strata)), parts=(part,), **_alike(rng, of)
    )
    return _card(rng, scores, Nouns(case="graded answer"))


def _grades(panel: Panel) -> tuple[tuple[tuple[int, int], ...], ...]:
    """People's grades of each item: every one by another person where nobody knows by whom they are."""
    grades: list[list[tuple[int, int]]] = [[] for _ in panel.counts]
    raters = range(len(panel.items)) if panel.raters is None else panel.raters
    for index, rater, level in zip(panel.items, raters, np.argmax(panel.own, axis=1), strict=True):
        grades[index].append((int(rater), int(level)))
    return tuple(map(tuple, grades))


def _levels(levels: Any) -> tuple[int | None, ...]:
    return tuple(None if np.isnan(level) else int(level) for level in levels)


def _alike(rng: Rng, of: Sequence[Any]) -> dict[str, Any]:
    """What items of these groups have whatever they are scores of: an answer to each takes one call."""
    groups = numbered_once(map(str, of))
    calls = tuple(((1000, int(rng.integers(50, 150))),) for _ in groups)
    return {
        "groups": groups,
        "folds": tuple(group % 5 for group in groups),
        "calls_before": calls,
        "calls_after": calls,
    }


def _assistant_card(rng: Rng) -> Card:
    scale, cases = one_of(rng, SCALES), drawn_cases(rng)
    cases = cases if rng.random() < 0.5 else [replace(case, group=f"g{index % 20}") for index, case in enumerate(cases)]
    worth, of = [*scale.values()], [case.group for case in cases]
    sides = [[worth[level] if level >= 0 else None for level in side] for side in drawn_pair(rng, scale, cases)]
    words = rng.lognormal(4, 0.5, len(cases))
    longer = words * rng.uniform(0.7, 2.0)
    # Every second case has its like without anything to offer, where offers are counted.
    controls = list(of[::2])
    pushy = [rng.integers(0, 2, len(controls)).astype(float).tolist() for _ in range(2)]
    none, no_words = [None] * len(controls), [None] * len(of)
    columns = [
        ("score", "score", "score", sides[0] + none, sides[1] + none),
        ("controls", "offers", "unwanted offers", no_words + pushy[0], no_words + pushy[1]),
        ("length", "length", "words", words.tolist() + none, longer.tolist() + none),
    ]
    scores = ItemScores(
        strata=("A",),
        tuned_for=(0,),
        stratum=(0,) * len(of) + (-1,) * len(controls),
        columns=tuple(
            ScoreColumn(kind=kind, name=name, title=title, before=tuple(before), after=tuple(after))
            for kind, name, title, before, after in columns
        ),
        **_alike(rng, [*of, *controls]),
    )
    return _card(rng, scores, Nouns())


def _card(rng: Rng, scores: ItemScores, nouns: Nouns) -> Card:
    """The card of these scores."""
    models = {"judge": RoleIdentity(model="openai/any", decoding={})}
    data = DataSource(name="constructed", sha256="ff")
    made = Provenance(
        models=models, recipe=Recipe(), start="ff", data=data, embedded=False, versions={}, created="2026-11-28"
    )
    unchanged = bool(rng.random() < 0.1)
    return Card(nouns=nouns, unchanged=unchanged, item_scores=scores, price=PRICE, provenance=made)


def constructed_plan(rng: Rng) -> LabellingPlan:
    """A plan for a width, of the published corpus or of a run of the benchmark that has a published study."""
    width = float(np.round(rng.uniform(0.01, 0.15), 3))
    if rng.random() < 0.2:
        return labelling_plan(width, benchmark=benchmark_named("proactbench"))
    phases = ("EMERGENT", "CRITICAL", "RECOVERY")
    drawn, groups = drawn_cases(rng), int(rng.integers(5, 30))
    # 12 cases or more of each phase in five groups or more, without which none is planned; half of them in five groups.
    cases = [
        replace(case, key=f"c{index}", stratum=phases[index % 3], group=f"g{index // 3 % (5 if index % 2 else groups)}")
        for index, case in enumerate(drawn * 3 * math.ceil(12 / len(drawn)))
    ]
    run = drawn_run("model-a", cases, rng.integers(0, 3, len(cases)).tolist(), SCALES[0])
    return labelling_plan(width, replace(run, benchmark="proactbench", strata=phases))
