"""Files of a made corpus that are written anew, deleted or refused; and what becomes of a slot."""

import asyncio
import json
from pathlib import Path
from typing import ClassVar

import pytest
from builders.notes import files, making
from support.notes_corpus import NotesBench, NotesMaker, NotesScript, read_brief
from support.provider import SimulatedProvider

from dspy_proact.errors import RunError
from dspy_proact.evaluation.benchmark import CorpusFacts
from dspy_proact.generation.attempt import Attempt, Mend
from dspy_proact.generation.maker import Making
from dspy_proact.generation.progress import CorpusForecast, CorpusObserver, CorpusProgress
from dspy_proact.generation.slots import SlotWork
from dspy_proact.kept import write_file
from dspy_proact.switch import Switch
from dspy_proact.types import Frozen


def test_a_file_that_a_person_has_changed_is_not_overwritten_and_one_that_is_gone_is_written_again(tmp_path):
    about, folder = tmp_path / "out" / "about.txt", tmp_path / "out"
    with SimulatedProvider(NotesScript()) as provider:
        making(provider).run(folder)
        written = files(folder)
        about.write_text("My own words.\n")
        for count in (4, 5):  # the same corpus, and one that grows
            with pytest.raises(RunError, match="was changed since it was written; move it away and repeat"):
                making(provider, items=count).run(folder)
        assert about.read_text() == "My own words.\n"
        assert json.loads((folder / "corpus.json").read_text())["items"] == 4
        about.unlink()
        assert making(provider).run(folder).paid == 0
    assert files(folder) == written


def test_a_command_that_ended_while_it_wrote_files_anew_goes_on(tmp_path, monkeypatch):
    def fails_at_items(path: Path, data: bytes) -> None:
        if path.name == "items.jsonl":
            raise RunError("no space left")
        write_file(path, data)

    with SimulatedProvider(NotesScript()) as provider:
        making(provider, items=3).run(tmp_path / "out")
        monkeypatch.setattr("dspy_proact.kept.known_files.write_file", fails_at_items)
        with pytest.raises(RunError, match="no space left"):
            making(provider, items=4).run(tmp_path / "out")
        assert (tmp_path / "out" / "about.txt").read_text() == "4 of 4 notes.\n"
        monkeypatch.undo()
        assert making(provider, items=5).run(tmp_path / "out").made.missing == 0
    assert (tmp_path / "out" / "about.txt").read_text() == "5 of 5 notes.\n"


class OneFile(NotesMaker):
    """Writes one file more, or in place of those in a folder."""

    more: ClassVar[str] = "../outside.txt"
    only: ClassVar[bool] = False

    def files(self, made):
        kept = {} if self.only else super().files(made)
        return {**kept, self.more: "a line\n"}


class OneFileBench(NotesBench):
    corpus = CorpusFacts(making=lambda: Making(read_brief, OneFile))


@pytest.mark.parametrize("name", ["../outside.txt", "/tmp/outside.txt", "link/x.txt", "calls.jsonl", "corpus.json"])
def test_no_file_of_a_maker_lies_outside_of_the_folder_or_takes_the_name_of_one_of_ours(tmp_path, monkeypatch, name):
    monkeypatch.setattr(OneFile, "more", name)
    with SimulatedProvider(NotesScript()) as provider:
        making(provider).run(tmp_path / "out")
        (tmp_path / "out" / "link").symlink_to(tmp_path)
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        with pytest.raises(RunError, match="no file of a corpus can be called"):
            making(provider, benchmark=OneFileBench()).run(tmp_path / "out")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_files_that_are_no_more_are_deleted_unless_a_person_has_changed_them(tmp_path, monkeypatch):
    """A proof that goes further may leave a task out, whose file would be read with the corpus."""
    monkeypatch.setattr(OneFile, "more", "notes/one.txt")
    with SimulatedProvider(NotesScript()) as provider:
        making(provider, items=2).run(tmp_path)
        assert {path.name for path in (tmp_path / "notes").iterdir()} == {"note-1-1.txt", "note-2-1.txt"}
        monkeypatch.setattr(OneFile, "only", True)
        (tmp_path / "notes" / "note-1-1.txt").write_text("My own words.")
        with pytest.raises(RunError, match=r"note-1-1.txt: was changed since it was written"):
            making(provider, benchmark=OneFileBench(), items=2).run(tmp_path)
        (tmp_path / "notes" / "note-1-1.txt").unlink()
        making(provider, benchmark=OneFileBench(), items=2).run(tmp_path)
    assert set(files(tmp_path)) == {"corpus.json", "items.jsonl", "notes/one.txt"}
    assert set(json.loads((tmp_path / "corpus.json").read_text())["files"]) == {"items.jsonl", "notes/one.txt"}


class Line(Frozen):
    text: str


class LineMaker:
    """Mends two stages at once, of which now one and now the other comes first."""

    def __init__(self, *stages: str):
        self.stages = stages

    async def begin(self, attempt: Attempt) -> Line:
        return Line(text=f"{attempt.slot} alone")

    def text(self, made: Line) -> str:
        return made.text

    async def finish(self, attempt: Attempt, begun: Line) -> Line:
        attempt.mends.extend(Mend(stage=stage, reasons=("It fails.",)) for stage in self.stages)
        return begun


def test_what_was_mended_stands_in_one_order_whichever_of_several_stages_came_first():
    def mends(*stages):
        progress = CorpusProgress(CorpusObserver(), CorpusForecast([], 1, 1), 1)
        work = SlotWork(LineMaker(*stages), lambda slot, number: Attempt(0, slot, number, {}, {}), progress, Switch())  # pyright: ignore[reportArgumentType]
        (kept,), _ = asyncio.run(work.run(1))
        return [mend.stage for mend in kept.mends]

    assert mends("review", "plan") == mends("plan", "review") == ["plan", "review"]
