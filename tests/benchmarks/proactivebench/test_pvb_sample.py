"""The sample: every entry can be solved by looking, none at first sight, and images show what descriptions name."""

import tomllib
from collections import deque
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from PIL import Image

from dspy_proact.benchmarks.proactivebench.corpus import read_corpus
from dspy_proact.benchmarks.proactivebench.entries import FOLDER, NAMES, WORLDS
from dspy_proact.benchmarks.proactivebench.environment import Environment
from eval.support import drawings

SAMPLE = read_corpus("sample", NAMES, filtered=True)
IMAGES = SAMPLE.images
ENVIRONMENTS = [Environment(WORLDS[name], entry) for name, entries in SAMPLE.entries.items() for entry in entries]


def named(environment, state):
    """The category that is seen at a step."""
    seen = IMAGES.description(environment.path(state), environment.crop(state))
    things = {category.casefold().strip(".") for category in environment.entry.categories}
    return {thing for thing in things if thing in seen}


def shortest(environment):
    """The fewest moves after which the answer is seen."""
    waiting = deque([(environment.start, 0)])
    while waiting:
        state, moves = waiting.popleft()
        if named(environment, state):
            return state, moves
        for move in environment.right_moves(state):
            after, _ = environment.step(state, move)
            if not after.stopped:
                waiting.append((after, moves + 1))
    return None, 0


def test_an_entry_shows_its_answer_after_one_to_three_moves():
    for environment in ENVIRONMENTS:
        state, moves = shortest(environment)
        assert 1 <= moves <= 3, environment.entry
        assert named(environment, state) == {environment.entry.answer.casefold().strip(".")}
        after, outcome = environment.step(state, environment.entry.answer)
        assert (outcome.category_evaluation, after.turns) == ("correct", moves + 1), environment.entry


@pytest.mark.parametrize("environment", ENVIRONMENTS[::4], ids=lambda item: item.world.name)
def test_the_clear_image_shows_the_answer_and_differs_from_the_first(environment):
    clear = Environment(environment.world, environment.entry, reference=True)
    assert len(named(clear, clear.start)) == 1
    images = [
        Image.open(BytesIO(IMAGES.load(item.world, item.path(item.start)))).crop(
            item.crop(item.start) or (0, 0, 320, 320)
        )
        for item in (environment, clear)
    ]
    assert images[0].tobytes() != images[1].tobytes()


def test_each_image_is_as_the_program_draws_it_with_the_description_that_it_gives():
    """By its colours: another version of Pillow may pack them otherwise."""
    folder = Path(str(FOLDER), "sample")
    seen = tomllib.loads((folder / "descriptions.toml").read_text())["seen"]
    with ZipFile(folder / "images.zip") as archive:
        assert {name: drawings.description(name) for name in archive.namelist()} == seen
        for name in archive.namelist():
            held, made = (Image.open(BytesIO(data)) for data in (archive.read(name), drawings.drawn(name)))
            assert held.tobytes() == made.tobytes(), name
