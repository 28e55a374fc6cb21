"""The bundled leaderboard gives the published figures, and what they leave out."""

import csv
import math

import pytest

from dspy_proact.benchmarks.proactbench.corpus import TRIGGERS_PER_PHASE, Counts, pooled, published_models
from dspy_proact.benchmarks.proactbench.corpus import published as module
from dspy_proact.benchmarks.proactbench.corpus.published import DATA
from dspy_proact.files.data_file import csv_rows

# ProactBench's dataset/eval/*_proactivity_bench_metrics.json (github.com/boson-ai/ProactBench): overall weighted score
# and pass rate, weighted score of EMERGENT, CRITICAL and RECOVERY. Last, what the study does not state: the triggers of
# each phase without a grade, 201, 232 and 191 less the published pass + partial + fail.
TABLE = [
    ("gpt-5.5", 0.6979, 0.6154, (0.7313, 0.8319, 0.5000), (0, 0, 0)),
    ("qwen/qwen3.5-397b-a17b", 0.6064, 0.5254, (0.7688, 0.7348, 0.2665), (2, 2, 9)),
    ("claude-opus-4-7", 0.6058, 0.5192, (0.7861, 0.7047, 0.2958), (0, 0, 0)),
    ("gemini-3.1-pro-preview", 0.5829, 0.5040, (0.7727, 0.7651, 0.1649), (3, 0, 0)),
    ("qwen/qwen3.5-9b", 0.5701, 0.4798, (0.7722, 0.6459, 0.2468), (21, 47, 35)),
    ("kimi-k2.6", 0.5428, 0.4753, (0.7306, 0.7356, 0.1237), (8, 7, 1)),
    ("deepseek/deepseek-v4-flash", 0.5353, 0.4430, (0.6667, 0.6450, 0.2644), (0, 1, 0)),
    ("xiaomi/mimo-v2.5-pro", 0.5281, 0.4494, (0.7164, 0.6429, 0.1911), (0, 1, 0)),
    ("gemini-2.5-pro", 0.5032, 0.4247, (0.7313, 0.6207, 0.1204), (0, 0, 0)),
    ("o4-mini-2025-04-16", 0.4736, 0.3862, (0.5771, 0.5884, 0.2251), (0, 0, 0)),
    ("gemini-2.5-flash", 0.4423, 0.3526, (0.6567, 0.5496, 0.0864), (0, 0, 0)),
    ("gpt-4o", 0.3133, 0.2051, (0.4254, 0.3599, 0.1387), (0, 0, 0)),
    ("meta-llama/llama-4-maverick", 0.2252, 0.1314, (0.2910, 0.3190, 0.0419), (0, 0, 0)),
    ("Qwen3-1.7B", 0.2204, 0.1026, (0.3184, 0.2112, 0.1283), (0, 0, 0)),
    ("Qwen2.5-7B-Instruct", 0.2163, 0.1154, (0.3184, 0.1789, 0.1545), (0, 0, 0)),
    ("Llama-3.2-8B-Instruct", 0.2051, 0.1122, (0.3731, 0.1875, 0.0497), (0, 0, 0)),
]
# (PASS + PARTIAL / 2) / 624 and PASS / 624, from the published counts; of the others nothing was dropped.
STRICT = {
    "qwen/qwen3.5-397b-a17b": (0.5938, 0.5144),  # 370.5 and 321
    "gemini-3.1-pro-preview": (0.5801, 0.5016),  # 362 and 313
    "qwen/qwen3.5-9b": (0.4760, 0.4006),  # 297 and 250
    "kimi-k2.6": (0.5288, 0.4631),  # 330 and 289
    "deepseek/deepseek-v4-flash": (0.5345, 0.4423),  # 333.5 and 276
    "xiaomi/mimo-v2.5-pro": (0.5272, 0.4487),  # 329 and 280
}


def rounded(*numbers: float | None) -> tuple[float | None, ...]:
    return tuple(None if number is None else round(number, 4) for number in numbers)


def test_the_models_stand_in_published_order():
    assert [model.model for model in published_models()] == [name for name, *_ in TABLE]


@pytest.mark.parametrize(("index", "expected"), list(enumerate(TABLE)), ids=[name for name, *_ in TABLE])
def test_a_model_has_its_published_figures(index: int, expected: tuple[str, float, float, tuple[float, ...], object]):
    model = published_models()[index]
    _, weighted, pass_rate, by_phase, _ = expected
    assert rounded(model.overall.weighted, model.overall.pass_rate) == (weighted, pass_rate)
    assert list(model.phases) == ["EMERGENT", "CRITICAL", "RECOVERY"]
    assert rounded(*(counts.weighted for counts in model.phases.values())) == by_phase


@pytest.mark.parametrize(("index", "expected"), list(enumerate(TABLE)), ids=[name for name, *_ in TABLE])
def test_what_was_dropped_is_unscored(index: int, expected: tuple[str, float, float, object, tuple[int, ...]]):
    model = published_models()[index]
    dropped = expected[-1]
    assert tuple(counts.unscored for counts in model.phases.values()) == dropped
    assert tuple(counts.total for counts in model.phases.values()) == (201, 232, 191)
    assert (model.overall.total, model.overall.scored) == (624, 624 - sum(dropped))


def test_strict_figures_count_what_was_dropped_as_0():
    for model in published_models():
        counts = model.overall
        expected = STRICT.get(model.model, rounded(counts.weighted, counts.pass_rate))
        assert rounded(counts.strict_weighted, counts.strict_pass_rate) == expected, model.model


def test_strictly_the_fifth_is_the_ninth_and_the_second_and_third_change_places():
    strictly = sorted(published_models(), key=lambda model: -(model.overall.strict_weighted or 0))
    names = [model.model for model in strictly]
    assert names[1:3] == ["claude-opus-4-7", "qwen/qwen3.5-397b-a17b"]
    assert names[8] == "qwen/qwen3.5-9b"


def test_the_corpus_has_624_triggers():
    assert TRIGGERS_PER_PHASE == {"EMERGENT": 201, "CRITICAL": 232, "RECOVERY": 191}
    assert sum(TRIGGERS_PER_PHASE.values()) == 624


def test_counts_add_up_by_hand():
    # 10 tried: 4 PASS, 2 PARTIAL, 2 FAIL, 2 unscored. Lenient 5 / 8 and 4 / 8, strict 5 / 10 and 4 / 10.
    counts = Counts(4, 3, 0, 1) + Counts(6, 1, 2, 1)
    assert counts == Counts(total=10, full=4, partial=2, fail=2)
    assert (counts.scored, counts.unscored) == (8, 2)
    assert (counts.weighted, counts.pass_rate) == (0.625, 0.5)
    assert (counts.strict_weighted, counts.strict_pass_rate) == (0.5, 0.4)
    assert pooled([Counts(4, 3, 0, 1), Counts(6, 1, 2, 1)]) == counts


def test_nothing_scored_has_no_lenient_figure_and_a_strict_0():
    counts = Counts(3, 0, 0, 0)
    assert (counts.weighted, counts.pass_rate) == (None, None)
    assert (counts.strict_weighted, counts.strict_pass_rate) == (0, 0)


def test_nothing_tried_has_no_figure():
    counts = pooled([])
    assert counts == Counts(0, 0, 0, 0)
    assert {counts.weighted, counts.pass_rate, counts.strict_weighted, counts.strict_pass_rate} == {None}


@pytest.mark.parametrize("numbers", [(1, 1, 1, 0), (0, 0, 0, 1), (3, -1, 0, 0), (3, 0, -1, 0), (3, 0, 0, -1)])
def test_more_grades_than_triggers_and_negative_counts_are_refused(numbers: tuple[int, int, int, int]):
    with pytest.raises(ValueError, match="counts are at least 0, and labels at most one a case"):
        Counts(*numbers)


def test_a_published_model_cannot_be_changed():
    first, again = published_models()[0], published_models()[0]
    with pytest.raises(AttributeError):
        first.model = "other"  # pyright: ignore[reportAttributeAccessIssue]
    assert (first, hash(first)) == (again, hash(again))


def test_the_raters_alphas_are_those_published():
    # Krippendorff's ordinal alpha, ProactBench human_eval: 0.1703, 0.1576 and 0.2780.
    published = {"EMERGENT": 0.1703, "CRITICAL": 0.1576, "RECOVERY": 0.2780}
    assert all(math.isclose(module.HUMAN_ALPHA[phase], alpha, abs_tol=0.005) for phase, alpha in published.items())
    assert module.HUMAN_ALPHA.keys() == published.keys()


def test_the_bundled_counts_are_the_public_ones(data):
    public = (data / "leaderboard_counts.csv").read_text(encoding="utf-8")
    assert list(csv_rows(DATA / "published" / "leaderboard_counts.csv")) == list(csv.DictReader(public.splitlines()))
