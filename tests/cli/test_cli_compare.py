"""`dspy-proact compare`: two runs or results files as a person compares them, and every refusal with its message."""

import json

import pytest
from proact_run import PHASES, manifest, run_of, trigger

from dspy_proact.runs import RoleIdentity


def spread(scenarios=8):
    """A trigger a scenario and phase."""
    return [
        trigger(f"d{number}", phase, turn=turn, scenario=f"S{number}")
        for turn, phase in enumerate(PHASES, start=1)
        for number in range(scenarios)
    ]


@pytest.fixture
def two(tmp_path):
    """Run `a` fails everywhere, run `b` passes in EMERGENT only."""
    cases = spread()
    run_of(tmp_path / "a", [(case, "FAIL") for case in cases])
    run_of(tmp_path / "b", [(case, "PASS" if case.stratum == "EMERGENT" else "FAIL") for case in cases], "openai/k")


def test_a_run_compared_with_itself_differs_by_nothing_with_p_one(proact, two):
    status, out, err = proact("compare", "a", "a")
    assert status == 0
    assert out.startswith("b and a have the same score on each of 24 triggers scored in both.\n")
    assert "Next: dspy-proact show a --beside a --disagree" in err


def test_runs_that_differ_by_construction_differ_with_the_right_sign(proact, two):
    status, out, _ = proact("compare", "b", "a")
    assert status == 0
    said = "b (judged by openai/j) scores lower than a (judged by openai/k) on EMERGENT (-100.0 points, "
    assert " ".join(out.split()).startswith(said)
    document = json.loads(proact("compare", "b", "a", "--json")[1])
    differences = {phase: row["weighted"]["value"] for phase, row in document["phases"].items()}
    assert differences == {"EMERGENT": -1, "CRITICAL": 0, "RECOVERY": 0}
    assert document["phases"]["EMERGENT"]["p_holm"]["weighted"] == 6 / 256  # 2 of 2^8 flips, times 3 phases
    assert document["overall"]["macro"]["weighted"]["value"] == pytest.approx(-1 / 3)
    changed = {change["field"]: (change["a"], change["b"]) for change in document["changed"]}
    assert changed == {"judge.model": ("openai/k", "openai/j")}


def named(program, prompt="bb", judge="openai/j"):
    """The identity of a judge that speaks by another program."""
    return manifest(judge).identity.model_copy(
        update={"judges": (RoleIdentity(model=judge, program=program, prompt=prompt, decoding={}),)}
    )


def test_programs_and_prompts_are_named_wherever_their_model_is(proact, tmp_path):
    cases = spread(1)
    for name, program in (("a", "default"), ("b", "official"), ("c", "compiled:0123456789ab")):
        run_of(tmp_path / name, [(case, "PASS") for case in cases], identity=named(program))
    out = " ".join(proact("compare", "b", "c")[1].split())
    assert "a: openai/m judged by openai/j (official prompt) (b)" in out
    assert "b: openai/m judged by openai/j (compiled:0123456789ab) (c)" in out
    assert "openai/j (official prompt) and openai/j (compiled:0123456789ab) on 3 responses" in out
    assert "openai/j and openai/j (official prompt) on 3 responses" in " ".join(proact("compare", "a", "b")[1].split())
    assert "judged by openai/j (compiled:0123456789ab)" in " ".join(proact("report", "c")[1].split())
    document = json.loads(proact("compare", "a", "c", "--json")[1])
    assert [document[side]["judge_program"] for side in "ab"] == ["default", "compiled:0123456789ab"]
    assert document["judges"]["second"] == "openai/j (compiled:0123456789ab)"
    proact("export", "c", "--format", "csv")
    assert '"openai/j","compiled:0123456789ab"' in (tmp_path / "exports" / "c.csv").read_text(encoding="utf-8")


def prompted(folder, prompt):
    """A run whose assistant was told something."""
    told = RoleIdentity(model="openai/m", program="prompt" if prompt else "bare", prompt=f"{prompt!r:.9}", decoding={})
    identity = manifest().identity.model_copy(update={"assistant": told})
    run_of(folder, [(case, "PASS") for case in spread(1)], identity=identity, system_prompt=prompt)


def test_system_prompts_that_differ_are_shown(proact, tmp_path):
    prompted(tmp_path / "a", "Notice what was said in passing.")
    prompted(tmp_path / "b", "Wait until they are done.\nThen offer one thing.")
    prompted(tmp_path / "c", None)
    _, out, _ = proact("compare", "a", "b", "--explain")
    lines = out.splitlines()
    place = lines.index("system prompt of a:")
    assert lines[place + 1 : place + 5] == [
        "  Notice what was said in passing.",
        "system prompt of b:",
        "  Wait until they are done.",
        "  Then offer one thing.",
    ]
    assert "system prompt of b: none" in proact("compare", "a", "c", "--explain")[1]
    document = json.loads(proact("compare", "a", "c", "--json")[1])
    assert [document[side]["system_prompt"] for side in "ab"] == ["Notice what was said in passing.", None]


def test_of_long_system_prompts_the_difference_is_shown_and_no_terminal_obeys_it(proact, tmp_path):
    lines = [f"Rule {number}." for number in range(200)]
    prompted(tmp_path / "a", "\n".join(lines))
    prompted(tmp_path / "b", "\n".join([*lines[:100], "\x1b[31mAnother.", *lines[101:]]))
    _, out, _ = proact("compare", "a", "b", "--explain")
    shown = out[out.index("--- system prompt of a") :]
    assert "-Rule 100.\n+\\x1b[31mAnother.\n Rule 101.\n" in shown
    assert "Rule 50." not in out
    prompted(tmp_path / "c", "\n".join(f"Other {line}" for line in lines))
    assert "... 140 further lines; --json has all of them" in proact("compare", "a", "c", "--explain")[1]


def test_what_a_pattern_took_for_runs_is_named(refused, two, tmp_path):
    (tmp_path / "b.csv").write_text("key\n")
    err = refused("compare", "a", "b", "b.csv", "missing")
    assert "Error: compare takes RUN_A and RUN_B, and 4 are given; these are no runs: b.csv, missing" in err
    assert "compare takes RUN_A and RUN_B, and 1 are given" in refused("compare", "a")
    assert "and 3 are given\n" in refused("compare", "a", "b", "a")
