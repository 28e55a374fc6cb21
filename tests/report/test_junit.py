"""JUnit XML of runs: a suite a run, a test a case; what passes, fails, errs and is skipped, and what is not in it."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from builders.attack import ATTACK, VISIBLE
from builders.riddles import written
from builders.runs import (
    JUDGE,
    answered,
    failed,
    graded,
    manifest,
    outcome,
    spread,
    summary,
    trigger,
)

from dspy_proact.calls import Call
from dspy_proact.report import summarize
from dspy_proact.report.junit import junit_xml
from dspy_proact.runs import CorpusRecord

CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "properties": {"property"},
    "testcase": {"failure", "error", "skipped", "system-out"},
}
ATTRIBUTES = {
    "testsuites": ({"tests", "failures", "errors"}, {"name", "time"}),
    "testsuite": ({"name", "tests", "failures", "errors"}, {"skipped", "time", "timestamp"}),
    "property": ({"name", "value"}, set()),
    "testcase": ({"name"}, {"classname", "time"}),
    "failure": (set(), {"type", "message"}),
    "error": (set(), {"type", "message"}),
    "skipped": (set(), {"type", "message"}),
}
"""Of each element, in Jenkins' schema (junit-10.xsd), the attributes that it needs, and those that it may have."""
TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?")


def parsed(*summaries):
    """The root of the document of some runs, in which all is as the schema has it and the counts are right."""
    root = ET.fromstring(junit_xml(summaries))
    for element in root.iter():
        needed, allowed = ATTRIBUTES.get(element.tag, (set(), set()))
        assert needed <= element.attrib.keys() <= needed | allowed, element.tag
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
        assert TIME.fullmatch(element.get("time", "0"))
    for suite in root:
        kinds = ("failure", "error", "skipped")
        assert [len(suite.findall(f"testcase/{kind}")) for kind in kinds] == [
            int(suite.attrib[name]) for name in ("failures", "errors", "skipped")
        ]
        assert len(suite.findall("testcase")) == int(suite.attrib["tests"])
    for name in ("tests", "failures", "errors"):
        assert int(root.attrib[name]) == sum(int(suite.attrib[name]) for suite in root)
    return root


def call(role, latency):
    return Call(role=role, started=1.0, latency=latency, finish_reason="stop")


@pytest.fixture
def run(tmp_path):
    """A trigger of each grade, one whose response is empty, and one that is pending."""
    cases = [trigger(f"d{number}") for number in range(5)]
    events = [
        *(answered(case) for case in cases[:3]),
        *(graded(case, grade) for case, grade in zip(cases, ("PASS", "PARTIAL", "FAIL"), strict=False)),
        failed(cases[3], "empty"),
    ]
    return summarize(written(tmp_path / "run", manifest(), cases, events))


def test_the_best_grade_passes_any_other_fails_unscored_is_an_error_and_pending_is_skipped(run):
    (suite,) = parsed(run)
    tests = {test.get("name"): test for test in suite.iter("testcase")}
    kinds = [[child.tag for child in test] for test in tests.values()]
    assert kinds == [["system-out"], ["failure"], ["failure"], ["error"], ["skipped"]]
    passed, partial, failing, unscored, _ = (test[0] for test in tests.values())
    assert passed.text == "PASS, score 100.0 of 100\nopenai/j, PASS: because"
    assert (partial.get("type"), partial.get("message")) == ("PARTIAL", "PARTIAL, score 50.0 of 100")
    assert (failing.get("type"), failing.text) == ("FAIL", "openai/j, FAIL: because")
    assert unscored.attrib == {"type": "unscored", "message": "response: empty"}
    assert {test.get("classname") for test in tests.values()} == {"proactbench.EMERGENT"}
    properties = {item.get("name"): item.get("value") for item in suite.iter("property")}
    # 1, .5 and 0 of three scored; 1.5 of four that were tried.
    assert (properties["score"], properties["strict"], properties["judge"]) == ("50.0", "37.5", JUDGE)


def test_a_test_takes_as_long_as_the_calls_of_its_case(tmp_path):
    case, other = spread(1, ("EMERGENT", "CRITICAL"))
    events = [
        answered(case, "yes", call("assistant", 1.25), call("assistant", 0.5)),
        graded(case, "PASS", call("judge", 2.0)),
    ]
    (suite,) = parsed(summarize(written(tmp_path / "run", manifest(), [case, other], events)))
    assert [test.get("time") for test in suite.iter("testcase")] == ["3.750", None]


def test_several_runs_are_suites_and_epochs_are_tests(run):
    first, second = run, summary(*(outcome("t", "PASS", epoch=epoch) for epoch in (1, 2)), model="other")
    root = parsed(first, second)
    assert [suite.get("name").split(" judged")[0] for suite in root] == ["openai/m", "other"]
    assert [test.get("name") for test in root[1].iter("testcase")] == ["t epoch 1", "t epoch 2"]
    assert root.get("tests") == "7"


def test_labels_without_an_order_are_no_failures_and_make_no_score(run):
    (suite,) = parsed(replace(run, ordered=False))
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")
    assert [out.text.split("\n")[0] for out in suite.iter("system-out")] == ["PASS", "PARTIAL", "FAIL"]
    assert not {"score", "strict", "interval"} & {item.get("name") for item in suite.iter("property")}


def test_text_of_others_is_shown_and_does_nothing(tmp_path):
    case = trigger(f"d{ATTACK.replace(chr(0), '')}")
    reasoning = f"]]></failure>{ATTACK}\x1b[31m\ud800\ufffe"
    events = [answered(case), graded(case, "FAIL", reasoning=reasoning)]
    of_run = summarize(written(tmp_path / "run", manifest(model=f"m{ATTACK}", variant=ATTACK), [case], events))
    (suite,) = parsed(of_run)
    (failure,) = suite.iter("failure")
    assert VISIBLE in failure.text
    assert "\\x1b[31m" in failure.text
    assert "\x1b" not in junit_xml([of_run])
    assert suite.get("name").startswith(f"m{VISIBLE}")


def test_inputs_rubrics_and_responses_are_not_in_it_nor_reasons_of_a_private_corpus(tmp_path):
    case = trigger(user="Canary of the input", criterion="Canary of the rubric", curated="Canary of the past")
    events = [answered(case, "Canary of the response"), graded(case, "FAIL", response="Canary of the response")]
    open_run = summarize(written(tmp_path / "run", manifest(), [case], events))
    assert ("Canary" in junit_xml([open_run]), "because" in junit_xml([open_run])) == (False, True)
    record = CorpusRecord(name="c", revision=None, rows=1, cases=1, ignored_fields={}, private=True)
    for change in ({"private": True}, {"private": False, "held_back": True}):
        beside = open_run.manifest.model_copy(update={"corpus": record.model_copy(update=change)})
        assert "because" not in junit_xml([replace(open_run, manifest=beside)])


def test_the_command_writes_a_file_over_none_but_its_like(proact, refused, tmp_path, run):
    assert proact("report", run.path, run.path, "--junit", "tests.xml")[0] == 0
    assert len(ET.parse("tests.xml").getroot()) == 2
    assert proact("report", run.path, "--junit", "tests.xml")[0] == 0
    assert proact("report", run.path, "--junit", "-")[1] == (tmp_path / "tests.xml").read_text("utf-8") + "\n"
    (tmp_path / "notes").write_text("mine", encoding="utf-8")
    assert "notes: exists and is not JUnit XML" in refused("report", run.path, "--junit", "notes")
    assert "--junit and --html are mutually exclusive" in refused("report", run.path, "--junit", "a", "--html", "b")


def test_the_log_of_a_run_has_the_same_tests_without_times(proact, run):
    assert proact("export", run.path, "--format", "eval", "--out", "run.eval")[0] == 0
    (of_log,), (of_run,) = (ET.fromstring(proact("report", path, "--junit", "-")[1]) for path in ("run.eval", run.path))
    graded_only = [test.attrib for test in of_run.iter("testcase") if test.find("skipped") is None]
    for attributes in graded_only:
        attributes.pop("time", None)
    assert [test.attrib for test in of_log.iter("testcase") if test.find("skipped") is None] == graded_only
