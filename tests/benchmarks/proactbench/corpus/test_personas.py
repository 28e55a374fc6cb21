"""Personas come with the package, from a file beside the brief, or from a dataset."""

import datasets
import huggingface_hub
import pytest

from dspy_proact.benchmarks.proactbench.corpus import personas
from dspy_proact.benchmarks.proactbench.corpus.personas import read_personas
from dspy_proact.errors import CorpusError
from dspy_proact.files.personas import personas_in


def test_the_bundled_ones_are_24_different_people():
    bundled = read_personas("invented")
    assert len({persona.key for persona in bundled}) == len({persona.text for persona in bundled}) == 24
    assert len({persona.text.partition(":")[0] for persona in bundled}) == 24


FILES = {
    "people.txt": "Ada, a nurse\n\nBo, a cook\nAda, a nurse\n",
    "people.csv": "name;persona\n1;Ada, a nurse\n2;Bo, a cook\n",
    "people.jsonl": '{"text": "Ada, a nurse"}\n{"persona": "Bo, a cook", "text": "other"}\n',
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_has_a_text_for_each_and_a_persona_once(tmp_path, name):
    (tmp_path / name).write_text(FILES[name])
    texts = personas_in(name, tmp_path)
    assert texts == ["Ada, a nurse", "Bo, a cook"]
    assert [persona.text for persona in read_personas(texts)] == texts


BAD = {
    "empty.txt": ("\n", "holds no persona; write a text for each"),
    "other.csv": ("who,age\nAda,3\n", "has no column persona, text, description"),
    "other.jsonl": ('{"persona": 3}\n', "line 1: has no text under persona, text, description"),
    "torn.jsonl": ('{"persona": "a"}\n{"persona', "line 2: not JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_without_personas_is_refused(tmp_path, name):
    text, message = BAD[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(CorpusError, match=message):
        personas_in(name, tmp_path)


def test_those_of_the_dataset_are_its_first_rows_at_a_commit(tmp_path, monkeypatch):
    rows = [{"uuid": f"id-{number}", "persona": f"Person {number}", "sex": "x"} for number in range(5)]
    datasets.Dataset.from_list(rows).to_parquet(tmp_path / "train-00000-of-00001.parquet")
    load = datasets.load_dataset
    seen = []

    def local(name, *, revision, **more):
        seen.append((name, revision))
        return load("parquet", data_files=str(tmp_path / "*.parquet"), **more)

    monkeypatch.setattr(datasets, "load_dataset", local)
    monkeypatch.setattr(personas, "_DRAWN", 3)
    commit = "0123456789" * 4
    drawn = read_personas(f"nemotron@{commit}")
    assert [(persona.key, persona.text) for persona in drawn] == [(f"id-{n}", f"Person {n}") for n in range(3)]
    assert seen == [("nvidia/Nemotron-Personas-USA", commit)]


def test_without_a_network_the_bundled_ones_are_named(monkeypatch):
    def refuse(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", refuse)
    with pytest.raises(CorpusError, match='or use the bundled personas: personas = "invented"'):
        read_personas("nemotron")
