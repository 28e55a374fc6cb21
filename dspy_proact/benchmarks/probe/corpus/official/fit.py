"""Whether what is right of a task fits what is given."""

from collections.abc import Iterator

from dspy_proact.benchmarks.probe.corpus.official.input import RawInput, RawPerson
from dspy_proact.benchmarks.probe.corpus.official.output import RawOutput
from dspy_proact.benchmarks.probe.corpus.task import Action, Gold
from dspy_proact.plain_text import shown


def unfit(given: RawInput, right: RawOutput) -> Iterator[tuple[str, str]]:
    """Field of the output and problem wherever it does not fit its input."""
    for name in RawPerson.model_fields:
        here, there = getattr(right.world_model, name), getattr(given.world_model, name)
        if here != there:
            yield f"world_model.{name}", f"{shown(here)}, while the input is of {shown(there)}; the two are no pair"
    gold, ids = right.gold(), {each.id for each in given.data_points}
    for index, each in enumerate(gold.evidence):
        if each not in ids:
            yield f"true_positive_ids[{index}]", f"{shown(each)} is none of the input's {len(ids)} items"
    yield from _unfit_action(gold, given.actions(), ids, right.criteria_path)


def _unfit_action(gold: Gold, actions: tuple[Action, ...], ids: set[str], path: str) -> Iterator[tuple[str, str]]:
    taken = next((each for each in actions if each.id == gold.action), None)
    if taken is None:
        yield f"{path}.correct_action", f"{shown(gold.action)} is none of the input's {len(actions)} actions"
        return
    for name, item in (gold.supported_by or {}).items():
        if name not in gold.parameters:
            yield f"{path}.supported_by", f"{shown(name)} is none of the parameters"
        elif item not in ids:
            yield f"{path}.supported_by", f"{shown(item)} is none of the input's {len(ids)} items"


def foreign(given: RawInput, right: RawOutput) -> Iterator[tuple[str, str]]:
    """Field of the output and problem wherever a parameter is not of the right action; `unfit` must be empty.

    The official generator takes the action from one step and the parameters from another, and does not compare them.
    """
    gold = right.gold()
    (taken,) = [each for each in given.actions() if each.id == gold.action]
    for name in gold.parameters:
        if name not in taken.required:
            has = ", ".join(map(shown, taken.required)) or "none"
            problem = f"the action {shown(taken.id)} has no parameter {shown(name)}; it has {has}"
            yield f"{right.criteria_path}.correct_parameters", problem
