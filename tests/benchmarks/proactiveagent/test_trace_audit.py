"""The audit of traces: what is found in the official ones, and what planted faults show."""

import pytest
from watched import row, traces_in

from dspy_proact.audit.audit import Audit, benchmark_of_corpus


def checks(folder):
    return {check.name: check for check in Audit(folder).checks}


def problems(check):
    return [f"{finding.key}: {finding.problem}" for finding in check.findings]


def test_the_official_traces_have_times_that_go_back_and_an_event_that_repeats(data):
    by_name = checks(data / "proactiveagent" / "test_data")
    assert [name for name, check in by_name.items() if check.state == "failed"] == []
    keys = {finding.key.partition("/")[0] for finding in by_name["order of time"].findings}
    assert keys == {"writing_11", "writing_12", "writing_14"}
    assert by_name["repeated events"].sentence == "1 of 12 traces has an event more than once."


def test_planted_faults_are_seen_and_a_sound_trace_has_none(tmp_path):
    sound = [row("Opens the map of the harbour.", "1"), row("Writes a letter to the pilot.", "2.5")]
    clean = checks(traces_in(tmp_path / "clean", writing_a=sound))
    assert [name for name, check in clean.items() if check.findings] == ["coverage"]
    assert problems(clean["coverage"]) == [": No case has kind coding."]
    back = traces_in(tmp_path / "back", writing_a=[row("Opens the map.", "12"), row("Opens the MAP!", "9")])
    assert problems(checks(back)["order of time"]) == ["writing_a/02: Its time, 9, is before 12."]
    assert problems(checks(back)["repeated events"]) == [
        "writing_a: 2 events of it say the same, such as 'Opens the map.'."
    ]
    long = traces_in(tmp_path / "long", writing_a=[row(f"Types number {n}.", f"{n}") for n in range(51)])
    assert problems(checks(long)["window"]) == ["writing_a: It has 51 events."]
    twins = traces_in(tmp_path / "twins", writing_a=sound, code_b=sound)
    assert checks(twins)["near duplicates among traces"].state == "failed"


@pytest.mark.parametrize("below", ["", "test_data", "dataset/test_data"])
def test_a_folder_of_traces_is_known_by_its_files(tmp_path, below):
    traces_in(tmp_path / below, writing_a=[row("Opens the map.")])
    assert benchmark_of_corpus(str(tmp_path)).name == "proactiveagent"
