"""The official dataset, from a hub that is played by a server in the layout that its README describes."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hub import COMMIT, Hub, hub_of, printed
from probe_files import files, in_zips


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    folder = tmp_path / "hub"
    folder.mkdir()
    in_zips(folder, files(key="a") | files(key="b"))
    zips = {path.name: path.read_bytes() for path in folder.iterdir()}
    with hub_of("gilfastino/PROBE", zips | {"README.md": b"not wanted"}) as hub:
        yield hub


LOAD = """
import sys
from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.errors import CorpusError
for spec in sys.argv[1:]:
    try:
        corpus = load_tasks(spec)
        print(corpus.name, corpus.revision, [entry.key for entry in corpus.entries])
    except CorpusError as error:
        print("CorpusError", error)
"""


loaded = partial(printed, LOAD)
"""One line a spec."""


def test_the_zips_are_fetched_at_the_commit_that_is_recorded(tmp_path: Path, hub: Hub):
    expected = f"probe {COMMIT} ['a', 'b']"
    assert loaded(tmp_path, "probe", "probe@main", HF_ENDPOINT=hub.url) == [expected] * 2
    assert hub.fetched
    assert all(COMMIT in path and path.endswith(".zip") for path in hub.fetched)


def test_what_cannot_be_reached_is_told_with_what_to_do_instead(tmp_path: Path, hub: Hub):
    (gone,) = loaded(tmp_path, "probe@gone", HF_ENDPOINT=hub.url)
    assert gone.startswith("CorpusError gilfastino/PROBE@gone: cannot be read (RevisionNotFoundError: ")
    assert gone.endswith("; try again, or download its two zips and give the path of their folder")
    (offline,) = loaded(tmp_path, "probe", HF_HUB_OFFLINE="1")
    assert offline.startswith("CorpusError gilfastino/PROBE: cannot be read (OfflineModeIsEnabled: ")
