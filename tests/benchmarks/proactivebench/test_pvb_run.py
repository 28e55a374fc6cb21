"""Runs on ProactiveBench against a server that sees the images: closed forms, what requests and files hold."""

import json
import re
from collections import Counter, defaultdict

import pytest
from builders.images import images_of
from fakes.server import Answer
from pvb_entries import CATEGORIES
from pvb_server import Seen, write_corpus
from pvb_world import Drawing, by_environment, evaluation, first_category, first_option, last_move, oracle, ran, seen

from dspy_proact import RunFolder, images
from dspy_proact.benchmarks.proactivebench.entries import NAMES
from dspy_proact.benchmarks.proactivebench.programs import JudgeOpenAnswer, Looker
from dspy_proact.benchmarks.proactivebench.trajectory import ProactiveBenchSettings, Trajectory
from dspy_proact.errors import UsageError
from dspy_proact.programs.program import Question

CODED = re.compile(rb"[A-Za-z0-9+/]{200,}|;base64,|\x89PNG")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


def trajectories(path):
    """Of each case."""
    events = RunFolder(path).events()
    return {event.key.case: Trajectory.model_validate(event.answer) for event in events if event.answer}


def values(**named):
    """By environment; 0 where none is named."""
    return {name: pytest.approx(named.get(name.replace("-", ""), 0.0)) for name in NAMES}


def test_a_model_that_guesses_is_right_at_a_quarter_where_a_guess_counts_and_never_intervenes(server, corpus, tmp_path):
    server.script = first_category
    summary = ran(server, corpus, tmp_path / "run")
    assert by_environment(summary) == values(VSOD=0.25, MVPN=0.25, INC=0.25, QD=0.25, CIT=0.25, COCO=0.25)
    assert summary.macro.weighted.value == pytest.approx(6 / 28)
    assert by_environment(summary, "interventions") == by_environment(summary, "asks") == values()
    assert set(by_environment(summary, "guesses").values()) == {1.0}
    assert len(server.sent) == 28


def test_a_model_that_knows_is_always_right_and_asks_in_rod_alone(server, corpus, tmp_path):
    server.script = oracle
    summary = ran(server, corpus, tmp_path / "run")
    assert set(by_environment(summary).values()) == {1.0}
    assert by_environment(summary, "interventions") == values(ROD=1)
    assert summary.measured(summary.outcomes, by_stratum=True)["interventions"].value == pytest.approx(1 / 7)
    assert by_environment(summary, "useful") == {name: 1.0 if name == "ROD" else None for name in NAMES}


@pytest.mark.parametrize("upstream", [False, True])
def test_a_model_that_chooses_the_first_move_for_ever_is_never_right(server, corpus, tmp_path, upstream):
    """Four images of ROD and VSOD and four steps of CIT take four moves, of which the published count drops the last.

    MVP-N and QD have three images, and take two moves before a third one that is wrong. In IN-C the first move is wrong
    at once. COCO takes one to the left and one upwards, and then the first option is to abstain.
    """
    server.script = first_option
    summary = ran(server, corpus, tmp_path / "run", upstream_rule=upstream)
    assert set(by_environment(summary).values()) == {0.0}
    most = 3 if upstream else 4
    expected = values(ROD=most, VSOD=most, MVPN=2, QD=2, CIT=most, COCO=2)
    assert by_environment(summary, "interventions") == expected
    assert by_environment(summary, "blind") == values(ROD=1, VSOD=1, MVPN=1, QD=1, CIT=1)
    assert by_environment(summary, "useful") == values(ROD=3 / 4, VSOD=3 / 4, MVPN=2 / 3, QD=2 / 3, CIT=3 / 4, COCO=1)
    assert by_environment(summary, "abstains") == values(COCO=1 / 3)
    # Of three steps two are right moves, worth a half each.
    assert by_environment(summary, "step_reward")["QD"] == pytest.approx(1 / 3)


def test_a_model_that_draws_by_what_it_sees_does_what_the_baseline_draws(server, corpus, tmp_path):
    server.script = Drawing(seed=3)
    ran(server, corpus, tmp_path / "run")
    sent = len(server.sent)
    ran(server, corpus, tmp_path / "baseline", baseline="random", seed=3)
    drawn, known = trajectories(tmp_path / "run"), trajectories(tmp_path / "baseline")
    assert len(server.sent) == sent == sum(len(item.steps) for item in drawn.values())
    assert {step.sha256 for item in known.values() for step in item.steps} == {None}
    bare = {key: [step.model_copy(update={"sha256": None}) for step in item.steps] for key, item in drawn.items()}
    assert bare == {key: [*item.steps] for key, item in known.items()}
    assert {step.outcome.act for item in drawn.values() for step in item.steps} == {"ask", "abstain", "guess"}


def test_images_arrive_unbroken_from_zips_that_several_threads_read(server, corpus, tmp_path):
    """Each image says in squares what it is of: each step of a sample shows its own, one a request."""
    server.script = last_move
    summary = ran(server, corpus, tmp_path / "run")
    arrived = defaultdict[str, list](list)
    for (image,) in map(seen, server.sent):
        arrived[f"{image.name}/{image.id}"].append(image.number)
    for case, trajectory in trajectories(tmp_path / "run").items():
        # In the paths of the other entries: the entry's id, and the number of the image before its ending.
        named = [0 if "whole" in step.image else int(re.findall(r"\d+", step.image)[-1]) for step in trajectory.steps]
        assert arrived[case] == named, case
    assert by_environment(summary, "interventions") == values(ROD=4, VSOD=4, MVPN=2, INC=4, QD=2, CIT=4, COCO=2)


def test_who_chooses_at_random_comes_to_the_closed_form(server, tmp_path):
    """Of VSOD's 7 options 2 go on and 1 is right, four times; of QD's 6 it is 1 and 1, three times, the last without.

    VSOD: right 1/7 x (1 + 2/7 + 4/49 + 8/343) = 477/2401, moves 2/7 + ... + 16/2401 = 954/2401.
    QD: right 1/6 x (1 + 1/6 + 1/36) = 43/216, moves 1/6 + 1/36 = 7/36.
    Of 60 entries the standard errors are 0.05, and 0.09 for VSOD's moves; allowed are four.
    """
    corpus = write_corpus(tmp_path, range(60), ("VSOD", "QD"))
    summary = ran(server, corpus, tmp_path / "run", baseline="random", environments=("VSOD", "QD"))
    assert by_environment(summary) == pytest.approx({"VSOD": 477 / 2401, "QD": 43 / 216}, abs=0.2)
    moves = by_environment(summary, "interventions")
    assert moves == {"VSOD": pytest.approx(954 / 2401, abs=0.35), "QD": pytest.approx(7 / 36, abs=0.2)}


def test_images_arrive_within_the_bound_and_crops_as_they_grow(server, corpus, tmp_path):
    """COCO shows 397 + 1 of 400 pixels each way, then a row more above, and then a column more at the left."""
    server.script = oracle
    ran(server, corpus, tmp_path / "small", longest=64)
    assert {image.size for sent in server.sent for image in images_of(sent)} == {(64, 64)}
    assert {Seen("COCO", 3, 0), Seen("IN-C", 0, 5)} <= {image for sent in server.sent for image in seen(sent)}
    server.sent.clear()
    server.script = last_move
    ran(server, corpus, tmp_path / "crops", environments=("COCO",))
    sizes = Counter(image.size for sent in server.sent for image in images_of(sent))
    assert sizes == {(398, 398): 4, (398, 399): 4, (399, 399): 4}


FREE = {
    ("QD", 0): "C.",
    ("QD", 1): "**D**",
    ("QD", 2): "I think that it is E. A hen",
    ("QD", 3): "",
    ("VSOD", 0): '{"choice": "D"}',
    ("VSOD", 1): '{"choice": ["A dog"]}',
    ("VSOD", 2): " \n",
    ("VSOD", 3): "B. Wait for the man to pass.",
}
"""Replies by environment and entry; the category of number n is the right one, and the first has the letter C or D."""


@pytest.mark.parametrize(("upstream", "right"), [(False, 1), (True, 0)])
def test_a_reply_that_is_no_json_is_matched_as_free_text_and_a_blank_one_is_not_scored(
    server, corpus, tmp_path, upstream, right
):
    """A letter in asterisks is none as published. Waiting takes four steps, and what is blank is asked for twice."""
    server.script = lambda sent: Answer(FREE[seen(sent)[-1][:2]])
    summary = ran(server, corpus, tmp_path / "run", upstream_rule=upstream, environments=("QD", "VSOD"))
    scores = {outcome.key: outcome.score for outcome in summary.outcomes if outcome.state == "scored"}
    assert scores == {"QD/0": 1, "QD/1": right, "QD/2": 1, "VSOD/0": 1, "VSOD/1": 0, "VSOD/3": 0}
    assert {outcome.key: outcome.reason for outcome in summary.outcomes if outcome.reason} == {
        "QD/3": "response: empty",
        "VSOD/2": "response: unreadable",
    }
    assert Counter(seen(sent)[-1][:2] for sent in server.sent) == dict.fromkeys(FREE, 1) | {
        ("QD", 3): 2,
        ("VSOD", 2): 2,
        ("VSOD", 3): 4,
    }
    assert {trajectory.steps[-1].text for trajectory in trajectories(tmp_path / "run").values()} == {
        *(text for text in FREE.values() if text.strip() and text[0] != "{"),
        "D",
        FREE["VSOD", 1],
    }


def test_with_history_every_image_up_to_now_is_sent_in_order_with_what_was_chosen(server, corpus, tmp_path):
    server.script = first_option
    ran(server, corpus, tmp_path / "run", history=True, environments=("QD", "ROD"))
    last = [sent for sent in server.sent if seen(sent)[-1][:2] == ("QD", 2)][-1]
    assert seen(last) == [("QD", 2, 0), ("QD", 2, 1), ("QD", 2, 2)]
    text = "".join(part.get("text", "") for part in last.messages[-1]["content"])
    assert text.count('"choice": "A"') == 2
    assert max(len(images_of(sent)) for sent in server.sent) == 4


def test_solved_examples_are_shown_in_two_environments_and_are_of_other_entries(server, corpus, tmp_path):
    """Of ROD a move and the answer; of MVP-N the moves to the last of three images and the answer."""
    server.script = first_category
    ran(server, corpus, tmp_path / "run", examples=1)
    for sent in server.sent:
        *examples, (name, number, _) = seen(sent)
        assert len(examples) == {"ROD": 2, "MVP-N": 3}.get(name, 0)
        assert {example[0] for example in examples} <= {name}
        assert number not in {example[1] for example in examples}
        if examples:
            text = "".join(part.get("text", "") for part in sent.messages[-1]["content"])
            assert f'"choice": "{CATEGORIES[examples[0][1]]}"' in text


def test_a_resumed_run_asks_nothing_and_decodes_no_image_and_no_file_holds_one(server, corpus, tmp_path, monkeypatch):
    server.script = oracle
    ran(server, corpus, tmp_path / "run")
    sent, decoded = len(server.sent), list[str]()
    prepare = images.prepare
    monkeypatch.setattr(
        images, "prepare", lambda *inputs, **more: (decoded.append(inputs[1]), prepare(*inputs, **more))[1]
    )
    assert evaluation(server, corpus).run(tmp_path / "run").stages == 0
    assert (len(server.sent), decoded) == (sent, [])
    for file in (file for file in (tmp_path / "run").rglob("*") if file.is_file()):
        assert not CODED.search(file.read_bytes()), file
    steps = [step for trajectory in trajectories(tmp_path / "run").values() for step in trajectory.steps]
    assert all(re.fullmatch(r"[0-9a-f]{64}", step.sha256) for step in steps)


def test_prompts_are_those_that_scores_were_made_with():
    """Names, order, types, descriptions and instructions; a change here makes runs and compiles incomparable."""
    kinds = {"choose": {}, "open": {"program": "open"}, "cot": {"cot": True}, "history": {"history": True}}
    programs = {name: Looker(ProactiveBenchSettings(**kind)) for name, kind in kinds.items()}
    assert {name: program.fingerprint()[:12] for name, program in programs.items()} | {
        "judge": Question(JudgeOpenAnswer, "question", "answer").fingerprint()[:12]
    } == {
        "choose": "435e39e866cb",
        "open": "7813eda7afeb",
        "cot": "77e50c6df71f",
        "history": "d34d7eb13fe6",
        "judge": "3b9e32d04e61",
    }


def judging(inputs):
    """A model that says a few words, and a judge that answers with a list by the right answers that it is shown."""

    def script(sent):
        if sent.role == "assistant":
            return Answer(json.dumps({"answer": "Wait a moment."}))
        text = str(sent.messages[-1]["content"])
        listed = json.loads(re.search(r"\[\[ ## right_answers ## \]\]\n(\[.*\])", text)[1])
        return Answer(json.dumps({"given": inputs(listed)}))

    return script


def test_open_answers_are_graded_by_moves_and_category(server, corpus, tmp_path):
    """The judge finds the last of each list, which is the category but in ROD and MVP-N, where none is listed."""
    server.script = judging(lambda listed: [index == len(listed) - 1 for index in range(len(listed))])
    summary = ran(server, corpus, tmp_path / "run", program="open")
    assert by_environment(summary, "asking") == values(ROD=1, MVPN=1)
    assert by_environment(summary, "category") == values(VSOD=1, INC=1, QD=1, CIT=1, COCO=1)
    assert set(by_environment(summary).values()) == {1.0}
    requests = [len(images_of(sent)) for sent in server.sent if sent.role == "assistant"]
    assert requests == [1] * 28
    assert not any("image_url" in sent.text for sent in server.sent if sent.role == "judge")
    shown = [measure.name for measure in summary.shown_measures()]
    assert shown == ["asking", "category"]


def test_an_open_answer_need_not_be_json(server, corpus, tmp_path):
    judge = judging(lambda listed: [True] * len(listed))
    server.script = lambda sent: Answer("It is a cat.\nWait.") if sent.role == "assistant" else judge(sent)
    summary = ran(server, corpus, tmp_path / "run", program="open", cot=True, environments=("QD",))
    assert (summary.count("scored"), summary.micro.weighted.value) == (4, 1.0)
    assert [sent.role for sent in server.sent].count("assistant") == 4
    assert all("| It is a cat.\\n| Wait." in sent.text for sent in server.sent if sent.role == "judge")


def test_a_verdict_of_a_wrong_length_is_unread_and_finds_nothing_as_published(server, corpus, tmp_path):
    server.script = judging(lambda listed: [True] * (len(listed) + 1))
    summary = ran(server, corpus, tmp_path / "run", program="open", environments=("QD",))
    assert (summary.count("scored"), summary.count("unscored")) == (0, 4)
    summary = ran(server, corpus, tmp_path / "published", program="open", environments=("QD",), upstream_rule=True)
    assert (summary.count("scored"), summary.micro.weighted.value) == (4, 0.0)


def test_baselines_have_their_closed_forms(server, corpus, tmp_path):
    """Of ROD's four, VSOD's four, CIT's four and COCO's four steps a late oracle uses one to answer; IN-C has five."""
    summary = ran(server, corpus, tmp_path / "late", baseline="late-oracle")
    assert set(by_environment(summary).values()) == {1.0}
    assert by_environment(summary, "interventions") == values(ROD=3, VSOD=3, MVPN=2, INC=4, QD=2, CIT=3, COCO=2)
    summary = ran(server, corpus, tmp_path / "oracle", baseline="oracle")
    assert (by_environment(summary, "interventions"), summary.macro.weighted.value) == (values(ROD=1), 1.0)
    summary = ran(server, corpus, tmp_path / "abstain", baseline="abstain")
    assert set(by_environment(summary, "abstains").values()) == {1.0}
    summary = ran(server, corpus, tmp_path / "clear", baseline="guess", reference=True)
    assert summary.micro.weighted.value > 0
    assert server.sent == []


def test_under_the_control_moves_of_other_environments_are_offered_and_asking_them_counts(server, corpus, tmp_path):
    server.script = first_option
    summary = ran(server, corpus, tmp_path / "run", control=True, environments=("QD", "VSOD"))
    steps = [step for trajectory in trajectories(tmp_path / "run").values() for step in trajectory.steps]
    assert not {"Add more details.", "Rewind the video."} & {option for step in steps for option in step.options}
    assert by_environment(summary, "interventions") == {"VSOD": 4.0, "QD": 2.0}


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"seed": 1}, "`settings.seed`: has no effect with baseline=none"),
        ({"baseline": "oracle", "seed": 1}, "`settings.seed`: has no effect with baseline=oracle"),
        ({"baseline": "guess", "hint": True}, "`settings.hint`: has no effect with baseline=guess"),
        ({"program": "open", "history": True}, "`settings.history`: has no effect with program=open"),
        ({"reference": True, "control": True}, "`settings.control`: has no effect with reference=true"),
    ],
)
def test_settings_without_effect_are_refused(server, corpus, inputs, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        evaluation(server, corpus, **inputs)
    assert ProactiveBenchSettings(baseline="guess", seed=1, control=True).without_effect.keys() >= {"program", "cot"}


def test_a_forecast_counts_two_images_a_sample_in_their_size_and_decodes_none(server, corpus, tmp_path):
    """400 x 400 pixels are one tile: 85 + 170 tokens."""
    forecast = evaluation(server, corpus).forecast(tmp_path / "run")
    assert (forecast.assistant.images, forecast.assistant.uncounted_images) == (56, 0)
    forecast = evaluation(server, corpus, reference=True).forecast(tmp_path / "run")
    assert forecast.assistant.images == 28
    # An example has two images in ROD and three in MVP-N, at each of two steps; the second shows the first one too.
    settings = {"examples": 1, "history": True, "environments": ("ROD", "MVP-N", "QD")}
    forecast = evaluation(server, corpus, **settings).forecast(tmp_path / "run")
    assert forecast.assistant.images == 4 * ((3 + 4) + (4 + 5) + (1 + 2))
    assert server.sent == []
