"""The programs of eval/ about PROBE run, in their quick form or on the sample; no time is asserted."""

import json
import re

from script import ROOT, run


def test_scale_reads_plans_and_answers_every_task(tmp_path):
    done = run(ROOT / "eval" / "probe_scale.py", "--quick", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    told = re.findall(r"^(.*): [\d,]+ ms a task, at most [\d,]+ MiB$", done.stdout, re.MULTILINE)
    # Four tasks a person.
    assert told[0] == "8 tasks of 2 people read"
    assert re.fullmatch(r"planned \([\d,]+ tokens a task, at most USD [\d.]+\)", told[1])
    assert told[2:] == ["answered 1 to 2", "answered 3 to 4", "answered 5 to 6", "answered 7 to 8"]
    assert done.stdout.endswith("8 of 8 graded\n")


def test_probe_is_run_as_it_was_published(tmp_path):
    arguments = ["embedded", "--judge", "embedded", "--corpus", "sample", "--out", "run"]
    done = run(ROOT / "eval" / "probe.py", *arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    settings = json.loads((tmp_path / "run" / "manifest.json").read_text())["identity"]["settings"]
    assert {name: settings[name] for name in ("agent", "sanitize", "upstream_rule", "oracle", "baseline")} == {
        "agent": "single",
        "sanitize": False,
        "upstream_rule": True,
        "oracle": "none",
        "baseline": "none",
    }
    assert "GPT-5" in done.stdout


def test_probe_says_what_is_missing(tmp_path):
    done = run(ROOT / "eval" / "probe.py", "openai/gpt-4o", "--corpus", "sample", folder=tmp_path)
    assert (done.returncode, "OPENAI_API_KEY" in done.stderr, "Traceback" in done.stderr) == (2, True, False)
