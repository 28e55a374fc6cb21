"""The command line in this process."""

import sys

import pytest

from dspy_proact import cli


@pytest.fixture
def proact(monkeypatch, capsys, tmp_path):
    """Run the command line in an empty folder, 80 columns wide: exit status, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dspy-proact", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return end.value.code, out, err

    return call
