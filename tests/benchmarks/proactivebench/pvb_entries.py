"""Entries of ProactiveBench's environments that tests make."""

import json

from dspy_proact.benchmarks.proactivebench.entries import WORLDS, RawEntry
from dspy_proact.benchmarks.proactivebench.environment import Environment
from dspy_proact.files.rows import Line

CATEGORIES = ["A cat", "A dog", "A hen", "A fox"]
_OWN = {
    "ROD": {
        "image_template": "rod/{image}.png",
        "options": ["Move the block to the left.", "I do not know.", "Move the block to the right."],
    },
    "VSOD": {
        "image_template": "vsod/{image}.jpg",
        "options": ["Rewind the video.", "Wait for the man to pass.", "I cannot tell."],
    },
    "MVP-N": {
        "image_template": "mvpn/{informative}_{image}.png",
        "options": ["Rotate the object.", "I cannot tell."],
        "first_image": 30,
        "valid_images": [30, 31, 35],
        "num_images": 3,
    },
    "IN-C": {
        "image_template": "inc/{level}.jpg",
        "options": ["Deblur the image.", "Denoise the image.", "I do not know."],
        "first_image": 5,
        "quality_answer": "Denoise the image.",
        "num_images": 5,
    },
    "QD": {
        "image_template": "qd/{image}.png",
        "options": ["Add more details.", "I do not know."],
        "first_image": 0,
        "num_images": 3,
    },
    "CIT": {
        "image_template": "cit/{image}.jpg",
        "options": ["Rewind the video.", "Wait for the action to appear.", "I do not know."],
        "first_image": 0,
        "num_images": 6,
        "step_size": 2,
        "max_steps": 4,
    },
    "COCO": {
        "image_template": "coco/1.jpg",
        "options": ["Move the camera to the left.", "Move the camera up.", "I do not know."],
        "num_images": 1,
        "first_image": 0,
        "direction": "left_up",
        "granularity": 2,
        "horizontal_step": 10,
        "vertical_step": 20,
        "crop": {"top": 200, "left": 180, "height": 300, "width": 260},
    },
}


def fields(name, **changed):
    """An entry's fields as a file has them, with changes; one that is None is left out."""
    plain = {
        "id": 7,
        "prompt": "What is it?",
        "categories": CATEGORIES,
        "answer": "A dog",
        "reference_image": 0,
        "first_image": 2,
        "num_images": 4,
    }
    return {field: value for field, value in (plain | _OWN[name] | changed).items() if value is not None}


def entry(name, foreign=False, **changed):
    line = Line("entries.jsonl", 3, json.dumps(fields(name, **changed)))
    return RawEntry.of(line).checked(line, WORLDS[name], foreign)


def environment(name, upstream=False, reference=False, **changed):
    return Environment(WORLDS[name], entry(name, **changed), upstream, reference)
