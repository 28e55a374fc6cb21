"""The seven environments: the official ones step by step, and the clear rule worked by hand."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pvb_entries import CATEGORIES, entry, environment, fields

from dspy_proact.benchmarks.proactivebench.entries import ACTIONS, NAMES, WORLDS, RawEntry, abstains
from dspy_proact.benchmarks.proactivebench.environment import Environment, controlled
from dspy_proact.errors import CorpusError
from dspy_proact.files.rows import Line


def solved(outcome):
    return outcome.category_evaluation == "correct"


def played(world, *texts):
    """Images shown, what each text was understood as, and the last state."""
    state, seen, outcomes = world.start, [], []
    for text in texts:
        seen.append(state.image)
        state, outcome = world.step(state, text)
        outcomes.append(outcome)
    return seen, outcomes, state


def test_the_252_trajectories_of_the_official_environments_are_reproduced_step_by_step(data):
    worlds = {world.loader: world for world in WORLDS.values()}
    lines = (data / "proactivebench" / "traces.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 252
    for number, text in enumerate(lines, start=1):
        row = json.loads(text)
        world = worlds[row["environment"]]
        line = Line("traces.jsonl", number, json.dumps(row["entry"]))
        made = Environment(world, RawEntry.of(line).checked(line, world), upstream=True, reference=row["reference"])
        state, steps, images, outcome = made.start, [], [], None
        for step in row["steps"]:
            crop = made.crop(state)
            image = {"image": f"data/{made.path(state)}", "options": list(made.shown(state)), "answer": step["answer"]}
            images.append(state.image)
            state, outcome = made.step(state, step["answer"])
            evaluations = outcome.model_dump(include={"action_evaluation", "category_evaluation"})
            code = 1 + [*ACTIONS].index(outcome.action) if outcome.action else 0
            area = {"crop": crop and list(crop)} if "crop" in step else {}
            steps.append(image | evaluations | area | {"action": code, "stop": state.stopped})
        assert steps == row["steps"], f"line {number}"
        end = (state.stopped, solved(outcome), state.turns, images, state.turns == made.max_steps, made.max_steps)
        names = ("stop", "correct", "num_turns", "image_ids", "max_steps_reached", "max_steps")
        assert end == tuple(row[name] for name in names), f"line {number}"


def test_the_published_rule_cuts_an_answer_that_ends_with_a_capital_and_a_dot():
    """Both answers become empty as published, so that the empty text is the right one of them."""
    changed = {"categories": ["A cat from the U.S.", "A dog from the U.K.", "A hen"], "answer": "A dog from the U.K."}
    for upstream, act in ((True, "guess"), (False, "none")):
        made = environment("VSOD", upstream, **changed)
        assert made.step(made.start, "")[1].act == act
        # Upstream takes any of them for the right one.
        assert solved(made.step(made.start, "A cat from the U.S.")[1]) == upstream


def test_moves_lead_to_the_images_that_each_environment_has():
    left, right = "Move the block to the left.", "Move the block to the right."
    rewind, wait = "Rewind the video.", "Wait for the man to pass."
    # Four images, from number 2 on: 1 and 3 stand beside it, and after 3 comes 0.
    assert played(environment("ROD"), left, left, "A dog")[0] == [2, 1, 0]
    assert played(environment("ROD"), right, right, "A dog")[0] == [2, 3, 0]
    assert played(environment("VSOD"), rewind, wait, wait, wait)[0] == [2, 1, 2, 3]
    assert played(environment("MVP-N"), "Rotate the object.", "A", "A dog")[0] == [30, 31, 35]
    assert played(environment("IN-C"), "B", "B", "B", "B", "A dog")[0] == [5, 4, 3, 2, 1]
    assert played(environment("QD"), "A", "A", "A dog")[0] == [0, 1, 2]


def test_a_trajectory_ends_with_the_category_a_wrong_one_an_abstention_or_nothing_that_is_offered():
    for text, act, right in (
        ("A dog", "guess", True),
        ("A hen", "guess", False),
        ("I do not know.", "abstain", False),
        ("Deblur the image.", "ask", False),  # the noise is what is wrong
        ("?", "none", False),
    ):
        state, outcome = environment("IN-C").step(environment("IN-C").start, text)
        assert (outcome.act, state.stopped, solved(outcome), outcome.action) == (act, True, right, None), text


def test_the_category_is_wrong_at_the_first_step_of_rod_and_moves_at_the_last_of_views_levels_and_strokes():
    assert not solved(played(environment("ROD"), "A dog")[1][-1])
    assert solved(played(environment("ROD"), "A", "A dog")[1][-1])
    assert solved(played(environment("ROD", reference=True), "A dog")[1][-1])
    for name, move, turns in (("MVP-N", "A", 3), ("IN-C", "B", 5), ("QD", "A", 3)):
        _, outcomes, state = played(environment(name), *[move] * turns)
        assert [outcome.act for outcome in outcomes] == ["ask"] * turns, name
        assert [outcome.action is None for outcome in outcomes] == [*[False] * (turns - 1), state.stopped], name


def test_a_right_move_at_the_last_step_counts_and_changes_nothing():
    """Four images allow four texts; published are the turns without the last one, here 3."""
    _, outcomes, state = played(environment("VSOD"), *["Rewind the video."] * 4)
    assert [(outcome.act, outcome.action, solved(outcome)) for outcome in outcomes] == [("ask", "rewind", False)] * 4
    assert (state.turns, state.stopped) == (4, True)


def test_the_last_view_of_an_object_is_the_informative_one():
    world = environment("MVP-N")
    state, paths = world.start, []
    for _ in range(3):
        paths.append(world.path(state))
        state, _ = world.step(state, "Rotate the object.")
    assert paths == ["mvpn/0_0030.png", "mvpn/0_0031.png", "mvpn/1_0035.png"]


def test_moves_that_would_leave_the_video_are_not_shown():
    """Frames 0 to 5 by steps of 2: no rewinding at 0, no waiting at 4."""
    world, wait = environment("CIT"), "Wait for the action to appear."
    start = world.start
    second, _ = world.step(start, wait)
    third, _ = world.step(second, wait)
    rest = ("I do not know.", *CATEGORIES)
    assert [world.shown(state) for state in (start, second, third)] == [
        (wait, *rest),
        ("Rewind the video.", wait, *rest),
        ("Rewind the video.", *rest),
    ]
    assert world.step(third, wait)[1].act == "none"
    short = environment("CIT", num_images=2)
    assert short.shown(short.start) == rest, "both lead out of a video of two frames"
    short = environment("CIT", num_images=2, upstream=True)
    after, outcome = short.step(short.start, wait)
    assert (outcome.act, after.stopped) == ("ask", True), "as published waiting is shown, and there is no such frame"


def test_a_crop_grows_by_a_step_a_move_and_a_direction_that_is_spent_is_not_shown():
    """Left 180 - 10 a step, top 200 - 20 a step, from one step on; a granularity of 2 allows one move each."""
    world, left, up = environment("COCO"), "Move the camera to the left.", "Move the camera up."
    states = [world.start]
    for move in (left, up):
        states.append(world.step(states[-1], move)[0])
    assert [world.crop(state) for state in states] == [(170, 180, 260, 300), (160, 180, 260, 300), (160, 160, 260, 300)]
    assert [world.shown(state)[:-5] for state in states] == [(left, up), (up,), ()]
    assert world.max_steps == 4


def test_stepping_back_ends_where_floats_miss_the_limit():
    """0.1 x 3 is not 3 x 0.1 by way of halves and thirds: as published one may step back for ever."""
    zoom = {"direction": "zoom", "options": ["Move farther away.", "I do not know."], "granularity": 10}
    odd = [step / 1000 for step in range(1, 400)]

    def ends(upstream):
        for step in odd:
            world = environment("COCO", upstream, horizontal_step=step, vertical_step=step, **zoom)
            state = world.start
            while not state.stopped and "Move farther away." in world.shown(state):
                state, _ = world.step(state, "Move farther away.")
            yield (state.stopped, state.turns)

    assert set(ends(upstream=False)) == {(False, 10)}, "ten steps back, after which there is another one for the answer"
    assert set(ends(upstream=True)) == {(False, 10), (True, 11)}


def test_the_clear_image_stands_alone():
    for name, path in (
        ("ROD", "rod/0.png"),
        ("MVP-N", "mvpn/1_0000.png"),
        ("IN-C", "inc/0.jpg"),
        ("COCO", "coco/1.jpg"),
    ):
        world = environment(name, reference=True)
        assert world.path(world.start) == path
        assert world.shown(world.start) == tuple(CATEGORIES)
        assert world.crop(world.start) is None
        assert solved(played(world, "B")[1][-1])


def test_an_image_that_is_broken_in_the_corpus_is_replaced_by_its_neighbour():
    world = environment("ROD", image_template="natural_bluebl_greenr-banana-s{image}.png", first_image=5, num_images=14)
    state, _ = world.step(world.start, "Move the block to the right.")
    assert world.path(state).endswith("-s7.png")
    further, _ = world.step(state, "Move the block to the right.")
    back, _ = world.step(further, "Move the block to the left.")
    assert (further.image, back.image, world.path(back)) == (7, 6, "natural_bluebl_greenr-banana-s5.png")


def test_the_clear_image_is_the_one_that_is_named_even_where_it_is_broken():
    template = {"image_template": "natural_bluebl_greenr-banana-s{image}.png", "num_images": 14, "reference_image": 6}
    world = environment("ROD", reference=True, **template)
    assert world.path(world.start) == "natural_bluebl_greenr-banana-s6.png"


def test_a_move_names_the_noise_by_the_official_key_alone():
    """An option of another key may speak of noise; one that only does so names no action."""
    jpeg = "Undo the compression noise."
    assert WORLDS["IN-C"].actions_of(jpeg) == {"jpeg"}
    made = environment("IN-C", options=[jpeg, "I do not know."], quality_answer=jpeg)
    assert made.step(made.start, "A")[1].action == "jpeg"
    with pytest.raises(CorpusError, match="names none"):
        entry("IN-C", options=["Reduce the noise."], quality_answer="Reduce the noise.")


@pytest.mark.parametrize(
    ("direction", "actions"), [("left", {"left"}), ("left_up", {"left", "up"}), ("zoom", {"zoom"})]
)
def test_a_move_of_the_control_does_what_the_direction_of_a_crop_allows_and_always_widens_it(direction, actions):
    """Upstream draws among the actions of the entry; another one would change nothing and count as a useful move."""
    options = ["Move farther away."] if direction == "zoom" else ["Move the camera to the left."]
    done = set()
    for number in range(20):
        own = entry("COCO", id=number, direction=direction, options=[*options, "I do not know."])
        made = Environment(WORLDS["COCO"], controlled(WORLDS["COCO"], own), control=True)
        state, outcome = made.step(made.start, "A")
        assert made.crop(state) != made.crop(made.start)
        done.add(outcome.action)
    assert done == actions


def test_the_control_offers_moves_of_other_environments_that_do_anything():
    for name in NAMES:
        own, world = entry(name), WORLDS[name]
        offered = controlled(world, own)
        assert [abstains(option) for option in offered.options] == [abstains(option) for option in own.options]
        moves = [option for option in offered.options if not abstains(option)]
        assert not any(world.actions_of(move) for move in moves)
        assert controlled(world, own) == offered == controlled(world, offered)
        made = Environment(world, offered, control=True)
        _, outcome = made.step(made.start, moves[0])
        assert outcome.action in world.actions
        assert outcome.act == "ask"
    actions = set()
    for number in range(40):
        made = Environment(WORLDS["VSOD"], controlled(WORLDS["VSOD"], entry("VSOD", id=number)), control=True)
        actions.add(made.step(made.start, "A")[1].action)
    assert actions == {"rewind", "forward"}


def test_the_control_hides_nothing_and_stops_outside_of_a_video():
    made = Environment(WORLDS["CIT"], controlled(WORLDS["CIT"], entry("CIT", num_images=2)), control=True)
    assert len(made.shown(made.start)) == 7
    assert made.step(made.start, "A")[0].stopped


def test_the_question_names_the_video_and_hints_where_asked():
    assert environment("ROD").question() == "What is it?"
    assert environment("CIT").question() == "The image is a frame of a video. What is it?"
    assert (
        environment("COCO").question(hint=True) == "What is it? If what is asked is cut off, you may move the camera."
    )
    zoom = environment("COCO", direction="zoom", options=["Move farther away.", "I do not know."])
    assert zoom.question(hint=True) == "What is it? If what is asked is cut off, you may step back."
    assert environment("ROD", reference=True).question() == "Which object does the image show?"


@pytest.mark.parametrize(
    ("name", "changed", "problem"),
    [
        ("ROD", {"options": ["I do not know.", "i do not know"]}, "options: 'I do not know.' is offered twice"),
        ("ROD", {"options": ["A dog"]}, "options: 'A dog' is offered twice"),
        ("ROD", {"answer": "A cow"}, "answer: 'A cow' is none of the categories"),
        ("ROD", {"answer": None}, "answer: the field is missing"),
        ("ROD", {"categories": ["A dog"]}, "categories: there must be 2 of them, and at most 26 with the options"),
        ("ROD", {"categories": ["A dog", *map(str, range(30))]}, "categories: there must be 2 of them"),
        (
            "ROD",
            {"options": ["Move it to the left or to the right."]},
            "options: the move 'Move it to the left or to the right.' must name one action, and names left and right",
        ),
        ("ROD", {"options": ["Wink."]}, "options: the move 'Wink.' must name one action, and names none"),
        ("ROD", {"options": "to the left"}, "options: input should be a valid list, not 'to the left'"),
        ("ROD", {"first_image": -1}, "first_image: input should be greater than or equal to 0, not -1"),
        ("ROD", {"image_template": "rod/1.png"}, "image_template: 'rod/1.png' must have {image}"),
        ("ROD", {"image_template": "{image.a}"}, "image_template: '{image.a}' must have {image}"),
        ("ROD", {"image_template": "{image}{image}"}, "image_template: '{image}{image}' must have {image}"),
        ("COCO", {"image_template": "{image}"}, "image_template: '{image}' must have no slot"),
        ("MVP-N", {"valid_images": [30, 31]}, "valid_images: has 2 of 3 images"),
        ("MVP-N", {"valid_images": None}, "valid_images: the field is missing"),
        ("IN-C", {"quality_answer": "Sharpen it."}, "quality_answer: 'Sharpen it.' is none of the moves"),
        ("CIT", {"step_size": -2}, "step_size: input should be greater than or equal to 1, not -2"),
        ("CIT", {"step_size": True}, "step_size: input should be a valid integer, not true"),
        ("COCO", {"horizontal_step": -1}, "horizontal_step: input should be greater than or equal to 0, not -1"),
        ("COCO", {"vertical_step": 0}, "vertical_step: is 0, so that nothing would change"),
        ("COCO", {"direction": "left_left"}, "direction: 'left_left' is neither zoom nor one or two of left, right"),
        ("COCO", {"direction": "north"}, "direction: 'north' is neither zoom nor one or two of left, right"),
        ("COCO", {"crop": {"top": 1}}, "crop.left: the field is missing"),
    ],
)
def test_an_entry_that_cannot_be_played_is_refused_in_a_sentence(name, changed, problem):
    with pytest.raises(CorpusError) as refused:
        entry(name, **changed)
    field, _, sentence = problem.partition(": ")
    assert str(refused.value).startswith(f"entries.jsonl, line 3, field {field!r}: {sentence}")


def test_unknown_fields_reach_nothing():
    line = Line("entries.jsonl", 1, json.dumps(fields("VSOD", strong_occlusions=True, note="a secret")))
    raw = RawEntry.of(line)
    assert raw.unknown_fields() == {"note": 1}
    assert "secret" not in raw.checked(line, WORLDS["VSOD"]).model_dump_json()


ODD = st.one_of(
    st.sampled_from(
        ["A", "B", "a.", "(C)", "Rewind the video.", "Move farther away.", "A dog", "\u2028", "\ud800", "Ⓐ."]
    ),
    st.text(max_size=20),
)


@given(
    st.sampled_from(NAMES),
    st.booleans(),
    st.sampled_from(["", "reference", "control"]),
    st.lists(ODD, min_size=1, max_size=5),
)
def test_no_sequence_of_texts_raises_or_loops(name, upstream, mode, texts):
    own, world = entry(name), WORLDS[name]
    made = Environment(
        world, controlled(world, own) if mode == "control" else own, upstream, mode == "reference", mode == "control"
    )
    state = made.start
    for number in range(made.max_steps):
        if state.stopped:
            break
        shown = made.shown(state)
        assert made.path(state)
        made.crop(state)
        state, outcome = made.step(state, texts[number % len(texts)])
        assert outcome.option is None or outcome.option in shown
        assert state.turns == number + 1
    assert state.stopped, "a trajectory ends within its steps"
    assert state.turns <= made.max_steps
