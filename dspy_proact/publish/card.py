"""The dataset card of a publication, with the metadata that the Hub reads, and its `eval.yaml`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dspy_proact.audit.check import AuditCheck
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.models import EMBEDDED
from dspy_proact.publish.markdown import code, table_lines, unmarked
from dspy_proact.publish.publishing import DataTable, Description, Owner, PublicationRecord, Publishing
from dspy_proact.report.numbers import counted

SPLIT = "test"
FRAMEWORK = "dspy-proact"
NOBODY = "Models wrote it and audited it. Nobody has reviewed it."
COLLECTED = "People wrote the user messages; models chose the triggers and wrote the rubrics. Nobody has reviewed it."
"""Of a corpus that was collected."""
_SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
_LANGUAGES = (
    "Arabic ar, Bengali bn, Bulgarian bg, Catalan ca, Chinese zh, Croatian hr, Czech cs, Danish da, Dutch nl, "
    "English en, Estonian et, Finnish fi, French fr, German de, Greek el, Hebrew he, Hindi hi, Hungarian hu, "
    "Indonesian id, Irish ga, Italian it, Japanese ja, Korean ko, Latvian lv, Lithuanian lt, Malay ms, Norwegian no, "
    "Persian fa, Polish pl, Portuguese pt, Romanian ro, Russian ru, Serbian sr, Slovak sk, Slovenian sl, Spanish es, "
    "Swahili sw, Swedish sv, Tamil ta, Thai th, Turkish tr, Ukrainian uk, Urdu ur, Vietnamese vi"
)
_CODES = {name.lower(): short for name, short in (pair.split() for pair in _LANGUAGES.split(", "))}
"""ISO 639-1 codes by English names."""


@dataclass(frozen=True)
class CardFacts:
    """All that card, datasheet and metadata are written from."""

    record: PublicationRecord
    description: Description
    owner: Owner
    declared: Benchmark[Any, Any]
    publishing: Publishing
    models: Mapping[str, Sequence[str]]
    """Names by role."""
    checks: Sequence[AuditCheck]
    """Of an audit of what is published."""
    files: Sequence[str]
    """Names of the files of data."""

    @property
    def tables(self) -> list[DataTable]:
        """Those that loaders read, and that have a row."""
        return [table for table in self.publishing.tables if table.lines and table.files in self.files]

    @property
    def language_code(self) -> str | None:
        """ISO 639-1; None where it is not known."""
        return language_code(self.description.language)


def language_code(language: str) -> str | None:
    """The ISO 639-1 code of a language by its English name, or itself where it is one; None for another."""
    name = language.strip().lower()
    return name if name in _CODES.values() else _CODES.get(name)


def yaml_of(value: Any) -> str:
    """A value as YAML on one line: JSON is YAML."""
    return json.dumps(value, ensure_ascii=False)


def reviewed_by(facts: CardFacts) -> str:
    """What people have said of the corpus, or that nobody has; with its denominators."""
    reviews = facts.record.reviews
    if reviews is None:
        return COLLECTED if facts.description.collected else NOBODY
    text = (
        f"{counted(reviews.reviewers, 'person', 'people')} reviewed {reviews.reviewed} of {reviews.items} items as "
        f"models wrote them: {reviews.accepted} accepted, {reviews.edited} edited, {reviews.rejected} rejected and "
        "left out."
    )
    if reviews.twice:
        text += f" Of {reviews.twice} that two or more reviewed, {reviews.agreeing} were decided alike by all."
    else:
        text += " No item was reviewed by two people, so that their agreement is unknown."
    return text


def card(facts: CardFacts) -> str:
    """`README.md`: metadata for the Hub, what it is, how it may be used, and what is known of it."""
    return "\n".join((*_front_matter(facts), "", *_body(facts))) + "\n"


def _front_matter(facts: CardFacts) -> Iterator[str]:
    rows = sum(facts.record.rows.values())
    size = next((name for most, name in _SIZES.items() if rows < most), "n>1M")
    yield "---"
    yield f"pretty_name: {yaml_of(unmarked(facts.record.title))}"
    yield f"license: {yaml_of(facts.record.licence)}"
    if facts.language_code:
        yield f"language: {yaml_of([facts.language_code])}"
    yield f"size_categories: {yaml_of([size])}"
    yield f"annotations_creators: {yaml_of(['machine-generated'])}"
    creators = ["found"] if facts.description.collected else ["machine-generated"]
    yield f"language_creators: {yaml_of(creators)}"
    yield f"source_datasets: {yaml_of(['original'])}"
    yield f"task_categories: {yaml_of(['text-generation'])}"
    kind = [] if facts.description.collected else ["synthetic"]
    yield f"tags: {yaml_of(['benchmark', *kind, 'proactive-assistants', FRAMEWORK, facts.declared.name])}"
    yield "configs:"
    for table in facts.tables:
        yield f"- config_name: {table.name}"
        if table is facts.tables[0]:
            yield "  default: true"
        yield "  data_files:"
        yield f"  - split: {SPLIT}"
        yield f"    path: {table.files}"
    yield "---"


def _body(facts: CardFacts) -> Iterator[str]:
    record, description, owner = facts.record, facts.description, facts.owner
    yield f"# {unmarked(record.title)}"
    yield ""
    yield f"{description.purpose} Made with `dspy-proact generate` in the form of {facts.declared.name}."
    yield ""
    yield f"**{stand_in(facts)}{reviewed_by(facts)}**"
    yield ""
    yield f"Benchmark data: it should never be in training data. Canary GUID {record.canary}"
    yield ""
    yield from table_lines(("what", "count"), description.counts)
    yield from ("", "## Use", "")
    yield "```python"
    yield "from dspy_proact import Evaluation"
    yield ""
    yield f'Evaluation("FOLDER", "MODEL", "JUDGE", benchmark={facts.declared.name!r}).run()'
    yield "```"
    yield ""
    yield (
        "FOLDER is a copy of this one. `dspy-proact eval` and `dspy-proact leaderboard` take it as their corpus too. "
        "`datasets.load_dataset` reads the same rows:"
    )
    yield ""
    yield from table_lines(
        ("configuration", "file", "rows", "a row is"),
        [(table.name, f"`{table.files}`", record.rows[table.name], table.about) for table in facts.tables],
    )
    yield ""
    yield (
        "`items.jsonl` says which model wrote what, `datasheet.md` answers the questions of Datasheets for Datasets, "
        "`croissant.json` describes the files, and `SHA256SUMS` has their hashes."
    )
    yield from ("", "## What is known about it", "")
    yield from checked(facts)
    yield from ("", "## What is held back", "")
    yield held_back(facts)
    yield from ("", "## Licence", "")
    yield from licences(facts)
    if owner.contact or owner.url:
        yield ""
        yield f"Published by {code(owner.contact or owner.url)}."


def checked(facts: CardFacts) -> Iterator[str]:
    """What was tested of the items, and what an audit of the published files shows."""
    yield from (f"- {sentence}" for sentence in (*facts.description.proof, *facts.description.limits))
    yield ""
    if not facts.checks:
        yield "No audit of these files was made."
        return
    yield "An audit of the files that are published:"
    yield ""
    yield from table_lines(
        ("check", "result", "what"),
        [(unmarked(check.name), check.state, unmarked(check.sentence)) for check in facts.checks],
    )


def held_back(facts: CardFacts) -> str:
    """What is not published, and how that can be proved later."""
    held, publishing = facts.record.held_back, facts.publishing
    if held is None:
        return "Nothing: all of it is here, and may get into training data."
    items, it = counted(held.items, *publishing.items), held.items == 1
    of = f"{held.groups} of {counted(held.groups + facts.record.groups, *publishing.groups)}"
    return (
        f"{items} of {of}, chosen by a hash, {'is' if it else 'are'} not in this folder and not published. The sha256 "
        f"of {'its' if it else 'their'} list of hashes is `{held.sha256}`, which proves later which "
        f"{'it was' if it else 'they were'}. `dspy-proact optimize` refuses {'it' if it else 'them'}."
    )


def stand_in(facts: CardFacts) -> str:
    """What is said where the embedded model wrote something, a sentence; else empty."""
    embedded = any(name == EMBEDDED for names in facts.models.values() for name in names)
    return "The embedded stand-in took part: this shows how publishing works and measures nothing. " if embedded else ""


def licences(facts: CardFacts) -> Iterator[str]:
    """The licence, and what the corpus was made from."""
    licence = facts.record.licence
    yield f"- This corpus: {code(licence)}." if licence != "unknown" else "- This corpus: its owner names no licence."
    yield from (f"- {attribution}" for attribution in facts.description.attributions)
    models = sorted({name for names in facts.models.values() for name in names})
    stated = f" Its owner states: {code(facts.owner.terms, 400)}." if facts.owner.terms else ""
    unstated = "" if stated else " Their providers' terms may limit what output is used for; the owner states none."
    texts = "Rubrics" if facts.description.collected else "Texts"
    yield f"- {texts} were written by {', '.join(map(code, models))}.{stated}{unstated}"


def held_back_card(record: PublicationRecord) -> str:
    """`README.md` of the part that is not published."""
    title = unmarked(record.title)
    lines = (
        f"# Held back: {title}",
        "",
        "Do not publish this folder, and send none of it to a model that may be trained on it.",
        "",
        f"{counted(record.items, 'item')} of the form of {record.benchmark}. `dspy-proact eval` scores it; "
        "`dspy-proact optimize` refuses it. The sha256 of `SHA256SUMS` stands in the card of the part that is "
        "published:",
        "",
        "```sh",
        "sha256sum -c SHA256SUMS && sha256sum SHA256SUMS",
        "```",
        "",
        f"Canary GUID {record.canary}",
    )
    return "\n".join(lines) + "\n"


def eval_yaml(facts: CardFacts) -> str:
    """`eval.yaml`, by which the Hub knows a benchmark: its tasks are configurations and splits of the dataset."""
    first = facts.tables[0]
    lines = (
        f"# Canary GUID {facts.record.canary}",
        f"name: {yaml_of(unmarked(facts.record.title))}",
        f"description: {yaml_of(unmarked(facts.description.purpose))}",
        f"evaluation_framework: {FRAMEWORK}",
        "metrics:",
        f"- id: {facts.publishing.metric}",
        "tasks:",
        f"- id: {first.name}",
        f"  config: {first.name}",
        f"  split: {SPLIT}",
    )
    return "\n".join(lines) + "\n"
