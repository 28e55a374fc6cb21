"""A folder that one run or compile has to itself."""

import os
import signal
from pathlib import Path
from typing import Any, Literal

import pytest
from drivers.child import Child
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from dspy_proact.errors import RunError
from dspy_proact.kept import Claim, Claimed, Identified


class Journey(Identified):
    """What makes two journeys the same."""

    goal: str = "Ithaca"
    ship: dict[str, Any] = Field(default={"oars": 50})
    crew: tuple[str, ...] = ()


class Plan(Claimed[Journey]):
    """What the file says."""

    format: Literal[3] = 3
    weather: str = "fair"


PLAN = Plan(identity=Journey())


def claim(folder: Path) -> Claim[Plan]:
    return Claim(folder, "plan.json", Plan, "journey")


def claimed(folder: Path, plan: Plan = PLAN) -> Path:
    with claim(folder).held(plan.identity):
        claim(folder).write(plan)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refusal(folder: Path, identity: Identified = PLAN.identity) -> str:
    """Why a folder is not given, which changes nothing in it."""
    before = contents(folder)
    with pytest.raises(RunError) as caught, claim(folder).held(identity):
        pass
    assert contents(folder) == before
    return str(caught.value)


def test_a_free_folder_is_made_and_claimed_and_given_again(tmp_path: Path):
    folder = tmp_path / "deep" / "journey"
    assert claim(folder).check(PLAN.identity) is None
    assert not folder.exists()
    with claim(folder).held(PLAN.identity) as before:
        assert before is None
        claim(folder).write(PLAN)
    with claim(folder).held(PLAN.identity) as before:
        assert before == PLAN
    assert claim(folder).exists
    assert claim(folder).read() == claim(folder).check(PLAN.identity) == PLAN


def test_what_stands_beside_the_identity_decides_nothing(tmp_path: Path):
    folder = claimed(tmp_path, PLAN.model_copy(update={"weather": "foul"}))
    with claim(folder).held(PLAN.identity) as before:
        assert before.weather == "foul"


def test_another_identity_is_refused_by_the_names_of_what_differs_and_touches_nothing(tmp_path: Path):
    folder = claimed(tmp_path / "x")
    (folder / "log.jsonl").write_bytes(b'{"torn')
    other = Journey(goal="Troy", ship={"oars": 50, "sail": True})
    assert refusal(folder, other) == (
        f'{folder}: holds another journey, which differs in goal ("Ithaca" there, "Troy" here), ship.sail (nothing '
        "there, true here); "
        "name another folder with `out`, or omit `out`"
    )
    claimed(folder)  # the refusal did not keep the lock


@pytest.mark.parametrize("name", ["thesis.txt", ".hidden", "log.jsonl", "plan.json.old", "plan.json.x.new"])
def test_a_folder_with_anything_else_in_it_is_refused(tmp_path: Path, name: str):
    (tmp_path / "lock").touch()
    (tmp_path / name).write_text("mine", encoding="utf-8")
    assert refusal(tmp_path) == f"{tmp_path}: not empty and not a journey; name another folder with `out`"


def test_what_one_leaves_that_was_killed_while_it_claimed_the_folder_is_no_obstacle(tmp_path: Path):
    for name in ("lock", "plan.json.4711.new"):
        (tmp_path / name).touch()
    assert claim(claimed(tmp_path)).read() == PLAN


@pytest.mark.parametrize("below", [".", "journey", "deep/journey"])
def test_a_file_in_place_of_the_folder_or_above_it_is_named(tmp_path: Path, below: str):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    path = tmp_path / "file" / below
    with pytest.raises(RunError) as caught, claim(path).held(PLAN.identity):
        pass
    assert str(caught.value).startswith(f"{path}: cannot be written: ")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "plan.json: Invalid JSON"),
        (b"\xff", "plan.json: Invalid JSON"),
        (b"{}", "plan.json: field 'identity': Field required"),
        (b'{"identity": {"goal": 1}}', "plan.json: field 'identity.goal': "),
        (b'{"format": 2}', "plan.json: field 'format': made by another version"),
    ],
)
def test_a_damaged_file_is_named_and_not_begun_anew(tmp_path: Path, content: bytes, problem: str):
    (claimed(tmp_path) / "plan.json").write_bytes(content)
    assert problem in refusal(tmp_path)


def test_where_nothing_was_claimed_there_is_nothing_to_read(tmp_path: Path):
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "missing", tmp_path / "file" / "below"):
        assert not claim(path).exists
        with pytest.raises(RunError, match=r"no journey here \(no plan\.json\)"):
            claim(path).read()


def hold_and_die(folder: str) -> None:
    """What the child of a test does."""
    with claim(Path(folder)).held(PLAN.identity):
        os.kill(os.getpid(), signal.SIGKILL)


def test_two_do_not_hold_one_folder_and_a_killed_one_leaves_it_free(tmp_path: Path):
    with claim(tmp_path).held(PLAN.identity):
        assert refusal(tmp_path) == f"{tmp_path}: another process is writing this journey"
    assert Child(hold_and_die, tmp_path).ended().returncode == -signal.SIGKILL
    assert claim(claimed(tmp_path)).read() == PLAN


# Identities.

VALUES = st.one_of(st.none(), st.integers(-2, 2), st.lists(st.integers(0, 1), max_size=2), st.text(max_size=2))
SHIPS = st.dictionaries(st.sampled_from("abc"), VALUES | st.dictionaries(st.sampled_from("xy"), VALUES), max_size=3)
JOURNEYS = st.builds(Journey, goal=st.text(max_size=2), ship=SHIPS, crew=st.lists(st.text(max_size=1), max_size=2))


@given(JOURNEYS, JOURNEYS)
def test_identities_differ_in_something_exactly_when_their_digests_do(one: Journey, other: Journey):
    assert bool(one.differences(other)) == (one.digest() != other.digest())
    assert one.differences(other) == {name: (b, a) for name, (a, b) in other.differences(one).items()}


def test_differences_give_both_values_as_json_and_none_for_a_missing_one():
    one, other = Journey(ship={"oars": 50, "hull": {"wood": "oak"}}), Journey(ship={"oars": 20}, crew=("Elpenor",))
    assert one.differences(other) == {
        "crew": ("[]", '["Elpenor"]'),
        "ship.hull.wood": ('"oak"', None),
        "ship.oars": ("50", "20"),
    }
