"""`compare --card`: what it asks, what it prints and writes, what it pays for once, and what it refuses."""

import json
from pathlib import Path

import pytest
from fakes.server import Answer, error, is_about_offers, offers, verdict

from dspy_proact import Evaluation, Gate, ModelSpec, Scope

pytestmark = pytest.mark.usefixtures("proactbench")


def scripted(sent):
    """Two models, a judge who grades them alike, and one without the rubric who takes what stands second."""
    if sent.role == "assistant":
        return Answer(f"That is for {sent.body['model']}.")
    if is_about_offers(sent):
        return Answer(offers())
    if "first_response" in sent.text:
        return Answer(json.dumps({"reasons": "I like it.", "better": "second"}))
    return Answer(verdict("PASS", ["That is"]))


@pytest.fixture
def models(server):
    """Runs of two models in the working folder."""
    server.script = scripted
    for name in ("base", "tuned"):
        spec = ModelSpec(name=f"hosted_vllm/{name}", api_base=server.assistant)
        judge = ModelSpec(name="openai/gpt-5", api_base=server.judge)
        Evaluation("sample", spec, judge, gate=Gate(retries=0)).run(name, Scope(controls=True))
    server.sent.clear()
    return ["compare", "base", "tuned", "--card"]


def rows(path="rows.jsonl", **fields):
    Path(path).write_text(f"{json.dumps({'unit': 'somebody', 'judges': ['anthropic/claude']} | fields)}\n")
    return ["--trained-on", path]


def asking(server, *more):
    return ["--judge", "openai/gemini-3", "--judge-api-base", server.judge, "--retries", "0", *more]


def test_without_a_judge_it_makes_a_card_without_a_call(proact, server, models):
    status, out, _ = proact(*models)
    text = " ".join(out.split())
    assert (status, server.sent) == (0, [])
    assert text.startswith("No improvement shown: 0.0 points")
    assert "not met: training data: what it was trained on is not known; name it with --trained-on." in text
    assert "name it with --rewarded-by, or the rewards' folder with --trained-on" in text
    assert "is better; name one with --judge." in text
    assert "met: control cases: unwanted offers 0.0 points" in text


def test_the_judge_is_asked_once_and_its_choices_are_read_by_show(proact, server, models):
    command = [*models, *rows(), *asking(server)]
    status, out, err = proact(*command, "--dry-run")
    assert (status, server.sent) == (0, [])
    assert "98 calls" in out + err
    status, out, err = proact(*command, "--json")
    document = json.loads(out)
    assert (status, len(server.sent)) == (0, 98)
    preference = document["preference"]
    assert (preference["tuned"], preference["base"], preference["ties"], preference["value"]) == (0, 0, 49, 0.5)
    assert (preference["first"], preference["chosen"]) == (0, 98)
    assert document["trained_on"]["judges"] == ["anthropic/claude"]
    assert preference["folder"] in err
    assert proact(*command, "--json")[1] == out
    assert len(server.sent) == 98
    (case,) = json.loads(proact("show", preference["folder"], "--limit", 1, "--json")[1])
    read = proact("show", preference["folder"], "--case", case["case"])[1]
    assert "judge openai/gemini-3: TUNED" in read
    assert '"reasons": I like it.' in read


def test_the_markdown_is_written_over_its_like_alone(proact, server, models):
    assert proact(*models, "--markdown", "card.md")[0] == 0
    assert "name one with --judge" in Path("card.md").read_text("utf-8")
    first = Path("card.md").read_text()
    assert first.startswith("# Card of a trained model\n\nNo improvement shown")
    assert proact(*models, *rows(), "--markdown", "card.md")[0] == 0
    assert Path("card.md").read_text() != first
    assert proact(*models, "--markdown", "-")[1].rstrip() == first.rstrip()
    status, _, err = proact(*models, "--markdown", "rows.jsonl")
    assert (status, "exists and is not a card" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compare", "base", "tuned", "--trained-on", "r"], "--trained-on: has no effect without --card"),
        (["compare", "base", "tuned", "--judge", "j"], "--judge: has no effect without --card"),
        (["compare", "base", "--card"], "--card: takes RUN_A and RUN_B"),
        (
            ["compare", "base", "tuned", "--card", "--max-calls", "3"],
            "--max-calls: has no effect without a judge of",
        ),
        (["compare", "base", "tuned", "--card", "--rewarded-by", "j"], "name it with --trained-on"),
        (["compare", "base", "tuned", "--card", "--trained-on", "gone"], "gone: no such file"),
        (["compare", "base", "tuned", "--card", "--json", "--markdown", "x"], "mutually exclusive"),
    ],
)
def test_what_has_no_effect_is_refused(proact, models, words, message):
    del models
    status, _, err = proact(*words)
    assert status == 2
    assert message in " ".join(err.split())
    assert "Traceback" not in err


def test_a_limit_stops_it_and_the_same_command_goes_on(proact, server, models):
    command = [*models, *rows(), *asking(server)]
    status, out, err = proact(*command, "--max-calls", "5")
    assert (status, out, len(server.sent)) == (4, "", 5)
    assert "Repeat the command to go on." in err
    assert proact(*command)[0] == 0
    assert len(server.sent) == 98


def test_choices_that_are_missing_are_counted_and_the_same_command_asks_for_them_again(proact, server, models):
    command = [*models, *rows(), *asking(server)]
    server.script = lambda sent: error(500) if len(sent.text) % 7 == 0 else scripted(sent)
    status, _, err = proact(*command, "--json")
    assert status == 0
    assert "missing, which count against the trained model. The same command asks for them again." in err
    server.script = scripted
    status, out, err = proact(*command, "--json")
    assert (status, "missing" in err, json.loads(out)["preference"]["ties"]) == (0, False, 49)
