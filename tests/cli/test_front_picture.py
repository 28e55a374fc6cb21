"""The picture that a compile of the assistant leaves: its candidates, by score and unwanted offers."""

from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import pytest

from dspy_proact.cli.views.card import draw_front
from dspy_proact.errors import UsageError
from dspy_proact.programs.artefact import read_artefact
from dspy_proact.programs.card import CandidateCard

ARTEFACT = Path(__file__).parents[2] / "optimize" / "programs" / "assistant-embedded.json"
SVG = "{http://www.w3.org/2000/svg}"


def candidate(score, offers, *broken, chosen=False):
    return CandidateCard(score=score, share=1, harm=offers, broken=broken, chosen=chosen)


def finished(folder, *candidates):
    """What is drawn: the path of an artefact and its card."""
    return folder / "assistant.json", read_artefact(ARTEFACT).card.model_copy(update={"candidates": candidates})


def picture(*candidates):
    with TemporaryDirectory() as folder:
        path = draw_front(*finished(Path(folder), *candidates))
        return path.read_text(encoding="utf-8")


def shown(*candidates):
    """Name to whether it is marked."""
    root = ElementTree.fromstring(picture(*candidates))
    circles = list(root.iter(f"{SVG}circle"))
    names = [each.find(f"{SVG}title").text.partition(": ")[0] for each in circles]
    return dict(zip(names, (each.get("fill") != "#ffffff" for each in circles), strict=True))


def test_the_front_is_marked_and_what_is_beaten_is_not():
    # The last has the score of the second and more offers.
    drawn = shown(candidate(0.2, 0.0), candidate(0.8, 0.3, chosen=True), candidate(0.8, 1.0))
    assert drawn == {"start": True, "chosen": True, "candidate 3": False}


def test_candidates_in_one_place_are_one_point():
    drawn = shown(candidate(0.2, 0.0), candidate(0.2, 0.0), candidate(0.2, 0.0, chosen=True), candidate(0.5, 0.5))
    assert drawn == {"start, chosen and 1 alike": True, "candidate 4": True}


def test_the_start_that_was_chosen_is_one_candidate():
    drawn = shown(candidate(0.2, 0.0, chosen=True), candidate(0.9, 0.9, "offers"), candidate(0.9, 0.9))
    assert drawn == {"start, chosen": True, "candidate 2 and 1 alike (breaks offers)": True}


def test_what_was_not_looked_at_is_not_drawn():
    assert shown(candidate(0.2, 0.0, chosen=True), candidate(0.4, None), candidate(0.3, 0.1)) == {
        "start, chosen": True,
        "candidate 3": True,
    }


def test_it_says_that_nothing_was_tested_and_that_a_stand_in_was_at_work():
    text = " ".join(ElementTree.fromstring(picture(*read_artefact(ARTEFACT).card.candidates)).itertext())
    assert "not tested" in text
    assert "embedded stand-in" in text


def test_without_unwanted_offers_there_is_no_picture(tmp_path):
    assert draw_front(*finished(tmp_path, candidate(0.2, None, chosen=True), candidate(0.4, None))) is None
    assert not (tmp_path / "front.svg").exists()


def test_a_folder_that_is_gone_is_a_sentence(tmp_path):
    gone = finished(tmp_path / "gone", candidate(0.2, 0.0, chosen=True), candidate(0.4, 0.1))
    with pytest.raises(UsageError, match=r"front\.svg: cannot be written"):
        draw_front(*gone)


def test_a_compile_leaves_it_beside_the_artefact_and_says_where(proactbench, proact, tmp_path):
    status, _, told = proact("optimize", "assistant", "--trials", "2", "--max-demos", "0", "--folds", "2", "--out", "c")
    assert status == 0
    assert "The candidates are drawn in c/front.svg." in told
    ElementTree.fromstring((tmp_path / "c" / "front.svg").read_text(encoding="utf-8"))
