"""eval/card_claims.py: noisy models of known worth are trained, run, compared and judged over HTTP."""

from drivers.script import ROOT, run
from drivers.terminal import table_rows


def test_no_model_gets_a_claim_that_should_have_none(tmp_path):
    done = run(ROOT / "eval" / "card_claims.py", "--quick", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row[0]: row[1:] for row in table_rows(done.stdout)[2:]}
    assert {name: row[:2] for name, row in rows.items() if name != "better"} == {
        name: ["1", "0"] for name in ("unchanged", "offering", "stuffed", "memorised", "unnamed data")
    }
    # It says why: of whose training data nothing is known, that comes first where the score rose.
    assert rows["offering"][4] in ("control cases 1", "score 1")
