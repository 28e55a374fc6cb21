"""Images in zips, on their way to a server that reads what is on them."""

import json
import re
import zipfile
from collections import Counter, defaultdict
from statistics import mean

import pytest
from builders.images import images_of, saved
from PIL import Image
from pvb_entries import fields
from pvb_server import FULL_SIZE, Player, Seen, drawn, write_corpus

from dspy_proact import Evaluation, Gate, ModelSpec
from dspy_proact.benchmarks.proactivebench.entries import NAMES
from dspy_proact.benchmarks.proactivebench.trajectory import ProactiveBenchSettings, Trajectory
from dspy_proact.runs import RunFolder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Four entries of each environment; in each the answer of one is the first category."""
    return write_corpus(tmp_path_factory.mktemp("corpus"))


def run(server, corpus, out, plays, width=8, **settings):
    """What the server saw in each request, and the events by case."""
    server.script = player = Player(plays)
    model = ModelSpec(name="openai/gpt-4o", api_base=server.assistant)
    gate = Gate(retries=0, concurrency=width)
    chosen = ProactiveBenchSettings(filter=False, **settings)
    Evaluation(str(corpus), model, benchmark="proactivebench", settings=chosen, gate=gate).run(out)
    stages = defaultdict[str, dict](dict)
    for event in RunFolder(out).events():
        stages[event.key.case][event.key.stage] = event
    return player.seen, stages


def means(stages, part=None):
    """The score or a part of each environment, in the order of the paper."""
    result = defaultdict[str, list[float]](list)
    for case, of in stages.items():
        grade = of["verdict"].grade
        result[case.partition("/")[0]].append(grade.parts[part] if part else grade.score)
    return [mean(result[name]) for name in NAMES if name in result]


def test_images_arrive_unbroken_from_zips_that_several_threads_read(server, corpus, tmp_path):
    """Each image says in squares what it is of: each step of a sample shows its own, one a request."""
    seen, stages = run(server, corpus, tmp_path / "run", "ask")
    arrived = defaultdict[str, list](list)
    for (image,) in seen:
        arrived[f"{image.name}/{image.id}"].append(image.number)
    assert len(arrived) == len(stages) == 4 * len(NAMES)
    for case, numbers in arrived.items():
        steps = Trajectory.model_validate(stages[case]["response"].answer).steps
        # In the paths of the other entries: the entry's id, and the number of the image before its ending.
        named = [0 if "whole" in step.image else int(re.findall(r"\d+", step.image)[-1]) for step in steps]
        assert numbers == named, case
    # By hand: the last move of each list, as long as there is one.
    assert means(stages, "interventions") == [4, 4, 2, 4, 2, 4, 2]


def test_who_chooses_at_random_comes_to_the_closed_form(server, tmp_path):
    """Of VSOD's 7 options 2 go on and 1 is right, four times; of QD's 6 it is 1 and 1, three times, the last without.

    VSOD: right 1/7 x (1 + 2/7 + 4/49 + 8/343) = 477/2401, moves 2/7 + ... + 16/2401 = 954/2401.
    QD: right 1/6 x (1 + 1/6 + 1/36) = 43/216, moves 1/6 + 1/36 = 7/36.
    Of 60 entries the standard errors are 0.05, and 0.09 for VSOD's moves; allowed are four.
    """
    corpus = write_corpus(tmp_path, range(60), ("VSOD", "QD"))
    _, stages = run(server, corpus, tmp_path / "run", "random", width=1, environments=("VSOD", "QD"))
    assert means(stages) == pytest.approx([477 / 2401, 43 / 216], abs=0.2)
    moves = means(stages, "interventions")
    assert moves[0] == pytest.approx(954 / 2401, abs=0.35)
    assert moves[1] == pytest.approx(7 / 36, abs=0.2)


def test_images_arrive_within_the_bound_and_crops_as_they_grow(server, corpus, tmp_path):
    """COCO shows 397 + 1 of 400 pixels each way, then a row more above, and then a column more at the left."""
    seen, _ = run(server, corpus, tmp_path / "small", "answer", longest=64)
    assert {image.size for sent in server.sent for image in images_of(sent)} == {(64, 64)}
    assert {Seen("COCO", 3, 0), Seen("IN-C", 0, 5)} <= {image for images in seen for image in images}
    server.sent.clear()
    run(server, corpus, tmp_path / "crops", "ask", environments=("COCO",))
    sizes = Counter(image.size for sent in server.sent for image in images_of(sent))
    assert sizes == {(398, 398): 4, (398, 399): 4, (399, 399): 4}


_JPEG, _PNG = (saved(drawn(Seen("COCO", 2, 0)), kind) for kind in ("JPEG", "PNG"))
BAD = {
    "cut.jpg": (_JPEG[:3000], "the image is damaged: image file is truncated"),
    "cut.png": (_PNG[:200], "the image is damaged: "),
    "scans.jpg": (_JPEG[:-2] + b"\xff\xda" * 200 + _JPEG[-2:], "is a JPEG of more than 200 scans"),
}
"""Images whose beginnings are well, by their names; what is wrong with others is said before a run begins."""


def write_images(folder, images):
    """Entries of COCO by their ids, the image of each of which is in a zip."""
    with zipfile.ZipFile(folder / "coco2014.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in images.values():
            archive.writestr(f"coco/{name}", data)
    rows = [fields("COCO", id=id_, image_template=f"coco/{name}", **FULL_SIZE) for id_, (name, _) in images.items()]
    (folder / "coco2014_preprocessed.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def test_a_bad_image_is_a_sentence_with_its_file_and_no_call(server, tmp_path):
    good = ("good.jpg", saved(drawn(Seen("COCO", 1, 0)), "JPEG"))
    bad = {number: (name, data) for number, (name, (data, _)) in enumerate(BAD.items(), start=2)}
    write_images(tmp_path, {1: good, **bad})
    seen, stages = run(server, tmp_path, tmp_path / "run", "answer", environments=("COCO",))
    assert seen == [[Seen("COCO", 1, 0)]]
    assert stages["COCO/1"]["verdict"].grade.score == 1
    for number, (name, _) in bad.items():
        failure = stages[f"COCO/{number}"]["response"].failure
        assert (failure.kind, failure.reason) == ("content", "image")
        assert failure.detail.startswith(f"{tmp_path / 'coco2014.zip'}, coco/{name}: ")
        assert BAD[name][1] in failure.detail
        assert failure.detail.isprintable()


def test_an_image_arrives_turned_as_its_notes_say_and_without_them(server, tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # it is seen when it is turned by 90 degrees clockwise
    turned = drawn(Seen("COCO", 1, 0)).transpose(Image.Transpose.ROTATE_90)
    write_images(tmp_path, {1: ("1.png", saved(turned, exif=exif, icc_profile=b"a profile"))})
    seen, _ = run(server, tmp_path, tmp_path / "run", "answer", environments=("COCO",))
    assert seen == [[Seen("COCO", 1, 0)]]
    (image,) = images_of(server.sent[0])
    assert not {"exif", "icc_profile"} & set(image.info)
