"""People who come to a product in a made corpus: bundled invented ones, those of a dataset, or one's own."""

import re
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from dspy_proact.errors import CorpusError
from dspy_proact.files.hub import hub_commit, hub_rows
from dspy_proact.files.rows import lines_in, lines_of, read_bytes, text_of
from dspy_proact.files.sheets import CsvSheet
from dspy_proact.types import Frozen

INVENTED, NEMOTRON = "invented", "nemotron"
DATASET = "nvidia/Nemotron-Personas-USA"
ATTRIBUTION = f"Personas: {DATASET} (huggingface.co/datasets/{DATASET}), NVIDIA, CC-BY-4.0; shortened."
"""What a corpus made from them has to say."""
_DRAWN = 1_000
"""The first rows of the dataset, from which personas come."""
_COLUMNS = ("persona", "text", "description")
_FILE = re.compile(r".*\.(txt|csv|jsonl)", re.IGNORECASE)
_MOST_CHARACTERS = 2_000
"""Of a persona, which stands in many requests."""
_INSTEAD = 'use the bundled personas: personas = "invented"'


class Persona(Frozen):
    """Somebody who comes to the product."""

    key: str
    """By which dialogues of one persona are known: the unit of clustering."""
    text: str


def require_known(named: str) -> str:
    """The name of personas; raises a `ValueError` for what names none and is no file's."""
    if named.partition("@")[0] in (INVENTED, NEMOTRON) or _FILE.fullmatch(named):
        return named
    raise ValueError(
        f'{named!r} is not known; give "invented", "nemotron", or a file that ends in .txt, .csv or .jsonl'
    )


def personas_in(named: str | Sequence[str], folder: Path) -> list[str]:
    """The texts in a file, relative to the folder; none where no file is named. Raises a `CorpusError` likewise."""
    if not isinstance(named, str) or not _FILE.fullmatch(named):
        return []
    source = str(folder / named)
    data = read_bytes(source, "a file with a text for each persona")
    match Path(named).suffix.lower():
        case ".csv":
            sheet = CsvSheet.of(text_of(data, source), source)
            name = next((name for name in _COLUMNS if name in sheet.columns), None)
            if name is None:
                raise CorpusError(f"has no column {', '.join(_COLUMNS)}; name the one with the texts so", source=source)
            texts = [str((line.fields or {})[name]) for line in sheet.rows()]
        case ".jsonl":
            texts = list[str]()
            for line in lines_in(lines_of(data, source), source, "persona"):
                text = next((text for name in _COLUMNS if isinstance(text := line.parse().get(name), str)), None)
                if text is None:
                    raise line.error(f"has no text under {', '.join(_COLUMNS)}; name the field with the persona so")
                texts.append(text)
        case _:
            texts = [line.text for line in lines_in(lines_of(data, source), source)]
    texts = list(dict.fromkeys(text.strip()[:_MOST_CHARACTERS] for text in texts if text.strip()))
    if not texts:
        raise CorpusError("holds no persona; write a text for each, a line each", source=source)
    return texts


def read_personas(named: str | Sequence[str]) -> Sequence[Persona]:
    """Those that a brief names, in their order; raises a `CorpusError` where a dataset cannot be fetched.

    A brief whose file was read lists the texts themselves.
    """
    if not isinstance(named, str):
        return [Persona(key=sha256(text.encode()).hexdigest()[:16], text=text) for text in named]
    kind, _, revision = named.partition("@")
    if kind == INVENTED:
        return _invented()
    commit = hub_commit(DATASET, revision or None, _INSTEAD)
    rows = hub_rows(DATASET, commit, ("uuid", "persona"), _DRAWN, _INSTEAD)
    return [Persona(key=str(row["uuid"]), text=str(row["persona"])[:_MOST_CHARACTERS]) for row in rows]


@cache
def _invented() -> Sequence[Persona]:
    file = files("dspy_proact.benchmarks.proactbench").joinpath("data/generation/personas.txt")
    lines = file.read_text("utf-8").splitlines()
    return [Persona(key=f"invented-{number:02}", text=line) for number, line in enumerate(lines, start=1)]
