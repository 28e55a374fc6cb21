"""The corpus: entries of a folder, what is left out, and what is refused in a sentence."""

import json
import zipfile
import zlib

import pytest
from builders.images import claiming, quarters, saved
from fakes.hub import COMMIT, hub_of, printed
from PIL import Image
from pvb_entries import fields

from dspy_proact.benchmarks.proactivebench.corpus import kept_ids, read_corpus
from dspy_proact.benchmarks.proactivebench.entries import NAMES, WORLDS
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


def picture(path):
    """A small image, another one at each path."""
    kind = "PNG" if path.endswith(".png") else "JPEG"
    return saved(Image.new("L", (4, 4), zlib.crc32(path.encode()) % 256), kind)


def written(folder, *rows):
    """A folder of entries, and each image that they may show."""
    for name, changed in rows:
        file = folder / f"{WORLDS[name].loader}_preprocessed.jsonl"
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(fields(name, **changed)) + "\n")
        for path in IMAGES[name]:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(picture(path))
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
    assert {name: len(entries) for name, entries in corpus.entries.items()} == dict.fromkeys(NAMES, 4)
    assert (corpus.record.rows, corpus.record.cases, corpus.record.left_out) == (28, 28, {})
    assert corpus.images.load(WORLDS["ROD"], "bar/0-2.png").startswith(b"\x89PNG")
    assert corpus.images.description("bar/0-2.png", None) == "a grey block stands before everything"
    assert corpus.images.description("field/0.png", (0, 0, 9, 9)).startswith("a field, of which little")


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_must_have_each_image_that_an_entry_may_show_and_no_other(tmp_path, name):
    folder = written(tmp_path, (name, {}))
    corpus = read_corpus(folder, [name], filtered=False)
    assert {name: [entry.id for entry in entries] for name, entries in corpus.entries.items()} == {name: [7]}
    for path in IMAGES[name]:
        assert corpus.images.load(WORLDS[name], path) == picture(path)
        assert corpus.images.description(path, None) == ""
        (folder / path).rename(folder / "away")
        sentence = f"line 1, field 'image_template': its image {path!r}: is missing"
        assert refused(folder, name) == f"FOLDER/{WORLDS[name].loader}_preprocessed.jsonl, {sentence}"
        (folder / "away").rename(folder / path)


def test_entries_that_the_filter_drops_or_that_hide_nothing_are_left_out_and_counted(tmp_path):
    """The filter keeps 6 of VSOD, and neither 7 nor 8."""
    shown = {"id": 6, "strong_occlusions": False}
    folder = written(tmp_path, ("VSOD", {"id": 8}), ("VSOD", {"id": 9, "more": 1}), ("VSOD", shown))
    kept = read_corpus(folder, ["VSOD"], filtered=True)
    assert [entry.id for entry in kept.entries["VSOD"]] == [9]
    left_out = {"dropped by the paper's filter": 1, "seen well without a move (strong_occlusions: false)": 1}
    assert (kept.record.rows, kept.record.cases, kept.record.left_out) == (3, 1, left_out)
    assert kept.record.ignored_fields == {"more": 1}
    everything = read_corpus(folder, ["VSOD"], filtered=False)
    assert [entry.id for entry in everything.entries["VSOD"]] == [8, 9], "the third hides nothing"


def test_an_environment_of_which_nothing_is_kept_is_refused(tmp_path):
    folder = written(tmp_path, ("VSOD", {"id": 8}))
    with pytest.raises(CorpusError, match=r"holds no entry that is kept; `settings.filter=false` takes all"):
        read_corpus(folder, ["VSOD"], filtered=True)
    assert "there is no such file; give the test folder" in refused(folder, "ROD")


def test_an_id_that_stands_twice_is_refused(tmp_path):
    folder = written(tmp_path, ("COCO", {}), ("COCO", {"id": 8}), ("COCO", {}))
    assert refused(folder, "COCO").endswith("line 3, field 'id': 7 is the id of line 1 too")


def test_moves_of_other_environments_are_taken_where_they_are_asked_for(tmp_path):
    folder = written(tmp_path, ("COCO", {"options": ["Rewind the video.", "I do not know."]}))
    assert "must name one action, and names none" in refused(folder, "COCO")
    assert read_corpus(folder, ["COCO"], filtered=False, foreign=True).entries


def zipped(folder, path, inside="", rename=str):
    """The images of a folder in a zip in their place."""
    images = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix in (".png", ".jpg", ".gif")]
    with zipfile.ZipFile(path, "w") as archive:
        for image in images:
            archive.writestr(rename(f"{inside}{image.relative_to(folder).as_posix()}"), image.read_bytes())
            image.unlink()
    return path


@pytest.mark.parametrize("inside", ["", "QuickDraw/"])
def test_images_are_read_from_zips_whether_or_not_their_folder_stands_in_their_paths(tmp_path, inside):
    folder = written(tmp_path, ("QD", {}), ("QD", {"id": 8, "image_template": "QuickDraw/qd/{image}.png"}))
    if not inside:
        (folder / "QuickDraw_preprocessed.jsonl").write_text(json.dumps(fields("QD")) + "\n")
    zipped(folder, folder / "QuickDraw.zip", inside)
    (folder / "ChangeIt.zip").write_bytes(b"of another environment: it is not opened")
    before = sorted(folder.rglob("*"))
    corpus = read_corpus(folder, ["QD"], filtered=False)
    for entry in corpus.entries["QD"]:
        path = entry.image_template.replace("{image}", "0001")
        assert corpus.images.load(WORLDS["QD"], path) == picture("qd/0001.png")
    assert sorted(folder.rglob("*")) == before, "nothing is unpacked"


def test_a_zip_of_any_name_is_searched_where_none_begins_with_that_of_the_environment(tmp_path):
    folder = written(tmp_path, ("QD", {}), ("COCO", {}))
    zipped(folder, folder / "images.zip")
    corpus = read_corpus(folder, ["COCO", "QD"], filtered=False)
    assert [*corpus.entries] == ["COCO", "QD"]
    assert corpus.images.load(WORLDS["COCO"], "coco/1.jpg") == picture("coco/1.jpg")


def test_zips_that_are_cut_or_lack_an_image_or_hold_an_empty_or_enormous_one_are_refused(tmp_path):
    folder = written(tmp_path, ("COCO", {}))
    zipped(folder, folder / "coco2014.zip")
    content = (folder / "coco2014.zip").read_bytes()
    (folder / "coco2014.zip").write_bytes(content[:-30])
    assert refused(folder, "COCO").startswith("FOLDER/coco2014.zip: not a complete zip: ")
    row = "FOLDER/coco2014_preprocessed.jsonl, line 1, field 'image_template': its image 'coco/1.jpg':"
    for contents, problem in (
        ({"coco/1.jpg": b""}, "is empty: 0 bytes"),
        ({"coco/1.jpg": bytes((64 << 20) + 1)}, "larger than 67,108,864 bytes when unpacked"),
        ({"coco/2.jpg": picture("coco/2.jpg")}, "is missing"),
        ({}, "is missing"),
    ):
        with zipfile.ZipFile(folder / "coco2014.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in contents.items():
                archive.writestr(name, data)
        assert refused(folder, "COCO") == f"{row} {problem}"
    with zipfile.ZipFile(folder / "coco2014.zip", "w") as archive:
        archive.writestr("../coco/1.jpg", picture("coco/1.jpg"))
    leads = "FOLDER/coco2014.zip, ../coco/1.jpg: its path leads out of the archive; take it out"
    assert refused(folder, "COCO") == leads


FRAMES = {"save_all": True, "append_images": [Image.new("L", (4, 4), 9)]}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"<html>", "is no image of JPEG, PNG, WEBP, GIF, BMP"),
        (saved(Image.new("L", (4, 4))), "is a PNG, and no JPEG as its name says"),
        (claiming(10_000, 10_000), "has more than 40 megapixels; scale it down"),
        (saved(Image.new("L", (4, 4)), "GIF", **FRAMES), "is animated; give still images"),
        (saved(Image.new("L", (4, 4)), icc_profile=bytes(2 << 20)), "the image is damaged: Decompressed data too la"),
    ],
)
def test_an_image_that_is_not_taken_is_refused_with_the_row_that_names_it(tmp_path, data, problem):
    """As far as its beginning tells: it is not decoded."""
    jpeg = "JPEG" in problem
    path = "coco/1.jpg" if jpeg else "coco/1.png" if data.startswith(b"\x89PNG") else "coco/1.gif"
    folder = written(tmp_path, ("COCO", {"image_template": path}))
    (folder / path).write_bytes(data)
    zipped(folder, folder / "coco2014.zip")
    row = f"FOLDER/coco2014_preprocessed.jsonl, line 1, field 'image_template': its image {path!r}: "
    assert refused(folder, "COCO").startswith(row + problem)


def test_an_image_that_is_damaged_in_its_zip_is_refused_when_it_is_read(tmp_path):
    folder = written(tmp_path, ("COCO", {}))
    (folder / "coco/1.jpg").write_bytes(saved(Image.effect_noise((300, 300), 90), "JPEG"))
    path = zipped(folder, folder / "coco2014.zip")
    path.write_bytes(path.read_bytes().replace(b"\xff\xd9", b"\xff\xd8", 1))  # the end of the image
    images = read_corpus(folder, ["COCO"], filtered=False).images
    with pytest.raises(CorpusError, match=r"coco2014\.zip, coco/1\.jpg: cannot be unpacked: Bad CRC-32"):
        images.load(WORLDS["COCO"], "coco/1.jpg")


LOAD = """
import sys
from dspy_proact.benchmarks.proactivebench.corpus import read_corpus
from dspy_proact.benchmarks.proactivebench.entries import WORLDS
from dspy_proact.errors import CorpusError
for spec in sys.argv[1:]:
    try:
        corpus = read_corpus(spec, ["QD", "COCO"], filtered=False)
        paths = zip(corpus.entries, ["qd/0000.png", "coco/1.jpg"])
        loaded = [corpus.images.load(WORLDS[name], path) for name, path in paths]
        print(corpus.record.name, corpus.record.revision, corpus.record.cases, list(map(len, loaded)))
    except CorpusError as error:
        print("CorpusError", error)
"""


def test_the_official_dataset_is_fetched_at_a_revision_that_is_named_and_its_size_is_said_before(tmp_path):
    """Two files of entries and two zips are fetched, and neither the training part nor another environment's."""
    (tmp_path / "made").mkdir()
    files = dict[str, bytes]()
    for name in ("QD", "COCO", "CIT"):
        folder = written(tmp_path / "made", (name, {}))
        zipped(folder, folder / f"{WORLDS[name].loader}.zip")
        files |= {f"test/{path.name}": path.read_bytes() for path in folder.iterdir() if path.is_file()}
    wanted = {name for name in files if "ChangeIt" not in name}
    with hub_of("tdemin16/ProactiveBench", files | {"train/0.parquet": b"not wanted"}) as hub:
        specs = ("proactivebench", "proactivebench@main", "proactivebench@gone", "proactivebench@")
        text, loaded, gone, empty = printed(LOAD, tmp_path, *specs, HF_ENDPOINT=hub.url)
    (kept,) = printed(LOAD, tmp_path, f"proactivebench@{COMMIT}", HF_ENDPOINT=hub.url)
    assert kept == loaded, "without a hub"
    assert text == (
        "CorpusError tdemin16/ProactiveBench: 4 files, 0 MB, would be fetched; "
        f"`corpus=proactivebench@{COMMIT}` fetches them, or download its folder test and give the path of that folder"
    )
    assert loaded == f"proactivebench {COMMIT} 2 {[len(picture(path)) for path in ('qd/0000.png', 'coco/1.jpg')]}"
    assert {path.partition(f"{COMMIT}/")[2] for path in hub.fetched} == wanted
    assert gone.startswith("CorpusError tdemin16/ProactiveBench@gone: cannot be read (RevisionNotFoundError: ")
    assert empty == text


@pytest.mark.parametrize("path", ["../{image}.png", "/etc/{image}", "rod/../../{image}.png"])
def test_a_path_that_leads_out_of_the_folder_is_refused(tmp_path, path):
    folder = tmp_path / "inside"
    folder.mkdir()
    for number in range(4):
        (tmp_path / f"{number}.png").write_bytes(saved(quarters()))
    written(folder, ("ROD", {"image_template": path}))
    assert "leads out of the folder" in refused(folder, "ROD")


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path):
    folder = tmp_path / "inside"
    folder.mkdir()
    written(folder, ("COCO", {}))
    (tmp_path / "passport.jpg").write_bytes(saved(quarters(), "JPEG"))
    (folder / "coco/1.jpg").unlink()
    (folder / "coco/1.jpg").symlink_to(tmp_path / "passport.jpg")
    assert refused(folder, "COCO").endswith("its image 'coco/1.jpg': leads out of the folder")


def test_images_of_numbers_that_there_are_not_are_missing(tmp_path):
    """Five levels down from 3 are 3 to -1; of ROD's four images, which are counted from 0, none is number 4."""
    folder = written(tmp_path, ("IN-C", {"first_image": 3}), ("ROD", {"first_image": 4}))
    assert "its image 'inc/-1.jpg': is missing" in refused(folder, "IN-C")
    assert "its image 'rod/4.png': is missing" in refused(folder, "ROD")


def test_what_is_no_folder_is_refused_and_a_folder_has_no_revisions(tmp_path):
    assert refused(tmp_path / "nowhere", "ROD").startswith("FOLDER: no folder; give the test folder of")
    assert ": no folder; give" in refused("a\0b", "ROD")
    assert "leave the revision out" in refused(written(tmp_path, ("ROD", {})), "ROD", revision="c0ffee")
