"""The soaks of eval/, in their quick form."""

import pytest
from script import ROOT, run


@pytest.mark.parametrize("name", ["kill_soak.py", "compile_soak.py", "fault_soak.py", "hostile_soak.py"])
def test_a_soak_finds_nothing(tmp_path, name):
    done = run(ROOT / "eval" / name, "--quick", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
