"""The corpus: entries of a folder, what is left out, and what is refused in a sentence."""

import json

import pytest
from pictures import quarters, saved
from pvb_entries import fields

from dspy_proact.benchmarks.proactivebench.corpus import kept_ids, read_corpus
from dspy_proact.benchmarks.proactivebench.entries import NAMES, WORLDS
from dspy_proact.benchmarks.proactivebench.sample import drawn
from dspy_proact.errors import CorpusError

IMAGES = {
    "ROD": [f"rod/{number}.png" for number in range(4)],
    "VSOD": [f"vsod/{number:04}.jpg" for number in range(4)],
    "MVP-N": ["mvpn/0_0030.png", "mvpn/0_0031.png", "mvpn/1_0035.png", "mvpn/1_0000.png"],
    "IN-C": [f"inc/{number}.jpg" for number in (5, 4, 3, 2, 1, 0)],
    "QD": [f"qd/{number:04}.png" for number in range(3)],
    "CIT": [f"cit/{number}.jpg" for number in (0, 2, 4)],
    "COCO": ["coco/1.jpg"],
}
"""Paths of the images that the entries of `pvb_entries` may show, worked by hand; the last of IN-C is the clear one."""


def written(folder, *rows):
    """A folder of entries, with a small file as each image that they may show."""
    for name, changed in rows:
        file = folder / f"{WORLDS[name].loader}_preprocessed.jsonl"
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(fields(name, **changed)) + "\n")
        for path in IMAGES[name]:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(f"the image {path}".encode())
    return folder


def refused(folder, name, **more):
    with pytest.raises(CorpusError) as error:
        read_corpus(folder, [name], filtered=False, **more)
    return str(error.value).replace(str(folder), "FOLDER")


def test_the_filter_is_the_papers(data):
    listed = json.loads((data / "proactivebench" / "filter.json").read_text())
    assert kept_ids() == {name: set(listed[world.loader]) for name, world in WORLDS.items()}
    assert sum(map(len, kept_ids().values())) == 7_557


def test_the_sample_is_read_whole_whatever_the_filter():
    corpus = read_corpus("sample", NAMES, filtered=True)
    assert [world.name for world, _ in corpus.entries] == [name for name in NAMES for _ in range(4)]
    assert (corpus.record.rows, corpus.record.cases, corpus.record.left_out) == (28, 28, {})
    rod, field = WORLDS["ROD"], WORLDS["COCO"]
    assert corpus.images.load(rod, "bar/0-2.png") == drawn("bar/0-2.png")
    assert corpus.images.description(rod, "bar/0-2.png", None) == "a grey block stands before everything"
    assert corpus.images.description(field, "field/0.png", (0, 0, 9, 9)).startswith("a field, of which little")


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_must_have_each_image_that_an_entry_may_show_and_no_other(tmp_path, name):
    folder = written(tmp_path, (name, {}))
    corpus = read_corpus(folder, [name], filtered=False)
    assert [(world.name, entry.id) for world, entry in corpus.entries] == [(name, 7)]
    for path in IMAGES[name]:
        assert corpus.images.load(WORLDS[name], path) == f"the image {path}".encode()
        assert corpus.images.description(WORLDS[name], path, None) == ""
        (folder / path).rename(folder / "away")
        sentence = f"line 1, field 'image_template': its image {path!r} is missing"
        assert refused(folder, name) == f"FOLDER/{WORLDS[name].loader}_preprocessed.jsonl, {sentence}"
        (folder / "away").rename(folder / path)


def test_entries_that_the_filter_drops_or_that_hide_nothing_are_left_out_and_counted(tmp_path):
    """The filter keeps 6 of VSOD, and neither 7 nor 8."""
    shown = {"id": 6, "strong_occlusions": False}
    folder = written(tmp_path, ("VSOD", {"id": 8}), ("VSOD", {"id": 9, "more": 1}), ("VSOD", shown))
    kept = read_corpus(folder, ["VSOD"], filtered=True)
    assert [entry.id for _, entry in kept.entries] == [9]
    left_out = {"dropped by the paper's filter": 1, "seen well without a move (strong_occlusions: false)": 1}
    assert (kept.record.rows, kept.record.cases, kept.record.left_out) == (3, 1, left_out)
    assert kept.record.ignored_fields == {"more": 1}
    everything = read_corpus(folder, ["VSOD"], filtered=False)
    assert [entry.id for _, entry in everything.entries] == [8, 9], "the third hides nothing"


def test_an_environment_of_which_nothing_is_kept_is_refused(tmp_path):
    folder = written(tmp_path, ("VSOD", {"id": 8}))
    with pytest.raises(CorpusError, match="holds no entry that is kept; --set filter=false takes all"):
        read_corpus(folder, ["VSOD"], filtered=True)
    assert "there is no such file; give the test folder" in refused(folder, "ROD")


def test_an_id_that_stands_twice_is_refused(tmp_path):
    folder = written(tmp_path, ("COCO", {}), ("COCO", {"id": 8}), ("COCO", {}))
    assert refused(folder, "COCO").endswith("line 3, field 'id': 7 is the id of line 1 too")


def test_moves_of_other_environments_are_taken_where_they_are_asked_for(tmp_path):
    folder = written(tmp_path, ("COCO", {"options": ["Rewind the video.", "I do not know."]}))
    assert "must name one action, and names none" in refused(folder, "COCO")
    assert read_corpus(folder, ["COCO"], filtered=False, foreign=True).entries


@pytest.mark.parametrize("path", ["../{image}.png", "/etc/{image}", "rod/../../{image}.png"])
def test_a_path_that_leads_out_of_the_folder_is_refused(tmp_path, path):
    folder = tmp_path / "inside"
    folder.mkdir()
    for number in range(4):
        (tmp_path / f"{number}.png").write_bytes(saved(quarters()))
    written(folder, ("ROD", {"image_template": path}))
    assert "would lie outside of the folder" in refused(folder, "ROD")


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path):
    folder = tmp_path / "inside"
    folder.mkdir()
    written(folder, ("COCO", {}))
    (tmp_path / "passport.jpg").write_bytes(saved(quarters(), "JPEG"))
    (folder / "coco/1.jpg").unlink()
    (folder / "coco/1.jpg").symlink_to(tmp_path / "passport.jpg")
    assert refused(folder, "COCO").endswith("its image 'coco/1.jpg' is a link that leads out of the folder")


def test_what_is_no_folder_is_refused_and_a_folder_has_no_revisions(tmp_path):
    assert refused(tmp_path / "nowhere", "ROD").startswith("FOLDER: no folder; give the test folder of")
    assert refused("a\0b", "ROD") == r"'a\x00b': not a path: it holds a NUL character"
    assert "leave the revision out" in refused(written(tmp_path, ("ROD", {})), "ROD", revision="c0ffee")
