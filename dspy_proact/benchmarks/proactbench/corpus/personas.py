"""People who come to a product in a made corpus: bundled invented ones, those of a dataset, or one's own."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from dspy_proact.files.hub import hub_commit, hub_rows
from dspy_proact.files.personas import MOST_CHARACTERS, Persona, bundled_personas, names_a_file, personas_of

INVENTED, NEMOTRON = "invented", "nemotron"
DATASET = "nvidia/Nemotron-Personas-USA"
ATTRIBUTION = f"Personas: {DATASET} (huggingface.co/datasets/{DATASET}), NVIDIA, CC-BY-4.0; shortened."
"""What a corpus made from them has to say."""
_DRAWN = 1_000
"""The first rows of the dataset, from which personas come."""
_INSTEAD = 'use the bundled personas: personas = "invented"'


def require_known(named: str) -> str:
    """The name of personas; raises a `ValueError` for what names none and is no file's."""
    if named.partition("@")[0] in (INVENTED, NEMOTRON) or names_a_file(named):
        return named
    raise ValueError(
        f'{named!r} is not known; give "invented", "nemotron", or a file that ends in .txt, .csv or .jsonl'
    )


def attribution(named: str | Sequence[str]) -> str:
    """What a corpus that was made of the personas that a brief names has to say of them."""
    kind = named.partition("@")[0] if isinstance(named, str) else ""
    bundled = {NEMOTRON: ATTRIBUTION, INVENTED: "Personas: invented, bundled with dspy-proact, Apache-2.0."}
    return bundled.get(kind, "Personas: of the person who wrote the brief, who must be entitled to publish them.")


def read_personas(named: str | Sequence[str]) -> Sequence[Persona]:
    """Those that a brief names, in their order; raises a `CorpusError` where a dataset cannot be fetched.

    A brief whose file was read lists the texts themselves.
    """
    if not isinstance(named, str):
        return personas_of(named)
    kind, _, revision = named.partition("@")
    if kind == INVENTED:
        return _invented()
    commit = hub_commit(DATASET, revision or None, _INSTEAD)
    rows = hub_rows(DATASET, commit, ("uuid", "persona"), _DRAWN, _INSTEAD)
    return [Persona(key=str(row["uuid"]), text=str(row["persona"])[:MOST_CHARACTERS]) for row in rows]


@cache
def _invented() -> Sequence[Persona]:
    file = files("dspy_proact.benchmarks.proactbench").joinpath("data/generation/personas.txt")
    return bundled_personas(file.read_text("utf-8").splitlines())
