"""How items are dealt into folds: by whole units, balanced by those that are tuned for."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from builders import judges
from builders.assistants import DECLARED, KEY, at, corpus, dialogue, few, items_of, of_phases, recipe
from builders.dialogues import Row, jsonl
from builders.judges import TUNING, study
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact import Corpus, JudgeTarget, Phase
from dspy_proact.compile.folds import balanced_folds, split
from dspy_proact.errors import UsageError


def folds_of(items, phases, how):
    inputs = {"count": how.folds, "seed": how.seed, "nouns": DECLARED.nouns}
    return balanced_folds(items, of_phases(items, phases), TUNING.units(items), **inputs)


def read(*rows: Row) -> Corpus:
    return Corpus.of(jsonl(*rows).splitlines(), name="a corpus", source="here")


def of_persona(persona: int, number: int, triggers: dict[int, Phase]) -> Row:
    """One of several dialogues of a persona, of a scenario of its own."""
    made = dialogue(persona, triggers, turns=7)
    return made | {"unique_id_eval": f"{KEY}{persona}-{number}", "scenario_id": f"SCENARIO_{number:02d}"}


def test_the_items_of_an_assistant_are_the_triggers_and_then_the_control_turns_by_persona():
    probes = items_of(corpus(2))
    assert [(probe.key, probe.stratum) for probe in probes] == [
        (f"{KEY}0__t2", Phase.EMERGENT),
        (f"{KEY}0__t6", Phase.RECOVERY),
        (f"{KEY}1__t2", Phase.EMERGENT),
        (f"{KEY}1__t6", Phase.RECOVERY),
        (f"{KEY}0__t4", "CONTROL"),
        (f"{KEY}1__t4", "CONTROL"),
    ]
    rows = [of_persona(persona, number, {2: Phase.RECOVERY}) for persona in range(2) for number in range(2)]
    probes = items_of(read(*rows))
    assert len({probe.group for probe in probes}) == 4
    units = TUNING.units(probes)
    words = {(units[probe.key], probe.view.conversation[0].user.rpartition(" ")[2]) for probe in probes}
    assert len({unit for unit, _ in words}) == len(words) == 2


def test_a_dialogue_that_stands_twice_is_on_one_side_of_every_fold(server):
    copied = dialogue(0) | {"unique_id_eval": "again", "uuid": "another", "scenario_id": "OTHER_01"}
    compiling = at(server, read(*map(dialogue, range(4)), copied), recipe(folds=4))
    rated = study()
    again = replace(rated.items[9], view=rated.items[8].view)
    judging = judges.at(server, replace(rated, items=(*rated.items[:9], again, *rated.items[10:])), recipe(folds=3))
    for fold in (*compiling.folds, *judging.folds):
        train, test = ({item.view.model_dump_json() for item in side} for side in (fold.train, fold.test))
        assert not train & test


def test_dialogues_that_begin_alike_stay_apart(server):
    rows = [dialogue(number) for number in range(4)]
    for row in rows:
        row["turn_records"][0]["user_message"] = "Hello!"
    assert len(set(at(server, read(*rows), recipe(folds=2)).target.units.values())) == 4


def test_the_unit_of_a_graded_answer_is_the_persona_with_what_it_shares_or_else_the_scenario():
    of = study(8)
    without = replace(of, items=tuple(replace(item, meta={}) for item in of.items))
    assert list(JudgeTarget(of).units.values()) == [item.meta["persona"] for item in of.items]
    assert list(JudgeTarget(without).units.values()) == [item.group for item in of.items]
    personas = sorted({item.meta["persona"] for item in of.items})
    shared = {persona: f"S{index // 2}" for index, persona in enumerate(personas)}
    items = (replace(item, group=shared[item.meta["persona"]]) for item in of.items)
    assert len(set(JudgeTarget(replace(of, items=tuple(items))).units.values())) == len(personas) / 2


RECOVERY = (Phase.RECOVERY,)
TRIGGERS = st.dictionaries(st.integers(1, 7), st.sampled_from(Phase), max_size=4)


@given(
    drawn=st.lists(st.lists(TRIGGERS, min_size=1, max_size=2), min_size=1, max_size=8).filter(
        lambda personas: any(triggers for dialogues in personas for triggers in dialogues)
    ),
    folds=st.integers(2, 5),
    seed=st.integers(0, 3),
    phases=st.lists(st.sampled_from(Phase), min_size=1, max_size=3, unique=True),
    order=st.randoms(use_true_random=False),
)
def test_folds_partition_every_turn_by_whole_personas_or_are_refused(drawn, folds, seed, phases, order):
    """In any order of the rows; each leaves two personas with chosen triggers to learn from, and tests one at least."""
    rows = [
        of_persona(persona, number, triggers)
        for persona, dialogues in enumerate(drawn)
        for number, triggers in enumerate(dialogues)
    ]
    how = recipe(folds=folds, seed=seed)
    probes = items_of(read(*rows))
    shuffled = items_of(read(*order.sample(rows, len(rows))))
    units = units_in(of_phases(probes, phases))
    try:
        dealt_out = folds_of(probes, phases, how)
    except UsageError:
        with pytest.raises(UsageError, match=f" of {len(units)} independent scenarios cannot make {folds} folds"):
            folds_of(shuffled, phases, how)
        return
    assert len(dealt_out) == folds <= len(units)
    keys = Counter(probe.key for probe in probes)
    assert Counter(probe.key for fold in dealt_out for probe in fold.test) == keys
    for fold in dealt_out:
        assert not units_in(fold.train) & units_in(fold.test)
        assert Counter(probe.key for probe in (*fold.train, *fold.test)) == keys
        assert units_in(of_phases(fold.test, phases))
        assert len(units_in(of_phases(fold.train, phases))) >= 2
    tests = [{probe.key for probe in fold.test} for fold in dealt_out]
    assert [{probe.key for probe in fold.test} for fold in folds_of(shuffled, phases, how)] == tests


def units_in(probes: Sequence[Any]) -> set[str]:
    return set(TUNING.units(probes).values())


def test_folds_are_balanced_by_the_chosen_triggers_and_not_by_what_goes_with_them():
    """Three personas with many other triggers, three with none: each fold has as many chosen ones."""
    loud = [
        dialogue(persona, dict.fromkeys((1, 2, 3, 4), Phase.EMERGENT) | {6: Phase.RECOVERY}) for persona in range(3)
    ]
    calm = [dialogue(persona, {6: Phase.RECOVERY}) for persona in range(3, 6)]
    for seed in range(5):
        folds = folds_of(items_of(read(*loud, *calm)), RECOVERY, recipe(folds=3, seed=seed))
        assert [len(of_phases(fold.test, [Phase.RECOVERY])) for fold in folds] == [2, 2, 2]


def test_personas_without_a_chosen_trigger_are_spread_over_the_folds():
    plain = [dialogue(persona, {2: Phase.EMERGENT}) for persona in range(4, 7)]
    folds = folds_of(items_of(read(*map(dialogue, range(4)), *plain)), RECOVERY, recipe(folds=2))
    others = [units_in(fold.test) - units_in(of_phases(fold.test, [Phase.RECOVERY])) for fold in folds]
    assert sorted(map(len, others)) == [1, 2]


def test_candidates_are_compared_on_units_that_nothing_was_learned_from():
    target = JudgeTarget(study(6))
    for seed in range(5):
        learn, compare = split(target.items, target.units, seed)
        assert len(learn) + len(compare) == len(target.items)
        assert compare
        assert not {target.units[item.key] for item in learn} & {target.units[item.key] for item in compare}


def test_seeds_give_other_folds():
    probes = items_of(few(6))
    assert len({frozenset(units_in(folds_of(probes, RECOVERY, recipe(seed=seed))[0].test)) for seed in range(8)}) > 1


@pytest.mark.parametrize(("personas", "folds"), [(4, 5), (2, 2), (1, 2), (3, 2)])
def test_too_few_personas_for_the_folds_are_refused_with_the_ways_out(personas, folds):
    """Of three personas in two folds, one fold would leave a single one to learn from; three folds they make."""
    mend = rf"give `recipe\.folds={personas}`, or bring more of them" if personas > 2 else "bring more of them"
    message = f"{personas} triggers of {personas} independent scenarios cannot make {folds} folds .*; {mend}$"
    with pytest.raises(UsageError, match=message):
        folds_of(items_of(few(personas)), RECOVERY, recipe(folds=folds))
    assert len(folds_of(items_of(few(3)), RECOVERY, recipe(folds=3))) == 3
