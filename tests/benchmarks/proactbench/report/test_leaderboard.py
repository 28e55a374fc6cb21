"""The published models in their order, and a run among them or below, each with what was done otherwise."""

from dataclasses import replace
from io import StringIO

import pytest
from builders.runs import manifest, written
from rich.console import Console

from dspy_proact import ProactBench, PublishedRow
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.published import Counts
from dspy_proact.report import leaderboard, leaderboard_document, print_leaderboard, summarize
from dspy_proact.report.leaderboard_text import leaderboard_headline
from dspy_proact.runs import Case, CorpusRecord, Failure, Identity, RoleIdentity, StageEvent, StageKey, VerdictRecord
from dspy_proact.stand_in import DEMONSTRATION, STAND_IN
from dspy_proact.types import Frozen

# ProactBench's dataset/eval/*_proactivity_bench_metrics.json (github.com/boson-ai/ProactBench): weighted score, overall
# and of each phase. Then what the study does not state: the triggers of each phase without a grade, 201, 232 and 191
# less the published pass + partial + fail; and what counts alone say when these count 0: (PASS + PARTIAL / 2) / 624,
# such as (250 + 47) / 624 = 0.4760 for qwen3.5-9b, and the ranks by it.
PUBLISHED = [
    ("gpt-5.5", 0.6979, (0.7313, 0.8319, 0.5000), (0, 0, 0), 0.6979, 1),
    ("qwen/qwen3.5-397b-a17b", 0.6064, (0.7688, 0.7348, 0.2665), (2, 2, 9), 0.5938, 3),  # (321 + 49.5) / 624
    ("claude-opus-4-7", 0.6058, (0.7861, 0.7047, 0.2958), (0, 0, 0), 0.6058, 2),
    ("gemini-3.1-pro-preview", 0.5829, (0.7727, 0.7651, 0.1649), (3, 0, 0), 0.5801, 4),  # (313 + 49) / 624
    ("qwen/qwen3.5-9b", 0.5701, (0.7722, 0.6459, 0.2468), (21, 47, 35), 0.4760, 9),
    ("kimi-k2.6", 0.5428, (0.7306, 0.7356, 0.1237), (8, 7, 1), 0.5288, 6),  # (289 + 41) / 624
    ("deepseek/deepseek-v4-flash", 0.5353, (0.6667, 0.6450, 0.2644), (0, 1, 0), 0.5345, 5),  # (276 + 57.5) / 624
    ("xiaomi/mimo-v2.5-pro", 0.5281, (0.7164, 0.6429, 0.1911), (0, 1, 0), 0.5272, 7),  # (280 + 49) / 624
    ("gemini-2.5-pro", 0.5032, (0.7313, 0.6207, 0.1204), (0, 0, 0), 0.5032, 8),
    ("o4-mini-2025-04-16", 0.4736, (0.5771, 0.5884, 0.2251), (0, 0, 0), 0.4736, 10),
    ("gemini-2.5-flash", 0.4423, (0.6567, 0.5496, 0.0864), (0, 0, 0), 0.4423, 11),
    ("gpt-4o", 0.3133, (0.4254, 0.3599, 0.1387), (0, 0, 0), 0.3133, 12),
    ("meta-llama/llama-4-maverick", 0.2252, (0.2910, 0.3190, 0.0419), (0, 0, 0), 0.2252, 13),
    ("Qwen3-1.7B", 0.2204, (0.3184, 0.2112, 0.1283), (0, 0, 0), 0.2204, 14),
    ("Qwen2.5-7B-Instruct", 0.2163, (0.3184, 0.1789, 0.1545), (0, 0, 0), 0.2163, 15),
    ("Llama-3.2-8B-Instruct", 0.2051, (0.3731, 0.1875, 0.0497), (0, 0, 0), 0.2051, 16),
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
            StageEvent(key=StageKey(case=key, epoch=1, stage="response"), answer={"text": "so"}, calls=(), time=1.0),
            StageEvent(
                key=StageKey(case=key, epoch=1, stage="verdict", judge=JUDGE.model), calls=(), time=2.0, **result(grade)
            ),
        )
    )
    made = manifest(
        JUDGE.model,
        identity=Identity(benchmark="proactbench", assistant=ASSISTANT, judges=(JUDGE,), corpus="cc"),
        corpus=CorpusRecord(name="proactbench", revision="f00", rows=198, cases=624, ignored_fields={}),
        overrides={"assistant": (), "judge": ()},
    )
    return summarize(written(path, made, cases, events))


def result(grade):
    if grade is None:
        return {"failure": Failure(kind="content", reason="unreadable")}
    detail = {"reasoning": "so", "evidence": [], "grade": grade}
    return {"grade": VerdictRecord(score=SCORE[grade], label=grade, verified=True, detail=detail)}


@pytest.fixture(scope="module")
def ranked(tmp_path_factory):
    """A summary of the full corpus, made as the published models were."""
    return ranked_run(tmp_path_factory.mktemp("runs") / "ranked", GRADES)


def changed(summary, **changes):
    """The summary of a run whose manifest has these changes; those of `assistant` and `judges` are of its identity."""
    of = {name: changes.pop(name) for name in ("assistant", "judges") & changes.keys()}
    identity = summary.manifest.identity.model_copy(update=of)
    return replace(summary, manifest=summary.manifest.model_copy(update={"identity": identity, **changes}))


def differences(summary):
    """What keeps a run from being ranked; it stands last, without ranks, and moves no published rank."""
    board = leaderboard([summary])
    entry = board.entries[-1]
    assert not entry.published
    assert (entry.rank, entry.lenient_rank, entry.rank_range) == (None, None, None)
    assert [other.rank for other in board.entries[:-1]] == list(range(1, 17))
    return list(entry.differences)


def text_of(board):
    file = StringIO()
    print_leaderboard(board, Console(width=80, file=file), explain=True)
    return file.getvalue()


def flat(*runs):
    return " ".join(text_of(leaderboard(runs)).split())


# The published rows


def test_the_published_models_stand_in_the_order_of_their_strict_scores_with_the_published_ones_beside_them():
    board = leaderboard()
    rows = [
        (
            entry.name,
            round(entry.scores["score"].value, 4),
            tuple(round(entry.scores[phase].value, 4) for phase in GRADES),
            tuple(counts.unscored for counts in entry.counts.values()),
            round(entry.scores["strict"].value, 4),
            entry.rank,
        )
        for entry in board.entries
    ]
    assert rows == sorted(PUBLISHED, key=lambda row: row[-1])
    by_lenient = sorted(board.entries, key=lambda entry: entry.lenient_rank)
    assert [(entry.lenient_rank, entry.name) for entry in by_lenient] == [
        (rank, name) for rank, (name, *_) in enumerate(PUBLISHED, start=1)
    ]
    assert (board.ranking, leaderboard_document(board)["ranked_by"]) == ("strict", "strict")
    for entry in leaderboard_document(board)["rows"]:
        assert [counts["total"] for counts in entry["counts"].values()] == [201, 232, 191]
        for score in entry["scores"].values():
            assert (score["low"], score["high"], "without groups" in score["reason"]) == (None, None, True)


def test_rank_ranges_are_of_pairwise_tests_with_a_design_effect_of_two_and_holm(monkeypatch):
    # 100 triggers each: a 0.80, b 0.60, c 0.55, variances 0.16, 0.24 and 0.2475.
    # a-c: z = 0.25 / sqrt(2 (0.16 + 0.2475) / 100) = 2.77, p = 0.0056, x 3 = 0.017: told apart
    # a-b: z = 0.20 / sqrt(2 (0.16 + 0.24) / 100) = 2.24, p = 0.025, x 2 = 0.051: not, by Holm alone
    # b-c: z = 0.05 / sqrt(2 (0.24 + 0.2475) / 100) = 0.51, p = 0.61: not
    counts = {"a": (80, 20), "b": (60, 40), "c": (55, 45)}
    rows = tuple(
        PublishedRow(name, {"score": full / 100}, counts={"EMERGENT": Counts(100, (full, 0, fail))})
        for name, (full, fail) in counts.items()
    )
    monkeypatch.setattr(ProactBench, "published", replace(ProactBench.published, rows=lambda: rows))
    assert [entry.rank_range for entry in leaderboard().entries] == [(1, 2), (1, 3), (2, 3)]


# A run among them


def test_a_run_made_as_the_published_ones_is_ranked_among_them(ranked):
    routed = changed(ranked, judges=(JUDGE.model_copy(update={"model": "openrouter/openai/gpt-5.4"}),))
    for board in (leaderboard([ranked]), leaderboard([routed])):
        first, second, third = board.entries[:3]
        assert (first.name, second.name, third.name) == ("gpt-5.5", "openai/newest", "claude-opus-4-7")
        assert [entry.rank for entry in board.entries] == list(range(1, 18))
        assert (second.lenient_rank, third.lenient_rank, second.rank_range[0]) == (2, 4, 1)
        assert [entry.rank_range[1] for entry in board.entries[-4:]] == [17] * 4  # of 17 now
        assert round(second.scores["score"].value, 4) == 0.6659
        assert second.scores["score"].low < second.scores["score"].value < second.scores["score"].high
        assert second.differences == ()


def test_a_run_with_the_scores_of_a_published_model_shares_its_ranks(tmp_path):
    # gpt-4o: 68/35/98, 43/81/108, 17/19/155
    counts = {"EMERGENT": (68, 35, 98), "CRITICAL": (43, 81, 108), "RECOVERY": (17, 19, 155)}
    grades = {phase: [g for g, n in zip(SCORE, of, strict=True) for _ in range(n)] for phase, of in counts.items()}
    entries = leaderboard([ranked_run(tmp_path / "run", grades)]).entries[11:14]
    assert [(e.name, e.rank, e.lenient_rank) for e in entries] == [
        ("gpt-4o", 12, 12),
        ("openai/newest", 12, 12),
        ("meta-llama/llama-4-maverick", 14, 14),
    ]
    # The run's groups are alike, and its own design effect is below the assumed one: both have one range.
    assert entries[1].tested.design_effect < 1
    assert [e.rank_range for e in entries[:2]] == [(12, 16)] * 2


def test_the_unscored_of_a_run_count_in_the_strict_score_and_rank(tmp_path):
    # 331 PASS, 63 PARTIAL, 30 without a verdict: lenient 362.5 / 594 = 0.6103 (rank 2), strict / 624 = 0.5809 (4).
    grades = GRADES | {"CRITICAL": [None] * 30 + ["FAIL"] * 23 + GRADES["CRITICAL"][53:]}
    board = leaderboard([ranked_run(tmp_path / "run", grades)])
    (entry,) = board.runs
    assert (entry.rank, entry.lenient_rank) == (4, 2)
    assert [round(entry.scores[name].value, 4) for name in ("score", "strict")] == [0.6103, 0.5809]
    assert entry.counts["CRITICAL"] == Counts(232, (122, 36, 44))
    assert "ranks 4 of 17 (strict 58.1 %, 95 % " in leaderboard_document(board)["headline"]
    assert "594 of 624 scored)" in leaderboard_document(board)["headline"]


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


def judge(**changes):
    return {"judges": (JUDGE.model_copy(update=changes),)}


@pytest.mark.parametrize(
    ("changes", "sentences"),
    [
        (judge(model="openai/gpt-5.4-mini"), ["graded by openai/gpt-5.4-mini, not by gpt-5.4"]),
        (judge(endpoint="http://h/v1"), ["the judge was called at http://h/v1, not at its provider's own"]),
        (judge(program="default"), ["the judge's prompt is 'default', not the official one"]),
        (
            {"judges": (JUDGE, JUDGE.model_copy(update={"model": "openai/gpt-4o"}))},
            ["graded by a jury (openai/gpt-5.4 + openai/gpt-4o), not by gpt-5.4 alone"],
        ),
        (
            {"assistant": ASSISTANT.model_copy(update={"program": "unknown"})},
            ["the responses are of the program 'unknown', not of the bare model"],
        ),
        (
            {"overrides": {"assistant": ("temperature", "top_p"), "judge": ("reasoning_effort",)}},
            [
                "the assistant's temperature was set by hand, not by the preset",
                "the assistant's top_p was set by hand, not by the preset",
                "the judge's reasoning_effort was set by hand, not by the preset",
            ],
        ),
        (
            {"corpus": CorpusRecord(name="sample", revision=None, rows=198, cases=624, ignored_fields={})},
            ["the corpus is 'sample', not proactbench"],
        ),
        (
            {"epochs": 3, "judge_epochs": 2},
            ["3 responses to each trigger, not 1", "2 verdicts on each response, not 1"],
        ),
    ],
)
def test_what_was_done_otherwise_is_named(ranked, changes, sentences):
    assert differences(changed(ranked, **changes)) == sentences


def test_a_part_of_the_corpus_an_unfinished_run_and_what_is_no_run_are_named(ranked):
    # 20 of each phase less 11 of RECOVERY
    few = [o for phase in GRADES for o in ranked.of_stratum(phase)[: 9 if phase == "RECOVERY" else 20]]
    assert differences(replace(ranked, outcomes=tuple(few))) == [
        "49 of 624 triggers (EMERGENT 20 of 201, CRITICAL 20 of 232, RECOVERY 9 of 191)"
    ]
    pending = [replace(o, state="pending", label=None, score=0.0) for o in ranked.outcomes[:12]]
    summary = replace(ranked, outcomes=(*pending, *ranked.outcomes[12:]))
    assert differences(summary) == ["not complete: 12 of 624 triggers pending"]
    (run,) = [entry for entry in leaderboard_document(leaderboard([summary]))["rows"] if not entry["published"]]
    assert run["pending"] == 12
    assert run["counts"]["EMERGENT"] == {"total": 189, "pass": 126, "partial": 18, "fail": 45, "unscored": 0}
    assert differences(replace(ranked, embedded=True)) == [STAND_IN]
    no_judge = "a results file does not say which judge, prompt and decoding made it"
    assert differences(replace(ranked, manifest=None)) == [no_judge]


def test_two_runs_of_one_model_are_both_shown_and_one_path_twice_is_refused(ranked, tmp_path):
    again = replace(ranked, path=str(tmp_path / "again"))
    board = leaderboard([ranked, again])
    assert [(entry.name, entry.rank) for entry in board.runs] == [("openai/newest", 2)] * 2
    assert board.entries[3].rank == 4
    assert [f"[{number}] openai/newest, " in text_of(board) for number in (1, 2, 3)] == [True, True, False]
    with pytest.raises(UsageError, match="given twice"):
        leaderboard([ranked, again, replace(ranked, path=f"{ranked.path}/../ranked/")])
    with pytest.raises(UsageError, match="'riddles'; the leaderboard is of proactbench"):
        leaderboard([replace(ranked, benchmark="riddles")], "proactbench")


# What is said


def test_the_printed_table_has_both_ranks_side_by_side_and_a_line_above_the_unranked(ranked):
    rows = text_of(leaderboard([changed(ranked, epochs=2)])).splitlines()
    last = next(number for number, row in enumerate(rows) if "Llama-3.2-8B-Instruct" in row)
    assert not rows[last + 1].strip()
    assert rows[last + 2].split()[:5] == ["-", "-", "newest", "[1]", "624/624"]
    # A full score leaves the published names whole.
    best = [replace(outcome, label="PASS", score=1.0) for outcome in ranked.outcomes]
    text = text_of(leaderboard([replace(ranked, outcomes=tuple(best))]))
    (first,) = [line.split() for line in text.splitlines() if "newest [1]" in line and "624/624" in line]
    assert first[4:] == ["624/624", "100", "100", "100", "100", "100"]
    assert "gemini-3.1-pro-preview 621/624" in text


def test_the_notes_say_what_the_numbers_rest_on(ranked):
    joined = flat(ranked)
    assert "all 136 pairs" in joined  # 17 x 16 / 2
    assert "1 run ranked, so all ranks are among 17" in joined
    assert "strict 66.6 [" in joined
    assert "embedded stand-in" in flat(replace(ranked, embedded=True))


def test_the_headline_says_that_the_first_is_better_where_no_other_rank_is_open():
    board = leaderboard()
    alone = replace(board.entries[0], rank_range=(1, 1))
    text = leaderboard_headline(replace(board, entries=(alone, *board.entries[1:]))).text
    assert text == "gpt-5.5 ranks first of 16 (strict 69.8 %), better than each of the others by more than chance."


def test_the_headline_of_a_run_has_its_ranks_and_its_interval_or_its_marks(ranked):
    board = leaderboard([ranked])
    (run,), shared = (
        board.runs,
        "openai/newest ranks 2 of 17 (strict 66.6 %, 95 % 65.5 to 67.7, 624 of 624 scored)",
    )
    assert leaderboard_headline(board).text == f"{shared}; ranks {run.rank_range[0]} to {run.rank_range[1]} are open."
    alone = [replace(entry, rank_range=(2, 2)) if entry is run else entry for entry in board.entries]
    assert leaderboard_headline(replace(board, entries=tuple(alone))).text == f"{shared}; no other rank is open."
    text = leaderboard_headline(leaderboard([replace(ranked, embedded=True)])).text
    assert text.startswith(f"{DEMONSTRATION}openai/newest (strict 66.6 %")
