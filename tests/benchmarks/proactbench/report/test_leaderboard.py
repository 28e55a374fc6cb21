"""The published models in their order, and a run among them or below, each with what was done otherwise."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from proact_run import manifest, written
from rich.console import Console

from dspy_proact import PublishedRow
from dspy_proact.benchmarks.proactbench.benchmark import ProactBench
from dspy_proact.benchmarks.published import Counts
from dspy_proact.errors import UsageError
from dspy_proact.report import STAND_IN, leaderboard, leaderboard_document, print_leaderboard, summarize
from dspy_proact.runs import Case, CorpusRecord, Event, Failure, GradeRecord, Identity, RoleIdentity, StageKey
from dspy_proact.types import Frozen

PUBLISHED = [
    # Score and the three phases as published; then what counts alone say when dropped triggers count 0:
    # (PASS + PARTIAL / 2) / 624, such as (250 + 47) / 624 = 0.4760 for qwen3.5-9b, and the ranks by it.
    ("gpt-5.5", 0.6979, (0.7313, 0.8319, 0.5000), 0.6979, 1),
    ("qwen/qwen3.5-397b-a17b", 0.6064, (0.7688, 0.7348, 0.2665), 0.5938, 3),  # (321 + 49.5) / 624
    ("claude-opus-4-7", 0.6058, (0.7861, 0.7047, 0.2958), 0.6058, 2),
    ("gemini-3.1-pro-preview", 0.5829, (0.7727, 0.7651, 0.1649), 0.5801, 4),  # (313 + 49) / 624
    ("qwen/qwen3.5-9b", 0.5701, (0.7722, 0.6459, 0.2468), 0.4760, 9),
    ("kimi-k2.6", 0.5428, (0.7306, 0.7356, 0.1237), 0.5288, 6),  # (289 + 41) / 624
    ("deepseek/deepseek-v4-flash", 0.5353, (0.6667, 0.6450, 0.2644), 0.5345, 5),  # (276 + 57.5) / 624
    ("xiaomi/mimo-v2.5-pro", 0.5281, (0.7164, 0.6429, 0.1911), 0.5272, 7),  # (280 + 49) / 624
    ("gemini-2.5-pro", 0.5032, (0.7313, 0.6207, 0.1204), 0.5032, 8),
    ("o4-mini-2025-04-16", 0.4736, (0.5771, 0.5884, 0.2251), 0.4736, 10),
    ("gemini-2.5-flash", 0.4423, (0.6567, 0.5496, 0.0864), 0.4423, 11),
    ("gpt-4o", 0.3133, (0.4254, 0.3599, 0.1387), 0.3133, 12),
    ("meta-llama/llama-4-maverick", 0.2252, (0.2910, 0.3190, 0.0419), 0.2252, 13),
    ("Qwen3-1.7B", 0.2204, (0.3184, 0.2112, 0.1283), 0.2204, 14),
    ("Qwen2.5-7B-Instruct", 0.2163, (0.3184, 0.1789, 0.1545), 0.2163, 15),
    ("Llama-3.2-8B-Instruct", 0.2051, (0.3731, 0.1875, 0.0497), 0.2051, 16),
]
GRADES = {
    # 384 PASS, 63 PARTIAL, 177 FAIL and 0 without a grade: (384 + 31.5) / 624 = 0.6659, the second score of 17.
    "EMERGENT": ["PASS"] * 138 + ["PARTIAL"] * 18 + ["FAIL"] * 45,
    "CRITICAL": ["PASS"] * 175 + ["PARTIAL"] * 36 + ["FAIL"] * 21,
    "RECOVERY": ["PASS"] * 71 + ["PARTIAL"] * 9 + ["FAIL"] * 111,
}
SCORE = {"PASS": 1.0, "PARTIAL": 0.5, "FAIL": 0.0}
JUDGE = RoleIdentity(
    model="openai/gpt-5.4", program="official", prompt="bb", decoding={"temperature": 1.0, "max_tokens": 32768}
)
ASSISTANT = RoleIdentity(model="openai/newest", program="bare", prompt="aa", decoding={}, endpoint="http://here/v1")


class Seen(Frozen):
    text: str


def ranked_run(path, grades):
    """A run that is ranked, of these grades by phase, in 25 scenarios, on disk; None: no verdict could be read."""
    numbered = [(f"{phase}{n}", phase, grade) for phase in grades for n, grade in enumerate(grades[phase])]
    cases = (
        Case(key=key, group=f"scenario {n % 25}", stratum=phase, view=Seen(text=key))
        for n, (key, phase, _) in enumerate(numbered)
    )
    events = (
        event
        for key, _, grade in numbered
        for event in (
            Event(key=StageKey(case=key, epoch=1, stage="response"), answer={"text": "so"}, calls=(), time=1.0),
            Event(key=verdict_key(key), calls=(), time=2.0, **result(grade)),
        )
    )
    made = manifest(
        JUDGE.model,
        identity=Identity(benchmark="proactbench", assistant=ASSISTANT, judges=(JUDGE,), corpus="cc"),
        corpus=CorpusRecord(name="proactbench", revision="f00", rows=198, cases=624, ignored_fields={}),
        overrides={"assistant": (), "judge": ()},
    )
    return summarize(written(path, made, cases, events))


def verdict_key(key):
    return StageKey(case=key, epoch=1, stage="verdict", judge=JUDGE.model)


def result(grade):
    if grade is None:
        return {"failure": Failure(kind="content", reason="unreadable")}
    detail = {"reasoning": "so", "evidence": [], "grade": grade}
    return {"grade": GradeRecord(score=SCORE[grade], label=grade, verified=True, detail=detail)}


@pytest.fixture(scope="module")
def ranked(tmp_path_factory):
    """A summary of the full corpus, made as the published models were."""
    return ranked_run(tmp_path_factory.mktemp("runs") / "ranked", GRADES)


def changed(summary, **changes):
    """The summary of a run whose manifest has these changes."""
    return replace(summary, manifest=summary.manifest.model_copy(update=changes))


def called(summary, name):
    """The identity of a run of a model of this name."""
    identity = summary.manifest.identity
    return identity.model_copy(update={"assistant": identity.assistant.model_copy(update={"model": name})})


def of_judges(summary, *judges):
    return changed(summary, identity=summary.manifest.identity.model_copy(update={"judges": judges}))


def differences(summary):
    """What keeps a run from being ranked; it stands last, without ranks, and moves no published rank."""
    board = leaderboard([summary])
    entry = board.entries[-1]
    assert not entry.published
    assert (entry.rank, entry.strict_rank, entry.rank_range) == (None, None, None)
    assert [other.rank for other in board.entries[:-1]] == list(range(1, 17))
    return list(entry.differences)


def text_of(board):
    file = StringIO()
    print_leaderboard(board, Console(width=80, file=file), explain=True)
    return file.getvalue()


def flat(text):
    return " ".join(text.split())


def test_the_published_scores_stand_in_the_published_order_with_the_strict_ones_beside_them():
    board = leaderboard()
    rows = [
        (
            entry.name,
            round(entry.scores["score"].value, 4),
            tuple(round(entry.scores[phase].value, 4) for phase in GRADES),
            round(entry.scores["strict"].value, 4),
            entry.strict_rank,
        )
        for entry in board.entries
    ]
    assert rows == PUBLISHED
    assert [entry.rank for entry in board.entries] == list(range(1, 17))


def test_a_published_score_has_no_interval_and_says_why():
    for entry in leaderboard_document(leaderboard())["rows"]:
        for score in entry["scores"].values():
            assert (score["low"], score["high"]) == (None, None)
            assert "without groups" in score["reason"]


def test_the_dropped_triggers_are_counted_by_phase():
    (entry,) = [entry for entry in leaderboard_document(leaderboard())["rows"] if entry["name"] == "qwen/qwen3.5-9b"]
    assert entry["counts"] == {
        "EMERGENT": {"total": 201, "pass": 131, "partial": 16, "fail": 33, "unscored": 21},
        "CRITICAL": {"total": 232, "pass": 95, "partial": 49, "fail": 41, "unscored": 47},
        "RECOVERY": {"total": 191, "pass": 24, "partial": 29, "fail": 103, "unscored": 35},
    }


def test_rank_ranges_are_of_pairwise_tests_with_a_design_effect_of_two_and_holm(monkeypatch):
    # 100 triggers each: a 0.80, b 0.60, c 0.55, variances 0.16, 0.24 and 0.2475.
    # a-c: z = 0.25 / sqrt(2 (0.16 + 0.2475) / 100) = 2.77, p = 0.0056, x 3 = 0.017: told apart
    # a-b: z = 0.20 / sqrt(2 (0.16 + 0.24) / 100) = 2.24, p = 0.025, x 2 = 0.051: not, by Holm alone
    # b-c: z = 0.05 / sqrt(2 (0.24 + 0.2475) / 100) = 0.51, p = 0.61: not
    counts = {"a": (80, 20), "b": (60, 40), "c": (55, 45)}
    rows = tuple(
        PublishedRow(name, {"score": full / 100}, counts={"EMERGENT": Counts(100, full, 0, fail)})
        for name, (full, fail) in counts.items()
    )
    monkeypatch.setattr(ProactBench, "published", lambda self: rows)
    assert [entry.rank_range for entry in leaderboard().entries] == [(1, 2), (1, 3), (2, 3)]


def test_ranks_lie_in_their_ranges_and_the_clear_cases_are_clear():
    ranges = {entry.name: entry.rank_range for entry in leaderboard().entries}
    for entry in leaderboard().entries:
        low, high = entry.rank_range
        assert 1 <= low <= entry.rank <= high <= 16
    # The five weakest are below all others, and gpt-5.5 is above all but the two that come next:
    # to the fourth z = (0.6979 - 0.5829) / sqrt(2 (0.1696 / 624 + 0.2037 / 621)) = 3.3.
    assert {low for low, _ in list(ranges.values())[-5:]} == {12, 13}
    assert {high for _, high in list(ranges.values())[:11]} == {3, 9, 10, 11}
    assert ranges["gpt-5.5"] == (1, 3)


def test_a_run_made_as_the_published_ones_is_ranked_among_them(ranked):
    board = leaderboard([ranked])
    first, second, third = board.entries[:3]
    assert (first.name, second.name, third.name) == ("gpt-5.5", "openai/newest", "qwen/qwen3.5-397b-a17b")
    assert [entry.rank for entry in board.entries] == list(range(1, 18))
    assert (second.strict_rank, third.strict_rank) == (2, 4)
    assert second.rank_range[0] == 1
    assert [entry.rank_range[1] for entry in board.entries[-4:]] == [17] * 4  # of 17 now
    assert round(second.scores["score"].value, 4) == 0.6659
    assert second.scores["score"].low < second.scores["score"].value < second.scores["score"].high
    assert second.differences == ()


def test_a_run_with_the_scores_of_a_published_model_shares_its_ranks(tmp_path):
    # gpt-4o: 68/35/98, 43/81/108, 17/19/155
    counts = {"EMERGENT": (68, 35, 98), "CRITICAL": (43, 81, 108), "RECOVERY": (17, 19, 155)}
    grades = {phase: [g for g, n in zip(SCORE, of, strict=True) for _ in range(n)] for phase, of in counts.items()}
    entries = leaderboard([ranked_run(tmp_path / "run", grades)]).entries
    assert [(e.name, e.rank, e.strict_rank) for e in entries[11:14]] == [
        ("gpt-4o", 12, 12),
        ("openai/newest", 12, 12),
        ("meta-llama/llama-4-maverick", 14, 14),
    ]
    # gpt-4o's range rests on an assumed design effect; the run's on its own groups.
    assert entries[11].rank_range == (12, 16)
    assert entries[12].rank_range == (12, 13)


def test_the_unscored_of_a_run_count_in_the_strict_score_and_rank(tmp_path):
    # 331 PASS, 63 PARTIAL, 30 without a verdict: lenient 362.5 / 594 = 0.6103 (rank 2), strict / 624 = 0.5809 (4).
    grades = GRADES | {"CRITICAL": [None] * 30 + ["FAIL"] * 23 + GRADES["CRITICAL"][53:]}
    board = leaderboard([ranked_run(tmp_path / "run", grades)])
    (entry,) = board.runs
    assert (entry.rank, entry.strict_rank) == (2, 4)
    assert round(entry.scores["score"].value, 4) == 0.6103
    assert round(entry.scores["strict"].value, 4) == 0.5809
    assert entry.counts["CRITICAL"] == Counts(232, 122, 36, 44)
    assert "594 of 624 scored; strict rank 4)" in leaderboard_document(board)["headline"]


@pytest.mark.parametrize(
    ("grades", "sentence"),
    [
        (GRADES | {"CRITICAL": [None] * 32 + GRADES["CRITICAL"][32:]}, "32 of 624 triggers have no score"),
        ({phase: [None] * len(GRADES[phase]) for phase in GRADES}, "624 of 624 triggers have no score"),
        ({phase: ["PASS"] + [None] * (len(GRADES[phase]) - 1) for phase in GRADES}, "621 of 624 triggers have no"),
        ({"EMERGENT": ["PASS"] * 201, "CRITICAL": [], "RECOVERY": []}, "without CRITICAL and RECOVERY"),
    ],
)
def test_a_run_cannot_gain_a_rank_by_what_it_does_not_answer(tmp_path, grades, sentence):
    assert sentence in " ".join(differences(ranked_run(tmp_path / "run", grades)))


def test_what_may_differ_is_the_model_and_its_endpoint_and_the_judges_router(ranked):
    routed = of_judges(ranked, JUDGE.model_copy(update={"model": "openrouter/openai/gpt-5.4"}))
    assert leaderboard([routed]).runs[0].differences == ()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model": "openai/gpt-5.5"}, "graded by openai/gpt-5.5, not by gpt-5.4"),
        ({"model": "openai/gpt-5.4-mini"}, "graded by openai/gpt-5.4-mini, not by gpt-5.4"),
        (
            {"endpoint": "http://localhost:8000/v1"},
            "the judge was called at http://localhost:8000/v1, not at its provider's own",
        ),
        ({"program": "default"}, "the judge's prompt is 'default', not the official one"),
    ],
)
def test_another_judge_is_named(ranked, change, sentence):
    assert differences(of_judges(ranked, JUDGE.model_copy(update=change))) == [sentence]


def test_a_jury_is_named_even_with_the_published_judge_in_it(ranked):
    other = JUDGE.model_copy(update={"model": "openai/gpt-4o"})
    assert differences(of_judges(ranked, JUDGE, other)) == [
        "graded by a jury (openai/gpt-5.4 + openai/gpt-4o), not by gpt-5.4 alone"
    ]


def test_another_program_of_the_assistant_is_named(ranked):
    assistant = ASSISTANT.model_copy(update={"program": "unknown"})
    identity = ranked.manifest.identity.model_copy(update={"assistant": assistant})
    assert differences(changed(ranked, identity=identity)) == [
        "the responses are of the program 'unknown', not of the bare model"
    ]


def test_another_decoding_is_named_by_role_and_parameter(ranked):
    overrides = {"assistant": ("temperature", "top_p"), "judge": ("reasoning_effort",)}
    assert differences(changed(ranked, overrides=overrides)) == [
        "the assistant's temperature was set by hand, not by the preset",
        "the assistant's top_p was set by hand, not by the preset",
        "the judge's reasoning_effort was set by hand, not by the preset",
    ]


def test_another_corpus_is_named(ranked):
    corpus = ranked.manifest.corpus.model_copy(update={"name": "sample"})
    assert differences(changed(ranked, corpus=corpus)) == ["the corpus is 'sample', not proactbench"]


def test_a_part_of_the_corpus_is_named_with_its_denominator(ranked):
    # 20 of each phase less 11 of RECOVERY
    few = [o for phase in GRADES for o in ranked.of_stratum(phase)[: 9 if phase == "RECOVERY" else 20]]
    assert differences(replace(ranked, outcomes=tuple(few))) == [
        "49 of 624 triggers (EMERGENT 20 of 201, CRITICAL 20 of 232, RECOVERY 9 of 191)"
    ]


def test_an_unfinished_run_is_named(ranked):
    pending = [replace(o, state="pending", label=None, score=0.0) for o in ranked.outcomes[:12]]
    summary = replace(ranked, outcomes=(*pending, *ranked.outcomes[12:]))
    assert differences(summary) == ["not complete: 12 of 624 triggers pending"]
    (run,) = [entry for entry in leaderboard_document(leaderboard([summary]))["rows"] if not entry["published"]]
    assert run["pending"] == 12
    assert run["counts"]["EMERGENT"] == {"total": 189, "pass": 126, "partial": 18, "fail": 45, "unscored": 0}


def test_repeats_are_named(ranked):
    assert differences(changed(ranked, epochs=3, judge_epochs=2)) == [
        "3 responses to each trigger (--epochs), not 1",
        "2 verdicts on each response (--votes), not 1",
    ]


def test_the_stand_in_is_never_ranked_and_said_to_be_one(ranked):
    summary = replace(ranked, embedded=True)
    assert differences(summary) == [STAND_IN]
    assert "embedded stand-in" in text_of(leaderboard([summary]))


def test_a_results_file_is_never_ranked(ranked):
    assert differences(replace(ranked, manifest=None)) == [
        "a results file does not say which judge, prompt and decoding made it"
    ]


def test_two_runs_of_one_model_are_both_shown_and_one_path_twice_is_refused(ranked, tmp_path):
    again = replace(ranked, path=str(tmp_path / "again"))
    board = leaderboard([ranked, again])
    assert [(entry.name, entry.rank) for entry in board.runs] == [("openai/newest", 2)] * 2
    assert board.entries[3].rank == 4
    assert [f"[{number}] openai/newest, " in text_of(board) for number in (1, 2, 3)] == [True, True, False]
    with pytest.raises(UsageError, match="given twice"):
        leaderboard([ranked, again, replace(ranked, path=f"{ranked.path}/../ranked/")])


def test_a_run_of_another_benchmark_is_refused(ranked):
    with pytest.raises(UsageError, match="'riddles'; the leaderboard is of proactbench"):
        leaderboard([replace(ranked, benchmark="riddles")], "proactbench")


def test_the_document_has_the_promised_keys_and_no_nan(ranked):
    below = changed(replace(ranked, path="below"), epochs=2)
    document = json.loads(json.dumps(leaderboard_document(leaderboard([ranked, below])), allow_nan=False))
    models = document.pop("rows")
    assert document.pop("headline")
    assert document == {"design_effect": 2.0}
    assert len({frozenset(entry) for entry in models}) == 1
    for entry in models:
        assert list(entry["scores"]) == ["score", "strict", "EMERGENT", "CRITICAL", "RECOVERY"]
        assert {*entry["scores"]["score"]} >= {"value", "low", "high"}
        assert list(entry["counts"]) == ["EMERGENT", "CRITICAL", "RECOVERY"]
    assert models[1]["rank_range"][0] == 1
    assert (models[-1]["rank"], models[-1]["rank_range"]) == (None, None)
    assert models[-1]["differences"] == ["2 responses to each trigger (--epochs), not 1"]


def test_the_table_fits_in_80_columns_whatever_a_run_is_called(ranked):
    names = ["hosted_vllm/" + "a-very-long-name-" * 9, "x", "[red]\x1b[31m/[bold]me\nand more"]
    runs = [
        changed(replace(ranked, path=f"runs/{'deep/' * 30}{number}"), epochs=1 + number, identity=called(ranked, name))
        for number, name in enumerate(names)
    ]
    text = text_of(leaderboard(runs))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "\x1b" not in text
    assert "[bold]me\\nand more [3]" in flat(text)


def test_a_full_score_leaves_the_published_names_whole(ranked):
    best = [replace(outcome, label="PASS", score=1.0) for outcome in ranked.outcomes]
    text = text_of(leaderboard([replace(ranked, outcomes=tuple(best))]))
    (first,) = [line.split() for line in text.splitlines() if "newest [1]" in line and "624/624" in line]
    assert first[5:] == ["624/624", "100", "100", "100", "100", "100"]
    assert "gemini-3.1-pro-preview 621/624" in text


def test_the_printed_table_has_both_ranks_side_by_side_and_a_line_above_the_unranked(ranked):
    rows = text_of(leaderboard([changed(ranked, epochs=2)])).splitlines()
    (nine,) = [row.split() for row in rows if "qwen3.5-9b" in row and "521/624" in row]
    assert nine == ["5", "2–10", "9", "qwen3.5-9b", "521/624", "57.0", "47.6", "77.2", "64.6", "24.7"]
    last = next(number for number, row in enumerate(rows) if "Llama-3.2-8B-Instruct" in row)
    assert not rows[last + 1].strip()
    assert rows[last + 2].split()[:6] == ["-", "-", "-", "newest", "[1]", "624/624"]


def test_the_notes_say_what_the_numbers_rest_on(ranked):
    alone, joined = flat(text_of(leaderboard())), flat(text_of(leaderboard([ranked])))
    assert "assumed design effect of 2" in alone
    assert "all 120 pairs, Holm at 5 %" in alone
    assert "not transitive" in alone
    assert "137 have no published grade" in alone  # 13 + 3 + 103 + 16 + 1 + 1
    assert "qwen3.5-397b-a17b 2→3, claude-opus-4-7 3→2, qwen3.5-9b 5→9" in alone
    assert "arXiv 2605.09228" in alone
    assert "all 136 pairs" in joined  # 17 x 16 / 2
    assert "1 run ranked, so all ranks are among 17" in joined
    assert "score 66.6 [" in joined
