"""The soaks of eval/, in their quick form."""

import child
import pytest
from script import ROOT, ended, loaded

PROGRAMS = ROOT / "eval"


@pytest.mark.parametrize("name", ["kill_soak.py", "compile_soak.py", "fault_soak.py", "hostile_soak.py"])
def test_a_soak_finds_nothing(tmp_path, name):
    with loaded(PROGRAMS / name) as program:
        if hasattr(program, "subprocess"):
            program.subprocess = child.Processes()
        done = ended(program.main, PROGRAMS / name, "--quick", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
