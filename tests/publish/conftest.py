"""A made corpus to publish, and its two parts."""

import shutil
from pathlib import Path

import pytest
from builders.made_corpus import made_corpus, middle_share

from dspy_proact.publish.publication import publish


@pytest.fixture
def mine(tmp_path):
    """A copy of a made corpus, which a test may change."""
    return Path(shutil.copytree(made_corpus(), tmp_path / "mine"))


@pytest.fixture
def both(mine, tmp_path):
    """The part that is published, and the one that is held back."""
    made = publish(mine, tmp_path / "public", held_back=middle_share(mine))
    assert made.held_back is not None
    return made.path, made.held_back
