"""The path of somebody who builds an assistant, from a first prompt to a prompt that was compiled."""

import json
from pathlib import Path

PROMPT = "Look ahead: take up what the user mentioned."


def test_from_a_prompt_to_a_compiled_prompt(proact):
    """Try, score, compile from the prompt, score again, compare, and print what to paste."""
    status, out, _ = proact("try", PROMPT, "--json")
    pairs = json.loads(out)
    assert (status, len(pairs)) == (0, 3)
    assert all("Since you mentioned" in pair["with"]["response"] for pair in pairs)

    status, out, _ = proact("eval", "--system-prompt", PROMPT, "--controls", "--out", "prompted", "--json")
    prompted = json.loads(out)
    assert (status, prompted["controls"]["unwanted_offers"]["value"]) == (0, 1.0)

    compiling = ["--optimizer", "search", "--trials", 4, "--max-demos", 1, "--folds", 3, "--out", "compile"]
    status, out, err = proact("optimize", "assistant", "--system-prompt", PROMPT, *compiling, "--guard", "offers")
    assert status == 0, err
    assert "RECOVERY*" in out
    assert "unwanted offers" in out
    program = Path("compile", "assistant.json")
    assert f"--program {program}" in err

    status, out, err = proact("eval", "--program", program, "--controls", "--out", "compiled", "--json")
    compiled = json.loads(out)
    assert status == 0, err
    assert compiled["controls"]["unwanted_offers"]["value"] <= prompted["controls"]["unwanted_offers"]["value"]

    status, out, _ = proact("compare", "prompted", "compiled", "--json")
    comparison = json.loads(out)
    assert status == 0
    assert "RECOVERY" in comparison["phases"]

    status, out, _ = proact("optimize", "show", program, "--as-prompt")
    manifest = json.loads(Path("compiled", "manifest.json").read_text(encoding="utf-8"))
    assert status == 0
    assert out == f"{manifest['system_prompt']}\n"
