"""The program of eval/ that a file of tests names as PROGRAM."""

import pytest
from drivers.script import ended, loaded


@pytest.fixture(scope="module")
def program(request):
    with loaded(request.module.PROGRAM) as program:
        yield program


@pytest.fixture
def quick(program, request, tmp_path):
    """What its quick form prints, which ends well."""
    done = ended(program.main, request.module.PROGRAM, "--quick", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
