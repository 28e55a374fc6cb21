"""A file of a compiled program whose fields are edited one by one: none is believed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import assistants, judges
from builders.item_scores import of_assistant, of_judge

from dspy_proact import AssistantTarget, Compile, JudgeTarget
from dspy_proact.errors import UsageError
from dspy_proact.programs.artefact import checksum_of, read_artefact

GONE: Any = object()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The files of a judge and of an assistant that were compiled by the stand-in."""
    targets = {"judge": JudgeTarget(judges.study(per_persona=2)), "assistant": AssistantTarget(assistants.few())}
    recipes = {"judge": judges.recipe("labeled"), "assistant": assistants.recipe(trials=2)}
    folder = tmp_path_factory.mktemp("made")
    return {role: Compile(target, recipes[role]).run(folder / role).path for role, target in targets.items()}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a document that holds no other, and of every object and list."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))


def others(value: Any) -> list[Any]:
    """What may stand in the place of a value: another of its type, or one more, and nothing."""
    if isinstance(value, dict):
        return [{**value, "more": 1}, GONE]
    if isinstance(value, list):
        return [[*value, *(value[-1:] or [1])], GONE]
    if isinstance(value, bool) or value is None:
        return [not value, GONE]
    if isinstance(value, float) and 0 < value <= 1:
        return [value / 2, GONE]
    return [value + "x" if isinstance(value, str) else value + 1, GONE]


def edited(document: Any, *below: str) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The document with one field changed, added or removed, below a path; it is the same object each time."""
    root = document
    for name in below:
        root = root[name]
    for path in list(leaves(root)):
        if path:
            *above, key = path
            holder = root
            for part in above:
                holder = holder[part]
            before = dict(holder) if isinstance(holder, dict) else list(holder)
            for value in others(before[key]):
                if value is GONE:
                    del holder[key]
                else:
                    holder[key] = value
                yield (*below, *path), document
                if isinstance(holder, dict):
                    holder.clear()
                    holder.update(before)
                else:
                    holder[:] = before


def numbers(card: Any) -> Any:
    """Every number that its items decide, and what is claimed; without words."""
    rows = [
        (row.count, row.total, row.unit, row.low98, row.p, row.low98_unread, row.margin, interval(row.before),
         interval(row.after), interval(row.difference), [interval(number) for number in row.beside.values()])
        for row in (card.target, *card.rows)
    ]  # fmt: skip
    tokens = [(usage.prompt_tokens, usage.completion_tokens) for usage in (card.usage_before, card.usage_after)]
    counts = card.items, card.controls, card.group_count, card.target_groups, card.unscored, card.raters
    claim = card.shown, card.reach, card.headline.side, card.headline.claim["value"]
    return rows, tokens, counts, claim, card.fold_scores, card.item_scores.evidence


def interval(number: Any) -> tuple[Any, ...]:
    return number.value, number.low, number.high


def refusal(file: Path) -> str:
    """With which sentence a file is refused; empty where it is not."""
    try:
        read_artefact(file)
    except UsageError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("role", ["judge", "assistant"])
def test_a_file_in_which_any_one_field_was_changed_added_or_removed_is_refused(made, tmp_path, role):
    document, file, count = json.loads(made[role].read_text("utf-8")), tmp_path / "edited.json", 0
    assert read_artefact(made[role]).role == role
    for path, changed in edited(document):
        file.write_text(json.dumps(changed), "utf-8")
        assert refusal(file), path
        count += 1
    assert count > 500


@pytest.mark.parametrize("role", ["judge", "assistant"])
def test_with_a_checksum_of_its_own_no_field_but_an_items_scores_changes_a_number_or_the_claim(made, tmp_path, role):
    document, file = json.loads(made[role].read_text("utf-8")), tmp_path / "edited.json"
    before, read = numbers(read_artefact(made[role]).card), 0
    for path, changed in edited(document):
        if path[0] == "checksum" or path[:2] == ("card", "item_scores"):
            continue
        file.write_text(json.dumps({**changed, "checksum": checksum_of(changed)}), "utf-8")
        try:
            card = read_artefact(file).card
        except UsageError:
            continue
        assert numbers(card) == before, path
        read += 1
    assert read > 30


@pytest.mark.parametrize("role", ["judge", "assistant"])
def test_no_edit_of_one_score_makes_a_claim_of_few_items(made, tmp_path, role):
    document, file, read = json.loads(made[role].read_text("utf-8")), tmp_path / "edited.json", 0
    for path, changed in edited(document, "card", "item_scores"):
        if path[2] in ("calls_before", "calls_after", "evidence_before", "evidence_after", "folds"):
            continue  # of which no claim is made
        file.write_text(json.dumps({**changed, "checksum": checksum_of(changed)}), "utf-8")
        try:
            card = read_artefact(file).card
        except UsageError:
            continue
        assert not card.shown, path
        read += 1
    assert read > 30


@pytest.mark.parametrize("scores", [of_judge(6, groups=9), of_judge(4), of_assistant(14), of_assistant(60, groups=9)])
def test_however_good_few_items_or_groups_claim_nothing(scores):
    card = (judges if scores.parts else assistants).card(scores)
    assert card.target.difference.value > 0.3
    assert (card.shown, card.headline.side) == (False, None)
    assert "No improvement is claimed" in card.headline.text
    assert card.reach is None


def test_a_kept_start_claims_nothing_whatever_its_folds_gained():
    assert judges.card().shown
    assert not judges.card(unchanged=True).shown


LARGE = 10**400


def per_item(name: str, value: Any) -> Any:
    """Scores of items in which each item has this value under a name."""
    return lambda scores: scores | {name: [value] * len(scores["groups"])}


def in_columns(value: float) -> Any:
    """Scores of items with this number in place of each that is known, before, of words and tokens."""

    def of(column: Any) -> Any:
        before = [number if number is None else value for number in column["before"]]
        return column if column["kind"] in ("score", "controls") else column | {"before": before}

    return lambda scores: scores | {"columns": [*map(of, scores["columns"])]}


@pytest.mark.parametrize(
    ("role", "change", "fault"),
    [
        *((role, per_item(f"calls_{side}", [[count, 3]]), "card.item_scores.calls_") for role, side, count in
          (("judge", "before", -5), ("assistant", "after", -5), ("judge", "after", LARGE))),
        ("judge", per_item("stratum", -1), "a judge has no control cases"),
        ("assistant", in_columns(1e308), "beyond 1e.100"),
    ],
)  # fmt: skip
def test_scores_of_which_no_numbers_can_be_made_are_refused_when_they_are_read(made, tmp_path, role, change, fault):
    """With a checksum of its own; they used to end `optimize show` in the middle of its work."""
    document, file = json.loads(made[role].read_text("utf-8")), tmp_path / "edited.json"
    document["card"]["item_scores"] = change(document["card"]["item_scores"])
    file.write_text(json.dumps({**document, "checksum": checksum_of(document)}), "utf-8")
    with pytest.raises(UsageError, match=fault):
        read_artefact(file)
