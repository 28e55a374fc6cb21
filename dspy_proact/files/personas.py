"""People of whom made corpora tell: the texts about them that a person gives in a file or a list."""

import re
from collections.abc import Sequence
from hashlib import sha256
from io import StringIO
from pathlib import Path

from dspy_proact.errors import CorpusError
from dspy_proact.files.rows import lines_in, lines_of, read_bytes, text_of
from dspy_proact.files.sheets import CsvSheet
from dspy_proact.types import Frozen

MOST_CHARACTERS = 2_000
"""Of a persona, which stands in many requests."""
_COLUMNS = ("persona", "text", "description")
_FILE = re.compile(r".*\.(txt|csv|jsonl)", re.IGNORECASE)


class Persona(Frozen):
    """Somebody of whom items of a corpus are made."""

    key: str
    """By which items of one persona are known: the unit of clustering."""
    text: str


def names_a_file(named: str) -> bool:
    """Whether a text is the name of a file that may hold personas."""
    return _FILE.fullmatch(named) is not None


def personas_in(named: str | Sequence[str], folder: Path) -> list[str]:
    """The texts in a file, relative to the folder; none where no file is named. Raises a `CorpusError` likewise."""
    if not isinstance(named, str) or not names_a_file(named):
        return []
    source = str(folder / named)
    data = read_bytes(source, "a file with a text for each persona")
    match Path(named).suffix.lower():
        case ".csv":
            sheet = CsvSheet.of(StringIO(text_of(data, source)), source)
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
    texts = list(dict.fromkeys(text.strip()[:MOST_CHARACTERS] for text in texts if text.strip()))
    if not texts:
        raise CorpusError("holds no persona; write a text for each, a line each", source=source)
    return texts


def personas_of(texts: Sequence[str]) -> list[Persona]:
    """People known by their texts alone, whose keys are hashes of these."""
    return [Persona(key=sha256(text.encode()).hexdigest()[:16], text=text) for text in texts]


def bundled_personas(lines: Sequence[str]) -> list[Persona]:
    """People of a bundled file, known by the numbers of their lines."""
    return [Persona(key=f"invented-{number:02}", text=line) for number, line in enumerate(lines, start=1)]
