"""What PROBE says in reports beside what is said of every benchmark."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dspy_proact.benchmarks.probe.report.failures import MODES, modes_of
from dspy_proact.benchmarks.probe.scoring import ESSENTIAL, FURTHER, ProbeGrade
from dspy_proact.report.numbers import share
from dspy_proact.report.particulars import Column, Grounds, Particulars, Section, View
from dspy_proact.runs import GivenVerdict, Outcome

_CONTENT = {"email": ("subject", "body"), "event": ("title", "description"), "document": ("title", "content")}
"""By kind, the fields that hold title and text."""
_ADDRESSED = ("sender", "to", "cc", "timestamp", "start_time", "end_time", "location", "attendees")


def alike(one: View, other: View) -> bool:
    """Whether two views are of one task, whatever the ids and the order of its items; sanitized or not."""
    right = [view["gold"]["description"] for view in (one, other)]
    return right[0] == right[1] and one["world"] == other["world"] and one["actions"] == other["actions"]


def sections(view: View) -> Iterator[Section]:
    """The person's world, the items with the right ones marked, the actions, and the gold answer."""
    world, gold, at = view["world"], view["gold"], view["world"]["organisation"]
    place = f"{at['company_name']}, {at['department']} ({at['team_size']}), reports to {at['reporting_to']}"
    lists = ("current_priorities", "pain_points", "communication_preferences")
    known = [(world["person"], f"{world['occupation']}. {world['about']}"), ("works at", place)]
    known += [(name.replace("_", " "), "\n".join(world[name])) for name in lists if world[name]]
    known += [(each["name"], f"{each['type']}: {each['relationship_context']}") for each in world["relationships"]]
    yield Section("world", "terms", tuple(known))
    yield Section("documents", "terms", tuple(_item(item, item["id"] in gold["evidence"]) for item in view["items"]))
    actions = ((each["id"], f"{each['description']} ({', '.join(each['required'])})") for each in view["actions"])
    yield Section("actions", "terms", tuple(actions))
    facets = [(name, gold["facets"][name] or "does not apply") for name in (*ESSENTIAL, *FURTHER) if gold["facets"]]
    right = [("evidence", ", ".join(gold["evidence"])), ("bottleneck", gold["description"]), *facets]
    parameters = ((name, _value(value)) for name, value in gold["parameters"].items())
    yield Section("gold", "terms", (*right, ("action", gold["action"]), *parameters))


def _item(item: Mapping[str, Any], right: bool) -> tuple[str, str]:
    """Id and kind of an item, and its lines."""
    title, text = _CONTENT[item["kind"]]
    addressed: dict[str, str | list[str]] = {name: item[name] for name in _ADDRESSED if item.get(name)}
    lines = [
        f"{name.replace('_', ' ')}: {value if isinstance(value, str) else ', '.join(value)}"
        for name, value in addressed.items()
    ]
    named = f"{item['id']} ({item['kind']}{', evidence' if right else ''})"
    return named, "\n".join([item[title], *lines, item[text]])


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def answer(kept: str) -> str:
    """What an agent names, found and does, a paragraph each."""
    solution = json.loads(kept)
    parameters = [f"{name}: {_value(value)}" for name, value in solution["parameters"].items()]
    parts = (
        solution["bottleneck"] or "(no bottleneck)",
        "\n".join([solution["action"] or "(no action)", *parameters]),
        f"evidence: {', '.join(solution['evidence']) or '(none)'}",
    )
    return "\n\n".join(parts)


def grounds(verdict: GivenVerdict) -> Grounds:
    """What counting found and what the judges said of an answer."""
    grade = ProbeGrade.model_validate(verdict.detail)
    reasons = [each.reasoning for each in (grade.identified, grade.resolved) if each]
    return Grounds("\n\n".join(reasons), points=tuple(_points(grade)))


def _points(grade: ProbeGrade) -> Iterator[tuple[str, str]]:
    """The findings in the order of the stages; what is empty is left out."""
    search, touched, identified, resolved = grade.search, grade.touched, grade.identified, grade.resolved
    yield "search", f"precision {share(search.precision)}, recall {share(search.recall)}, F1 {share(search.f1)} %"
    yield from _listed({"missed": grade.missed, "wrong": grade.wrong, "of no item": grade.unknown})
    if touched != search:
        yield "touched", f"precision {share(touched.precision)}, recall {share(touched.recall)} %"
    yield "identification", f"{grade.identification:g}"
    if identified:
        yield "its word", identified.judgment
        yield from identified.facets.model_dump().items()
    taken = "right" if grade.action_right else f"not {grade.expected_action}"
    yield "action", f"{grade.action or '(none)'}: {taken}"
    yield "task", f"{grade.task:g}"
    if resolved:
        yield "would resolve", resolved.would_resolve
        wrong = {"parameters missing": resolved.missing, "parameters incorrect": resolved.incorrect}
        yield from _listed({**wrong, "in other words": resolved.semantic_matches})
    yield from _listed({"required and not given": grade.lacking, "faults": grade.faults})
    yield from _listed({"given by an oracle": () if grade.oracle == "none" else (grade.oracle,)})
    yield from _listed({"fails by": [MODES[mode] for mode in modes_of(grade)]})


def _listed(named: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    return ((name, ", ".join(values)) for name, values in named.items() if values)


def _of_grade(name: str, of: Callable[[ProbeGrade], str | None]) -> Column:
    def value(_: Outcome, verdict: GivenVerdict | None) -> str | None:
        return of(ProbeGrade.model_validate(verdict.detail)) if verdict else None

    return Column(name, "string", value)


def _right(outcome: Outcome, _: GivenVerdict | None) -> str | None:
    return outcome.view["gold"]["action"] if outcome.view else None


PARTICULARS = Particulars(
    earned="solved",
    foremost=frozenset({"precision", "recall", "f1", "identification", "task"}),
    notes=(
        "weighted: the paper's overall, .334 F1 + .333 identification + .333 task; task is the paper's headline. A "
        "pass is ours, strictly end to end: some of the evidence, the whole bottleneck, the whole resolution.",
        "read: of answers that could be read, as published; elsewhere an answer that is missing or malformed counts "
        "0. touched: of all that its tools returned. word apart: share of verdicts whose word is another than what "
        "their facets come to. unknown ids, faulty answers: a task; fewer is better.",
    ),
    breakdowns=("person",),
    alike=alike,
    case_columns=(Column("right_action", "string", _right),),
    verdict_columns=(
        _of_grade("judgment", lambda grade: grade.identified.judgment if grade.identified else None),
        _of_grade("action", lambda grade: grade.action),
        _of_grade("missed", lambda grade: " ".join(grade.missed)),
        _of_grade("wrong", lambda grade: " ".join(grade.wrong)),
        _of_grade("faults", lambda grade: " ".join(grade.faults)),
        _of_grade("failure_modes", lambda grade: " ".join(modes_of(grade))),
    ),
    detail=lambda _: ProbeGrade,
    answer=answer,
    sections=sections,
    grounds=grounds,
)
