"""What people read of ProactiveBench, and its compiles, all with the embedded stand-in on the sample."""

import json
import re

import pytest
from builders.images import decoded
from pvb_entries import environment

from dspy_proact import Case, Evaluation, RunFolder, leaderboard, summarize
from dspy_proact.benchmarks.proactivebench.benchmark import ProactiveBench
from dspy_proact.benchmarks.proactivebench.report import differences, published_rows
from dspy_proact.benchmarks.proactivebench.trajectory import (
    ProactiveBenchSettings,
    Sample,
    Step,
    Trajectory,
    graded,
    right_answers,
)
from dspy_proact.benchmarks.proactivebench.tuning import OwnTuning
from dspy_proact.evaluation.published import best_published
from dspy_proact.programs.artefact import read_artefact


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """On all 28 samples, with hints."""
    path = tmp_path_factory.mktemp("runs") / "hint"
    Evaluation("sample", benchmark="proactivebench", settings=ProactiveBenchSettings(hint=True)).run(path)
    return path


def played(name, *texts):
    """A case and the trajectory of some texts."""
    made = environment(name)
    state, steps = made.start, []
    for text in texts:
        step, state = Step.taken(made, state, text)
        steps.append(step)
    return Case("x", "g", name, Sample(environment=name, entry=made.entry)), Trajectory(steps=tuple(steps))


def test_the_published_rows_are_22_models_and_what_was_done_to_them():
    """Their unweighted means are 17.8 % and .44 interventions, where the paper has 17.5 and .5."""
    rows = published_rows()
    models = [row for row in rows if row.kind == "model"]
    assert (len(models), models[0].name, models[0].scores["macro"]) == (22, "o4-mini", pytest.approx(0.34))
    for name, mean, rounding in (("macro", 0.178, 0.0005), ("interventions", 0.44, 0.005)):
        assert sum(row.scores[name] for row in models) / 22 == pytest.approx(mean, abs=rounding)
    named = {row.name: row for row in rows}
    assert named["o4-mini, with a hint"].scores["macro"] == pytest.approx(0.557)
    assert named["Qwen2.5-VL-3B (ask reward 1), trained"].scores["interventions"] == pytest.approx(15.1)
    assert named["mean of 22 models, with the clear image"].scores["macro"] == pytest.approx(0.798)
    assert [row.kind for row in rows[:22]] == ["model"] * 22
    assert best_published(ProactiveBench()) == "34.0 % accuracy: o4-mini (arXiv 2603.19466)"


def test_a_run_stands_below_the_published_rows_and_says_why(run):
    message = list(differences(summarize(RunFolder(run))))
    assert message == [
        "the corpus is 'sample', not the published one",
        "with upstream_rule=false, hint=true",
        "asked in our words, for JSON",
    ]
    board = leaderboard([summarize(RunFolder(run))])
    (own,) = board.runs
    assert (own.rank, set(board.columns)) == (None, {"macro", "interventions"})
    # Of 28 samples 4 each in seven environments, the mean of the means is that of all.
    assert own.scores["interventions"].value == pytest.approx(67 / 28)


def test_show_tells_each_step_with_the_name_of_its_image(proact, run):
    status, out, err = proact("show", run, "--case", "COCO/1")
    assert (status, f"Next: dspy-proact show {run} --case COCO/2" in err) == (0, True)
    for line in (
        "Step 1, field/1.png, crop 10, 100, 120, 220: Move the camera to the right. (asks)",
        "Step 4, field/1.png, crop 10, 100, 240, 220: A triangle. (guesses)",
        "the benchmark itself: RIGHT reasons: It ended with the right category.",
    ):
        assert line in " ".join(out.split()), out


def test_interventions_stand_beside_accuracy_as_a_mean_of_environments(proact, run):
    status, out, _ = proact("report", run, "--json")
    document = json.loads(out)
    overall = document["overall"]
    assert status == 0
    assert overall["macro"]["measures"]["interventions"]["value"] == pytest.approx(67 / 28)
    assert "with 2.39 interventions, means over environments, on 28 samples" in document["headline"]
    _, out, _ = proact("report", run)
    (heading,) = [line for line in out.splitlines() if line.startswith("environment") and "interventions" in line]
    assert "asks" in heading
    assert [line.split()[0] for line in out.splitlines() if line.startswith("macro ")][:2] == ["macro", "macro"]


def test_compare_gives_the_gap_to_the_control_although_it_offers_other_moves(proact, done, run, tmp_path):
    settings = ProactiveBenchSettings(hint=True, control=True)
    Evaluation("sample", benchmark="proactivebench", settings=settings).run(tmp_path / "control")
    out = done("compare", run, "control", "--json")[0]
    document = json.loads(out)
    # The published mean ranks: over environments, each alike.
    claim, ranking = document["claim"], document["overall"]["macro"]["weighted"]
    assert [claim[name] for name in ("value", "low", "high", "p")] == [
        ranking[name] for name in ("value", "low", "high", "p")
    ]
    assert "mean over environments" in document["headline"]
    table = [line.split()[0] for line in proact("compare", run, "control")[1].splitlines() if " [" in line]
    assert table[0] == "macro"
    asks = document["overall"]["measures"]["asks"]
    assert asks["b"]["value"] < asks["a"]["value"]
    assert asks["difference"]["value"] == pytest.approx(asks["b"]["value"] - asks["a"]["value"])


def test_a_page_has_a_small_image_of_every_step(run):
    summary = summarize(RunFolder(run))
    for outcome in summary.outcomes[::5]:
        steps = list(summary.reporting.thumbnails(summary.manifest, outcome))
        assert len(steps) == len(json.loads(outcome.response)["steps"])
        assert all(step.caption.startswith(f"Step {number}") for number, step in enumerate(steps, 1))
        assert all(20 < decoded(step.load())[0].width <= 160 for step in steps)


def test_a_compile_finds_that_asking_helps_and_its_card_has_the_share_of_blind_asks(done):
    """By GEPA, and where it may write more; docs/benchmarks/proactivebench.md has the command for a search."""
    named = ("--benchmark", "proactivebench", "--out", "made")
    how = ("--optimizer", "gepa", "--trials", 2, "--folds", 2, "--guard", "none")
    out = done("optimize", "assistant", *named, *how)[0]
    assert re.search(r"^blind asking \(until the limit\) +28 ", out, re.MULTILINE), out
    card = read_artefact("made").card.document()
    assert any(note.startswith("tuned for a reward of 0.5 a right move") for note in card["notes"])
    rows = {row["name"]: row for row in card["rows"]}
    assert {"interventions", "blind", "step_reward"} <= rows.keys()
    assert not {"asking", "category"} & rows.keys(), "no answer was open"
    assert rows["step_reward"]["after"]["value"] > rows["step_reward"]["before"]["value"]


def test_the_reward_of_a_step_lets_who_asks_for_ever_win_nothing_but_at_one():
    """QD has three images: two right moves and the right answer, or two and a third that is wrong."""
    asker, solver = played("QD", "A", "A", "A"), played("QD", "A", "A dog")
    for reward, wins in ((0.5, False), (0.75, False), (1.0, False)):
        settings = ProactiveBenchSettings(ask_reward=reward)
        tuning = OwnTuning(ProactiveBench(), settings)
        ever, solved = (tuning.feedback(*run, graded(*run, settings)).score for run in (asker, solver))
        assert (ever, solved) == (pytest.approx(2 * reward / 3), pytest.approx((reward + 1) / 2))
        assert (ever >= solved) == wins
    # Where every step may ask, at 1 it is as good as answering.
    settings = ProactiveBenchSettings(ask_reward=1.0)
    forever, once = played("VSOD", *["Rewind the video."] * 4), played("VSOD", "A dog")
    assert graded(*forever, settings).parts["step_reward"] == graded(*once, settings).parts["step_reward"] == 1


def test_a_proposer_is_told_of_moves_and_never_of_a_category():
    case, answer = played("IN-C", "Denoise the image.", "A dog")
    message = ProactiveBench().feedback(case, answer, graded(case, answer, ProactiveBenchSettings()))
    assert message == (
        "Step 1: it chose 'Denoise the image.', which is a right move.\nStep 2: it named a category.\n"
        "It ended with the right category."
    )


def test_open_answers_may_give_the_moves_and_the_category_of_their_environment():
    assert {name: right_answers(environment(name)) for name in ("ROD", "IN-C", "CIT", "COCO")} == {
        "ROD": (["move the block", "move the camera"], 2),
        "IN-C": (["Denoise the image.", "A dog"], 1),
        "CIT": (["Wait for the action to appear.", "rewind the video", "A dog"], 2),
        "COCO": (["move the camera", "move farther away", "A dog"], 2),
    }
