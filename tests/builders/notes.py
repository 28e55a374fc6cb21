"""Corpora of notes, made over HTTP: a generation of four, and what must be equal in their folders."""

from pathlib import Path

from support.notes_corpus import NotesBench

from dspy_proact import Gate, Generation, ModelSpec
from dspy_proact.calls import Price


def making(provider, **options):
    spec = ModelSpec(name="openai/any", api_base=provider.base("any"), price=Price(prompt=1e-6, completion=1e-6))
    gate = options.pop("gate", None) or Gate(retries=0, backoff=0.001)
    return Generation(**{"model": spec, "items": 4, "gate": gate, "benchmark": NotesBench(), **options})


def files(folder: Path) -> dict[str, bytes]:
    """All that must be equal."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name not in ("calls.jsonl", "lock"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}
