"""What a first benchmark of a person's own meets: its template, system prompts, dry runs and refusals."""

import json
import logging

import pytest
from builders.benchmarks import fields, write_mine
from fakes.server import Answer

from dspy_proact import Evaluation, RunFolder, Trial
from dspy_proact.errors import UsageError
from dspy_proact.evaluation import registry
from dspy_proact.evaluation.benchmark import Start
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.evaluation.rendered import answer_calls, grade_calls

NAMED = ["--benchmark", "mine.py"]


@pytest.fixture
def fresh(monkeypatch):
    """Nothing is known of an earlier file."""
    monkeypatch.setattr(registry, "_OWN", {})
    registry._of_file.cache_clear()


def test_it_takes_no_prompt_which_would_change_nothing(fresh, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_mine(tmp_path, "start.prompt or ", "")
    for of in (Evaluation, Trial):
        with pytest.raises(UsageError, match="next-step has no system prompt; leave it out"):
            of(benchmark="mine.py", system_prompt="Look ahead.")


def test_a_program_that_returns_nothing_is_refused_with_file_and_line(fresh, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_mine(
        tmp_path,
        'return dspy.Predict(dspy.Signature("message -> reply"',
        'dspy.Predict(dspy.Signature("message -> reply"',
    )
    for prompt in (None, "Look ahead."):
        with pytest.raises(UsageError, match=r"mine.py:\d+: `program` returns None; let it return a dspy.Module"):
            Evaluation(benchmark="mine.py", system_prompt=prompt)


def test_a_template_takes_no_name_of_a_benchmark_that_there_is(fresh, proact, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, _, err = proact("benchmarks", "new", "probe.py")
    assert (status, (tmp_path / "probe.py").exists()) == (2, False)
    assert "probe.py: there is a benchmark called probe; give the file another name" in err


def helpful(sent):
    """The script of a server that plays the assistant and the judge."""
    return fields(reply="Tomorrow.") if sent.role == "assistant" else fields(reason="a day", next_step=True)


def of_server(server):
    """Options that name its models."""
    return [
        *("--model", "hosted_vllm/m", "--model-api-base", server.assistant),
        *("--judge", "hosted_vllm/j", "--judge-api-base", server.judge),
    ]


def test_a_system_prompt_that_its_program_uses_is_sent_and_recorded_and_makes_another_run(
    fresh, proact, server, tmp_path
):
    write_mine(tmp_path)
    server.script = helpful
    options = [*NAMED, *of_server(server), "--limit", 1]
    assert proact("eval", *options, "--system-prompt", "Answer in a word.", "--out", "prompted")[0] == 0
    (sent,) = server.of("assistant")
    assert "Answer in a word." in sent.messages[0]["content"]
    assert "Answer a customer's message." not in sent.text
    manifest = RunFolder("prompted").manifest()
    assert (manifest.system_prompt, manifest.identity.assistant.program) == ("Answer in a word.", "prompt")
    status, _, err = proact("eval", *options, "--out", "prompted")
    assert (status, "prompt" in err) == (2, True)
    (case,) = RunFolder("prompted").cases()
    assert "Answer in a word." in proact("show", "prompted", "--case", case.key, "--transcript")[1]


def test_without_a_forecast_a_dry_run_counts_what_is_then_sent(fresh, proact, done, server, tmp_path):
    """Its prompts are the assistant's to the character, and the judge's but for the response."""
    write_mine(tmp_path)
    server.script = helpful
    options = [*NAMED, *of_server(server), "--model-price", "1,1", "--judge-price", "1,1"]
    out = done("eval", *options, "--dry-run", "--json")[0]
    forecast = json.loads(out)
    assert (forecast["calls"], server.sent) == (16, [])
    assert all(forecast[role]["usd"] for role in ("assistant", "judge"))
    assert "Of the program and judge, each predictor is counted once a case" in forecast["assumption"]
    assert proact("eval", *options, "--out", "run")[0] == 0
    declared = benchmark_named("mine.py")
    settings = declared.settings_type()
    program, judge = declared.program(settings, Start(), {}), declared.judge(settings, Start())
    for case in declared.read("sample", settings).cases:
        (call,) = answer_calls(declared, case, program, settings)
        assert list(call.messages) in [sent.messages for sent in server.of("assistant")]
        (call,) = grade_calls(declared, case, declared.answer_type(reply="Tomorrow."), judge, settings)
        assert list(call.messages) in [sent.messages for sent in server.of("judge")]


ANSWERS = """    async def answer(self, case, ask):
        return self.answer_of(await ask(message=case.view.message))

"""


@pytest.mark.parametrize(
    ("was", "becomes", "role", "calls"),
    [
        ("    def feedback(", f"{ANSWERS}    def feedback(", "assistant", "at least 8 calls"),
        (
            "        judged = await",
            "        int(answer.reply)\n        judged = await",
            "judge",
            "at least 8 calls",
        ),
        (
            "        judged = await",
            '        if "word" in answer.reply:\n            return Scored(0, "VAGUE", None)\n        judged = await',
            "judge",
            "0 calls",
        ),
    ],
    ids=["an answer of its own", "a grade that an assumed answer breaks", "a grade without a question"],
)
def test_what_rendering_cannot_know_is_not_counted(fresh, proact, tmp_path, was, becomes, role, calls):
    write_mine(tmp_path, was, becomes)
    out = proact("eval", *NAMED, "--model", "openai/gpt-4o", "--judge", "openai/gpt-5.4", "--dry-run")[1]
    assert f"{role}: {calls}" in out


def test_a_tuple_where_a_signature_has_a_list_is_no_warning_a_call(fresh, proact, tmp_path, caplog):
    """A frozen view has tuples; a logger of DSPy's, which passes nothing on, would say so once a call."""
    logging.getLogger("dspy.predict.predict").addHandler(caplog.handler)
    path = write_mine(tmp_path, "    message: str\n", "    message: str\n    notes: tuple[str, ...] = ()\n")
    text = path.read_text("utf-8").replace('"message -> reply"', '"message, notes: list[str] -> reply"')
    path.write_text(text, "utf-8")
    assert proact("eval", *NAMED, "--out", "run")[0] == 0
    logging.getLogger("dspy.predict.predict").removeHandler(caplog.handler)
    assert caplog.messages == []


def test_the_template_runs_as_it_stands_and_is_named_as_its_file(fresh, proact):
    status, _, err = proact("benchmarks", "new", "My shop.py")
    assert (status, "Next: dspy-proact eval --benchmark 'My shop.py'" in err) == (0, True), err
    assert proact("eval", "--benchmark", "My shop.py", "--out", "run")[0] == 0
    document = json.loads(proact("report", "run", "--json")[1])
    assert document["run"]["benchmark"] == "my-shop"
    assert (document["cases"]["scored"], document["strata"]["TIME"]["right"]) == (6, 1)


def test_its_bare_chat_sends_the_message_alone_after_a_system_prompt_if_there_is_one(fresh, proact, server):
    server.script = lambda sent: Answer("It is 21.")
    assert proact("benchmarks", "new", "chat.py")[0] == 0
    options = ["--benchmark", "chat.py", *of_server(server)[:4]]
    assert proact("eval", *options, "--out", "bare")[0] == 0
    assert {tuple(message["role"] for message in sent.messages) for sent in server.sent} == {("user",)}
    server.sent.clear()
    assert proact("eval", *options, "--system-prompt", "Count.", "--limit", 1, "--out", "prompted")[0] == 0
    assert [message["role"] for message in server.sent[0].messages] == ["system", "user"]
    assert server.sent[0].messages[0]["content"] == "Count."


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("mine.py", "mine.py: exists, and is not replaced"),
        ("mine", "mine: a benchmark is a Python file; give it a name such as mine.py"),
        ("-.py", "-.py: a benchmark is a Python file; give it a name such as mine.py"),
        ("missing/mine.py", "missing/mine.py: cannot be written: No such file or directory"),
    ],
)
def test_a_template_that_cannot_be_written_is_refused(proact, tmp_path, file, message):
    (tmp_path / "mine.py").write_text("kept", "utf-8")
    status, _, err = proact("benchmarks", "new", "--", file)
    assert (status, message in err) == (2, True), err
    assert (tmp_path / "mine.py").read_text("utf-8") == "kept"


def test_a_file_with_the_name_of_a_benchmark_of_the_package_is_refused(fresh, proact, tmp_path, probe):
    """Its runs would be read as those of the other."""
    write_mine(tmp_path, '"next-step"', '"probe"')
    status, _, err = proact("eval", *NAMED, "--out", "run")
    text = " ".join(err.split())
    assert (status, "`name`: 'probe' is a benchmark of this package; give another name" in text) == (2, True), err
