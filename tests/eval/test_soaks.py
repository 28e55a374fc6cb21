"""The soaks of eval/, in their quick form."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[2] / "eval"


@pytest.mark.parametrize("name", ["kill_soak.py", "fault_soak.py", "hostile_soak.py"])
def test_a_soak_finds_nothing(tmp_path, name):
    command = [sys.executable, PROGRAMS / name, "--quick"]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
