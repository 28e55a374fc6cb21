"""`croissant.json`: what the files of a publication hold, by Croissant 1.1 (mlcommons.org/croissant/1.1)."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dspy_proact.publish.card import FRAMEWORK, CardFacts, reviewed_by
from dspy_proact.publish.markdown import unmarked
from dspy_proact.publish.publishing import CANARY_FIELD, DataTable, Row

_CROISSANT = "http://mlcommons.org/croissant/"
_OF_CROISSANT = (
    "arrayShape citeAs column containedIn equivalentProperty extract field fileProperty fileObject fileSet format "
    "includes isArray isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace "
    "samplingRate separator source subField transform"
)
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": _CROISSANT,
    "rai": f"{_CROISSANT}RAI/",
    "dct": "http://purl.org/dc/terms/",
    "sc": "https://schema.org/",
    **{name: f"cr:{name}" for name in _OF_CROISSANT.split()},
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
}
_NO_PEOPLE = "None is known: models wrote the people in it, from personas."
"""The `@context` of the specification."""
_FORMATS = {"jsonl": "application/jsonlines", "json": "application/json"}
_TYPES = {str: "sc:Text", bool: "sc:Boolean", int: "sc:Integer", float: "sc:Float"}


def croissant(facts: CardFacts, files: Mapping[str, str], rows: Mapping[str, Sequence[Row]]) -> str:
    """The metadata of files of data, by name, and of the rows of the tables in them."""
    record, owner, description = facts.record, facts.owner, facts.description
    creator = {"@type": "sc:Organization", "name": unmarked(owner.contact or "not named")}
    stated = {
        "license": "" if record.licence == "unknown" else record.licence,
        "url": owner.url,
        "datePublished": owner.date,
        "inLanguage": facts.language_code,
    }
    document = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [f"{_CROISSANT}1.1", f"{_CROISSANT}RAI/1.0"],
        "name": unmarked(record.title),
        "description": f"{description.purpose} Benchmark data, never for training. Canary GUID {record.canary}",
        "version": "1.0.0",
        "keywords": ["benchmark", *([] if description.collected else ["synthetic"]), FRAMEWORK, facts.declared.name],
        "citeAs": f"{unmarked(record.title)}, made with dspy-proact {record.dspy_proact}, {record.corpus[:16]}",
        "creator": creator,
        **{name: value for name, value in stated.items() if value},
        "rai:dataCollection": description.method,
        "rai:dataAnnotationProtocol": reviewed_by(facts),
        "rai:dataUseCases": list(description.uses),
        "rai:dataLimitations": list(description.limits),
        "rai:personalSensitiveInformation": description.collected or _NO_PEOPLE,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "contentUrl": name,
                "encodingFormat": _FORMATS[name.rpartition(".")[2]],
                "sha256": hashlib.sha256(text.encode()).hexdigest(),
            }
            for name, text in sorted(files.items())
        ],
        "recordSet": [_record_set(table, rows[table.name]) for table in facts.tables],
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _record_set(table: DataTable, rows: Sequence[Row]) -> dict[str, Any]:
    """A table by its columns that are one value, and the texts inside the others that it names."""
    return {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": table.about,
        "field": [*_fields(table, rows)],
    }


def _fields(table: DataTable, rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    first: Row = {**rows[0], CANARY_FIELD: ""}
    for column, value in first.items():
        if (kind := _TYPES.get(type(value))) and all(type(row.get(column, value)) is type(value) for row in rows):
            yield _field(table, column, kind, {"extract": {"column": column}})
    for name, (column, path) in table.arrays.items():
        source = {"extract": {"column": column}, "transform": {"jsonPath": path}}
        yield {**_field(table, name, "sc:Text", source), "isArray": True, "arrayShape": "-1"}


def _field(table: DataTable, name: str, kind: str, source: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{table.name}/{name}",
        "name": name,
        "dataType": kind,
        "source": {"fileObject": {"@id": table.files}, **source},
    }
