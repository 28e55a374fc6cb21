"""`dspy-proact show`: a run as a list, and one case whole."""

import io
import json
import re
import shutil
from pathlib import Path

import pytest
from builders.runs import RESPONSE, answered, failed, graded, manifest, trigger, written
from drivers.client import answers
from fakes.server import Answer, error
from rich.console import Console

from dspy_proact import Evaluation, Grade, Reading, load_corpus, print_reading, summarize
from dspy_proact.runs import CONTROL, RunFolder, Scope

JUDGES = ("openai/j", "openai/k")
QUOTED, FAILED, EMPTY, WAITING = (
    trigger("d1", "EMERGENT"),
    trigger("d2", "CRITICAL", user="Where is the [bold]ladder[/bold]?"),
    trigger("d3", "RECOVERY"),
    trigger("d4", "RECOVERY", scenario="HARBOUR_01", criterion="Plans the lighthouse."),
)
KEYS = [case.key for case in (QUOTED, FAILED, EMPTY, WAITING)]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A pass, a fail of which one judge quotes nothing that is there, one without a response, and one not tried."""
    events = [
        answered(QUOTED),
        *(graded(QUOTED, judge=judge) for judge in JUDGES),
        answered(FAILED, "No idea."),
        graded(
            FAILED, "PARTIAL", judge=JUDGES[0], response="No idea.", evidence=["Label the boxes"], reasoning="Zeal."
        ),
        graded(FAILED, "FAIL", judge=JUDGES[1], response="No idea.", evidence=["No idea."]),
        failed(EMPTY, "empty"),
    ]
    path = tmp_path_factory.mktemp("shown") / "run"
    return written(path, manifest(*JUDGES), [QUOTED, FAILED, EMPTY, WAITING], events).path


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Another run, in which the first trigger fails."""
    events = [answered(QUOTED, "Good luck."), graded(QUOTED, "FAIL", evidence=[], reasoning="It closes.")]
    return written(tmp_path_factory.mktemp("shown") / "other", manifest(model="openai/other"), [QUOTED], events).path


@pytest.fixture
def show(done):
    def call(*arguments):
        return done("show", *arguments)[0]

    return call


def listed(out):
    """The keys of a list, in its order."""
    return [line.split()[0] for line in out.splitlines() if re.match(r"d\d", line)]


def first_of(path):
    """The first outcome of a run, to be read."""
    return Reading.of(summarize(RunFolder(path)).outcomes[0], "proactbench")


# The list


def test_a_line_a_trigger_says_what_became_of_it(show, proact, run):
    assert [line.rstrip() for line in show(run).splitlines()] == [
        "trigger phase    grade    response",
        f"d1__t2  EMERGENT PASS     {RESPONSE}",
        "d2__t2  CRITICAL FAIL     [unverified, verdicts differ] No idea.",
        "d3__t2  RECOVERY unscored [response: empty]",
        "d4__t2  RECOVERY pending",
        "",
        "4 of 4 triggers.",
    ]
    assert f"Next: dspy-proact show {run} --trigger d2__t2" in proact("show", run, "--grade", "fail")[2]


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (["--grade", "pass"], KEYS[:1]),
        (["--phase", "recovery"], KEYS[2:]),
        (["--unverified"], KEYS[1:2]),
        (["--unscored"], KEYS[2:3]),
        (["--grade", "Unscored"], KEYS[2:3]),
        (["--grade", "unscored", "--grade", "pass"], [KEYS[0], KEYS[2]]),
        (["--disagree"], KEYS[1:2]),
        (["--search", "LADDER"], KEYS[1:2]),
        (["--search", "lighthouse"], KEYS[3:]),
        (["--search", "zeal"], KEYS[1:2]),
        (["--search", "D3__"], KEYS[2:3]),
        (["--search", "harbour"], KEYS[3:]),
        (["--search", "none that i know of"], []),  # the curated response, which nobody sees
        (["--grade", "pass", "--unverified"], []),
    ],
)
def test_filters_keep_what_they_say_and_combine(show, run, options, kept):
    out = show(run, *options)
    assert listed(out) == kept
    assert out.splitlines()[-1] == f"{len(kept)} of 4 triggers."


def test_an_excerpt_begins_where_responses_differ(show, tmp_path):
    texts = ["Of course! Here it is.", "Of course! Here goes.", "Of course! Now."]
    cases = [trigger(f"d{number}") for number in range(3)]
    path = written(tmp_path / "alike", manifest(), cases, map(answered, cases, texts)).path
    assert [line.partition("...")[2] for line in show(path).splitlines()[1:4]] == ["Here it is.", "Here goes.", "Now."]


def test_more_than_a_person_reads_is_counted_and_said_how_to_see(show, tmp_path):
    cases = [trigger(f"d{number:02}") for number in range(40)]
    path = written(tmp_path / "many", manifest(), cases).path
    out = show(path)
    assert len(listed(out)) == 30
    assert out.splitlines()[-1] == "40 of 40 triggers, 30 of them above; --limit 40 lists all."
    assert len(listed(show(path, "--limit", 40))) == 40
    assert len(json.loads(show(path, "--json"))) == 40
    assert len(json.loads(show(path, "--json", "--limit", 2))) == 2


def test_epochs_are_lines_of_their_own_and_differ(show, proact, tmp_path):
    events = [answered(QUOTED), graded(QUOTED), answered(QUOTED, epoch=2), graded(QUOTED, "FAIL", epoch=2)]
    path = written(tmp_path / "two", manifest(epochs=2), [QUOTED], events).path
    lines = show(path, "--disagree").splitlines()
    assert [line.partition(" [epochs differ] ")[0].split() for line in lines[1:3]] == [
        ["d1__t2", "1", "EMERGENT", "PASS"],
        ["d1__t2", "2", "EMERGENT", "FAIL"],
    ]
    assert lines[-1] == "2 of 2 triggers, each epoch counted."
    assert listed(show(path, "--epoch", 2)) == ["d1__t2"]
    _, out, err = proact("show", path, "--trigger", "d1", "--epoch", 2)
    assert "openai/m: FAIL\n" in out
    assert "This is epoch 2 of 2; --epoch shows another." in err


def test_beside_another_run_both_grades_stand_and_disagree_is_between_them(show, run, other):
    lines = show(run, "--beside", other).splitlines()
    assert lines[0].split() == ["trigger", "phase", "grade", "beside", "response"]
    assert [line.split()[2:4] for line in lines[1:5]] == [
        ["PASS", "FAIL"],
        ["FAIL", "-"],
        ["unscored", "-"],
        ["pending", "-"],
    ]
    assert listed(show(run, "--beside", other, "--disagree")) == KEYS[:1]
    first, second, *_ = json.loads(show(run, "--beside", other, "--json"))
    assert (first["grade"], first["beside"]["grade"], second["beside"]) == ("PASS", "FAIL", None)


@pytest.fixture(scope="module")
def reworded(tmp_path_factory):
    """Another run with other grades, in which the first trigger was asked with other wording."""
    requests = trigger("d1", "EMERGENT", user="Any bags?")
    events = [answered(requests, "No."), graded(requests, "FAIL", evidence=[])]
    events += [answered(FAILED, "No."), graded(FAILED, "PARTIAL", evidence=["No."], response="No.")]
    return written(tmp_path_factory.mktemp("shown") / "reworded", manifest(), [requests, FAILED], events).path


def test_what_the_other_run_asks_in_other_words_is_marked_and_said(show, run, reworded):
    lines = show(run, "--beside", reworded).splitlines()
    assert "PASS     FAIL    [rephrased] Label the boxes" in lines[1]
    assert sum("[rephrased]" in line for line in lines) == 2
    assert " ".join(lines[-2:]) == (
        "[rephrased]: the other run words this case differently; the two cannot be compared."
    )
    first, second, *_ = json.loads(show(run, "--beside", reworded, "--json"))
    assert (first["rephrased"], second["rephrased"]) == (True, False)
    assert f"openai/m in {reworded}, rephrased: FAIL\n" in show(run, "--trigger", "d1", "--beside", reworded)
    assert "rephrased" not in show(run, "--trigger", "d2", "--beside", reworded)


def test_what_is_asked_in_other_words_is_no_disagreement(proact, run, reworded):
    status, out, err = proact("show", run, "--beside", reworded, "--disagree")
    assert (status, listed(out)) == (0, KEYS[1:2])
    assert "1 more differs but was rephrased there, and is left out." in err


def test_a_key_that_is_shortened_is_told_from_the_others_and_taken(show, tmp_path):
    names = [f"BP_PROFESSIONAL_01_{kind}__style11__{'0' * 32}" for kind in ("P", "EQIM")]
    cases = [trigger(name, turn=turn) for name in names for turn in (2, 12)]
    path = written(tmp_path / "long", manifest(), cases).path
    short = [line.split()[0] for line in show(path).splitlines()[1:5]]
    assert len(set(short)) == 4
    assert all("..." in key and len(key) == 28 for key in short)
    for key, case in zip(short, cases, strict=True):
        assert json.loads(show(path, "--trigger", key, "--json"))["trigger"] == case.key


@pytest.mark.parametrize("columns", [60, 160])
def test_a_list_fits_its_terminal(show, monkeypatch, tmp_path, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    cases = [trigger("x" * 90), trigger("y" * 90)]
    wide = "漢字を書く練習をしましょう。" * 30
    path = written(tmp_path / "wide", manifest(), cases, [answered(case, wide) for case in cases]).path
    widths = [sum(2 if ord(char) > 0x2E80 else 1 for char in line) for line in show(path).splitlines()[1:3]]
    assert all(columns - 2 < width <= columns for width in widths)


def test_a_results_file_is_listed_and_searched_as_a_run_is(show, proact, tmp_path):
    assert proact("eval", "--out", "small", "--limit", 6)[0] == 0
    assert proact("export", "small", "--format", "official", "--out", "results.jsonl")[0] == 0
    ours, theirs = (json.loads(show(path, "--json")) for path in ("small", "results.jsonl"))
    assert [(item["trigger"], item["grade"]) for item in theirs] == [(item["trigger"], item["grade"]) for item in ours]
    assert "rephrased" not in show("small", "--beside", "results.jsonl")  # though it says less of a trigger
    for options, index in (([], 1), (["--json"], 2)):
        assert "embedded stand-in" in proact("show", "small", *options)[index]
    word = ours[0]["response"].split()[-1]
    assert theirs[0]["trigger"] in {
        item["trigger"] for item in json.loads(show("results.jsonl", "--search", word, "--json"))
    }


def test_a_case_that_was_changed_is_refused_where_it_is_listed(refused, run, tmp_path):
    cases = shutil.copytree(run, tmp_path / "run") / "cases.jsonl"
    cases.write_text(cases.read_text(encoding="utf-8").replace("ladder", "rope"), encoding="utf-8")
    assert "cases.jsonl, line 2: was changed after the run wrote it" in refused("show", "run")


def test_cases_are_shown_without_the_log_of_calls_and_reported_only_with_it(show, refused, run, tmp_path):
    calls = shutil.copytree(run, tmp_path / "run") / "calls.jsonl"
    calls.write_text("no JSON\n", encoding="utf-8")
    assert listed(show("run")) == listed(show(run))
    assert "calls.jsonl, line 1: " in refused("report", "run")


# One whole


def test_quotes_in_vain_and_judges_that_differ_are_told(show, run):
    lines = show(run, "--trigger", "d2__t2").splitlines()
    assert lines[lines.index("openai/m: FAIL") + 1 :] == [
        "  »No idea«.",
        "judge openai/j: PARTIAL, unverified: no quote of it stands in the response",
        "reasons: Zeal.",
        'quoted, but not in the response: "Label the boxes"',
        "judge openai/k: FAIL",
        "reasons: because",
        "",
    ]
    assert show(run, "--trigger", "d3").endswith("openai/m: unscored\n  no response: response: empty\n\n")
    assert show(run, "--trigger", "d4").endswith("openai/m: pending\n  no response: pending\n\n")


def test_the_other_runs_response_stands_under_it(show, run, other):
    out = show(run, "--trigger", "d1", "--beside", other)
    ours, theirs = out.index(f"openai/m in {run}: PASS"), out.index(f"openai/other in {other}: FAIL")
    assert ours < out.index("»Label") < theirs < out.index("  Good luck.\njudge openai/j: FAIL\nreasons: It closes.")
    assert "it has no such case" in show(run, "--trigger", "d2", "--beside", other)


def test_a_control_turn_is_shown_with_its_offers(show, tmp_path):
    run = Evaluation(load_corpus("sample"), model="embedded", judge="embedded").run(
        tmp_path / "run", Scope(limit=1, controls=True)
    )
    controls = json.loads(show(run.path, "--phase", CONTROL, "--json"))
    assert controls
    count = len(controls)
    assert show(run.path, "--grade", "PASS", "--phase", CONTROL).splitlines()[-1] == (
        f"0 of 1 triggers and 0 of {count} control turns."
    )
    assert show(run.path).splitlines()[-1] == f"1 of 1 triggers and {count} of {count} control turns."
    out = show(run.path, "--trigger", controls[0]["trigger"])
    assert out.splitlines()[1].startswith("CONTROL ")
    assert "\nrubric\n" not in out


def test_json_of_one_has_all_there_is_to_read(show, run, other):
    document = json.loads(show(run, "--trigger", "d2", "--json", "--beside", other))
    assert (document["trigger"], document["phase"], document["scenario"]) == ("d2__t2", "CRITICAL", FAILED.group)
    assert document["sections"][0]["items"][-1] == {"speaker": "user", "text": "Where is the [bold]ladder[/bold]?"}
    assert [item["name"] for item in document["sections"][1]["items"]] == ["PASS", "PARTIAL", "FAIL"]
    assert [
        (verdict["judge"], verdict["grade"], verdict["verified"], verdict["reasons"])
        for verdict in document["verdicts"]
    ] == [("openai/j", "PARTIAL", False, "Zeal."), ("openai/k", "FAIL", True, "because")]
    assert document["verdicts"][0]["quotes"][0]["start"] is None
    assert document["beside"] is None


# What others wrote

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07 \x9b31m \u202egnp.exe \u2066 \x00 \r gone \x08 \ud83d [bold]plain[/bold]\nrubric\nPASS"
)
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def hostile_run(path: Path, text: str):
    case = trigger(text.replace("\n", " "), user=text, criterion=text)
    judge = re.sub("[\ud800-\udfff\n]", " ", text)[:99]
    verdict = graded(case, reasoning=text, evidence=[text, "nowhere " + text], response=text, judge=judge)
    return written(path, manifest(judge, model=judge), [case], [answered(case, text), verdict]).path


def test_nothing_that_others_wrote_is_obeyed_or_takes_a_heading(show, tmp_path):
    path = hostile_run(tmp_path / "hostile", HOSTILE)
    for options in ([], ["--trigger", ""], ["--trigger", "", "--beside", path], ["--search", "gnp.exe"], ["--json"]):
        out = show(path, *options)
        assert ("gnp.exe" in out) == ("--trigger" in options or "--json" in options)
        assert not OBEYED.search(out), options
    full = show(path, "--trigger", "").splitlines()
    assert [line for line in full if line in ("rubric", "PASS")] == ["rubric", "PASS"]  # ours, once each
    assert "[bold]plain[/bold]" in "\n".join(full)


def test_a_transcript_has_every_request_and_reply_and_nothing_in_it_is_obeyed(show, proact, server):
    """What nobody could read stands there whole, after the request that it answers."""
    replies = [Answer(HOSTILE, finish_reason="length"), Answer(HOSTILE), error(503, HOSTILE)]
    answers(server, *replies)
    models = [word for role in ("model", "judge") for word in (f"--{role}", "openai/any")]
    bases = ("--model-api-base", server.assistant, "--judge-api-base", server.judge)
    scope = ("--corpus", "sample", "--limit", 1, "--retries", 0)
    assert proact("eval", *models, *bases, *scope, "--out", "run")[0] == 3
    assert "--transcript shows what was sent, and what came back." in proact("show", "run", "--trigger", "")[2]
    out = show("run", "--trigger", "", "--transcript")
    assert not OBEYED.search(out)
    lines = out.splitlines()
    assert [line for line in lines if line in ("response", "rubric", "PASS")] == ["response"]
    headings = [line for line in lines if re.match("request|reply|verdict|provider failure", line)]
    assert headings[0] == "request 1, assistant"
    assert re.fullmatch(r"reply: cut at the token limit, 11 tokens in, 7 out, \d+\.\d s", headings[1])
    assert [line.partition(",")[0] for line in headings[2:]] == [
        "verdict of openai/any",
        "request 1",
        "reply: stop",
        "request 2",
        "reply: none",
        "provider failure",
    ]
    assert lines.count("  PASS") == 2
    document = json.loads(show("run", "--trigger", "", "--transcript", "--json"))
    response, verdict = document["stages"]
    assert [stage["problem"] for stage in document["stages"]] == [None, None]
    assert response["exchanges"][0]["request"]["messages"][-1]["role"] == "user"
    assert "gnp.exe" in verdict["exchanges"][0]["reply"]["message"]["parts"][0]["text"]
    assert verdict["exchanges"][1]["failure"]["kind"] == "provider"


def on_a_terminal(*readings):
    """What is sent to a wide terminal with colours."""
    console = Console(force_terminal=True, width=120, file=io.StringIO(), color_system="truecolor")
    print_reading(list(zip(("ours", "theirs"), readings, strict=False)), tuple(Grade), console)
    return console.file.getvalue()


def test_on_a_terminal_only_our_own_styles_are_sent(tmp_path):
    reading = first_of(hostile_run(tmp_path / "hostile", HOSTILE))
    assert not OBEYED.search(re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal(reading, reading)))


def test_a_long_line_is_shown_to_its_end(show, tmp_path):
    path = hostile_run(tmp_path / "long", f"begin {'x' * 100_000} end")
    assert show(path, "--trigger", "").count(" end") >= 4
    assert max(map(len, show(path).splitlines())) <= 80
    assert on_a_terminal(first_of(path)).count("x") >= 400_000
