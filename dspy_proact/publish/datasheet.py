"""The datasheet of a publication: the seven questions of Gebru et al., Datasheets for Datasets (arXiv:1803.09010)."""

from collections.abc import Iterator

from dspy_proact.plain_text import encodable
from dspy_proact.publish.card import CardFacts, checked, held_back, licences, reviewed_by, stand_in
from dspy_proact.publish.markdown import block, code, table_lines, unmarked
from dspy_proact.publish.publishing import PUBLICATION


def datasheet(facts: CardFacts) -> str:
    """`datasheet.md`."""
    record = facts.record
    head = (
        f"# Datasheet: {unmarked(record.title)}",
        "",
        f"Benchmark data: it should never be in training data. Canary GUID {record.canary}",
    )
    sections = {
        "Motivation": _motivation,
        "Composition": _composition,
        "Collection": _collection,
        "Preprocessing, cleaning and labelling": _labelling,
        "Uses": _uses,
        "Distribution": _distribution,
        "Maintenance": _maintenance,
    }
    lines = [*head]
    for title, section in sections.items():
        lines += ["", f"## {title}", "", *section(facts)]
    return encodable("\n".join(lines) + "\n")


def _motivation(facts: CardFacts) -> Iterator[str]:
    yield f"{facts.description.purpose} It was made with `dspy-proact generate` from a brief that a person wrote."
    if facts.description.product:
        yield ""
        yield "What it is about, in the owner's words:"
        yield ""
        yield block(facts.description.product)


def _composition(facts: CardFacts) -> Iterator[str]:
    yield facts.description.instance
    yield ""
    yield from table_lines(("what", "count"), facts.description.counts)
    yield ""
    yield f"- Language: {code(facts.description.language)}"
    yield f"- Recommended split: all of it is for testing. {held_back(facts)}"
    people = "Models wrote the people in it, from personas; generating it collected nothing from people."
    yield f"- {facts.description.collected or people}"


def _collection(facts: CardFacts) -> Iterator[str]:
    yield facts.description.method
    yield ""
    rows = [(role, ", ".join(map(code, names))) for role, names in facts.models.items()]
    yield from table_lines(("role", "model"), rows)
    yield ""
    yield (
        "`items.jsonl` has the model, the stage and the sha256 of the prompt of every answer, and how many attempts "
        f"failed. `{PUBLICATION}` has the sha256 of all that decided how it was made."
    )


def _labelling(facts: CardFacts) -> Iterator[str]:
    yield f"{stand_in(facts)}{reviewed_by(facts)}"
    if facts.record.reviews and facts.record.reviews.edited:
        yield ""
        yield "`edits.jsonl` has what models wrote beside what people made of it."
    yield ""
    yield from checked(facts)


def _uses(facts: CardFacts) -> Iterator[str]:
    yield from (f"- {use}" for use in facts.description.uses)


def _distribution(facts: CardFacts) -> Iterator[str]:
    yield from licences(facts)
    if facts.owner.date:
        yield f"- Published on {facts.owner.date}."
    yield f"- Keep the canary GUID with every copy: {facts.record.canary}"


def _maintenance(facts: CardFacts) -> Iterator[str]:
    yield f"- Maintained by {code(facts.owner.contact)}." if facts.owner.contact else "- No maintainer is named."
    yield "- A corrected corpus is another one: its hash differs, and scores on the two are not comparable."
