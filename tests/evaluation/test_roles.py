"""Further roles of a benchmark go through the gate as assistant and judge do, and no other model goes past it."""

import json

import dspy
import pytest
from builders.benchmarks import (
    ERRAND_CALLS,
    Contest,
    Errands,
    Refereed,
    contest,
    contestant,
    errand,
    errands,
    fields,
    write_mine,
)

from dspy_proact import (
    AssistantTarget,
    Compile,
    Evaluation,
    Gate,
    Limits,
    ModelSpec,
    Recipe,
    Trial,
    open_model,
    summarize,
)
from dspy_proact.calls import Price
from dspy_proact.errors import LimitReached, RunError, SetupFault, UsageError
from dspy_proact.evaluation.participant import role_of
from dspy_proact.report import compare, summary_document
from dspy_proact.runs import RunFolder, Scope

REAL = {"model": ModelSpec(name="hosted_vllm/any", api_base="http://127.0.0.1:9/v1"), "benchmark": Errands()}
FOREIGN = dspy.LM("openai/foreign", api_key="none")


def test_roles_are_recorded_counted_and_priced_and_are_part_of_what_a_run_is(server, tmp_path):
    server.script = errand
    user = ModelSpec(name="hosted_vllm/user", api_base=server.base("user"), price=Price(prompt=1.0, completion=0.0))
    errands(server, user=user).run(tmp_path / "run", Scope(limit=1))
    assert [call.role for call in RunFolder(tmp_path / "run").calls()] == [sent.role for sent in server.sent]
    assert [sent.role for sent in server.sent] == list(ERRAND_CALLS)
    document = summary_document(summarize(tmp_path / "run"))
    # The server counts 11 tokens a prompt.
    assert {role: (usage["calls"], usage["usd"]) for role, usage in document["usage"].items()} == {
        "assistant": (4, None),
        "desk": (2, None),
        "user": (2, 22.0),
    }
    assert document["run"]["roles"] == {"user": "hosted_vllm/user", "desk": "hosted_vllm/desk"}
    errands(server, user="embedded").run(tmp_path / "other", Scope(limit=1))
    compared = compare(*(summarize(tmp_path / name) for name in ("run", "other")))
    assert ("roles.user.model", "hosted_vllm/user", "embedded") in compared.changed
    assert not compared.judged_alike
    assert "with user embedded and desk hosted_vllm/desk, graded by" in compared.b.graded_by
    with pytest.raises(RunError, match=r"roles\.user\.model"):
        errands(server, user="embedded").run(tmp_path / "run")


def test_a_run_that_stops_at_every_second_call_pays_no_call_twice(server, tmp_path):
    server.script = errand
    errands(server).run(tmp_path / "complete", few := Scope(limit=2))
    uninterrupted = sorted(sent.wire for sent in server.sent)
    server.sent.clear()
    with pytest.raises(LimitReached):
        errands(server, limits=Limits(calls=2)).run(tmp_path / "stopped", few)
    assert len(server.sent) == 2
    for _ in range(len(uninterrupted)):
        try:
            errands(server, limits=Limits(calls=2)).run(tmp_path / "stopped", few)
            break
        except LimitReached:
            pass
    assert sorted(sent.wire for sent in server.sent) == uninterrupted
    (complete, stopped) = (summarize(tmp_path / name) for name in ("complete", "stopped"))
    assert (stopped.usage, stopped.micro.weighted) == (complete.usage, complete.micro.weighted)
    assert complete.micro.weighted.value == 1.0


def test_stand_ins_play_the_roles_beside_the_stand_in_and_the_report_says_which(tmp_path, server):
    Evaluation("wishes", benchmark=Errands()).run(tmp_path / "run")
    summary = summarize(tmp_path / "run")
    assert (summary.micro.weighted.value, [usage.calls for usage in summary.usage.values()]) == (1.0, [16, 8, 8])
    server.script = errand
    errands(server, user="embedded").run(tmp_path / "mixed", Scope(limit=1))
    assert ("user", "embedded") in summarize(tmp_path / "mixed").roles
    assert summarize(tmp_path / "mixed").embedded


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (REAL, r"errands declares no model of its user: name it with `roles\.user`"),
        (REAL | {"roles": {"usr": "embedded"}}, r"`roles\.usr`: errands has no such role; it has user, desk"),
        ({"benchmark": Contest(), "roles": {"user": "embedded"}}, "contest has no such role; leave it out"),
        (
            REAL | {"roles": {"user": ModelSpec(name="hosted_vllm/u", params={"temprature": 1})}},
            r"`roles\.user\.params` temprature: .* did you mean temperature",
        ),
        (
            REAL | {"roles": {"user": "hosted_vllm/u"}, "gate": Gate(limits=Limits(usd=1.0))},
            r"give `(model|roles\.user)\.price=IN,OUT`",
        ),
    ],
)
def test_a_role_that_cannot_be_played_is_refused_before_any_call(arguments, message):
    with pytest.raises(UsageError, match=message):
        Evaluation("wishes", **arguments)


def test_a_role_without_a_stand_in_must_be_named():
    class Alone(Errands):
        def stand_in(self, role):
            return None if role == "user" else super().stand_in(role)

    with pytest.raises(UsageError, match=r"there is no stand-in of the user; name a model with `roles\.user`"):
        Evaluation("wishes", benchmark=Alone())


def test_a_trial_asks_the_roles(server):
    server.script = errand
    evaluation = errands(server)
    spec = ModelSpec(name="hosted_vllm/assistant", api_base=server.assistant)
    roles = {role: ModelSpec(name=f"hosted_vllm/{role}", api_base=server.base(role)) for role in ("user", "desk")}
    trial = Trial(spec, None, benchmark=Errands(), roles=roles, gate=Gate(retries=0))
    (pair,) = trial.run(evaluation.case_set.cases[:1]).pairs
    assert (pair.bare.error, [call.role for call in pair.bare.calls]) == (None, list(ERRAND_CALLS))


# No model outside the gate


def test_a_part_of_a_program_with_a_model_of_its_own_is_refused_before_any_call():
    def guesser(change):
        program = Contest().program(None, None, {})
        change(program)
        return program

    def nested(program):
        program.inner = {"agent": dspy.ReAct("text -> guess", tools=[])}
        program.inner["agent"].react.lm = FOREIGN

    programs = {
        "solve": guesser(lambda program: setattr(program.solve, "lm", FOREIGN)),
        "think": guesser(lambda program: program.set_lm(FOREIGN)),
        r"inner\[agent\]\.react": guesser(nested),
        "Guesser": guesser(lambda program: setattr(program, "helper", FOREIGN)),
    }
    for where, program in programs.items():
        with pytest.raises(UsageError, match=rf"^{where}: has a model of its own, openai/foreign"):
            Evaluation("riddles", REAL["model"], benchmark=Contest(), program=program)
    judge = Refereed().judge(None, None)
    judge.lm = FOREIGN
    judged = {"judge": REAL["model"], "judge_program": judge}
    for kind, named in ((Evaluation, judged), (Trial, {"program": judge})):
        with pytest.raises(UsageError, match="has a model of its own"):
            kind(model=REAL["model"], benchmark=Refereed(), **named)


def test_a_model_that_came_through_another_gate_is_another_model_and_one_of_the_roles_is_not(server, tmp_path):
    server.script = errand
    program = errands(server)._assistant.ask.program
    other = open_model("embedded", role_of(Errands(), "user"), Gate())
    program.look.lm = other.lm
    with pytest.raises(UsageError, match="look: has a model of its own, embedded"):
        Evaluation("wishes", benchmark=Errands(), program=program)

    class Shared(Errands):
        def program(self, settings, start, roles):
            program = super().program(settings, start, roles)
            program.look.lm = roles["desk"]
            return program

        def stand_in(self, role):
            both = {"question": "Where are the keys?", "finding": "on the table"}
            return (lambda *_: both) if role == "desk" else super().stand_in(role)

    Evaluation("wishes", benchmark=Shared()).run(tmp_path / "run")
    usage = summarize(tmp_path / "run").usage
    assert {role: usage[role].calls for role in usage} == {"assistant": 8, "user": 8, "desk": 16}


@pytest.mark.parametrize("how", ["made", "context"])
def test_a_model_that_a_program_makes_while_it_runs_is_refused_before_it_is_called(server, tmp_path, how):
    class Smuggler(dspy.Module):
        def __init__(self):
            super().__init__()
            self.solve = dspy.Predict("text -> thought, guess, trick: bool")

        async def aforward(self, text):
            lm = dspy.LM("openai/foreign", api_base=server.base("foreign"), api_key="none", cache=False)
            if how == "made":
                await lm.acall("hello")
            with dspy.context(lm=lm):
                return await self.solve.acall(text=text)

    evaluation = Evaluation(
        "riddles", ModelSpec(name="hosted_vllm/any", api_base=server.assistant), benchmark=Contest(), program=Smuggler()
    )
    with pytest.raises(SetupFault, match="the program calls a model of its own, openai/foreign"):
        evaluation.run(tmp_path / "run")
    assert server.sent == []


def test_what_a_benchmark_asks_by_itself_goes_to_the_model_under_test_whatever_a_person_has_configured(
    server, tmp_path, monkeypatch
):
    class Asking(Contest):
        async def answer(self, case, ask):
            guessed = await dspy.Predict("text -> thought, guess, trick: bool").acall(text=case.view.text)
            return self.answer_of(guessed)

    server.script = lambda sent: fields(thought="none", guess="an echo", trick=True)
    model = ModelSpec(name="hosted_vllm/any", api_base=server.assistant)
    with dspy.context(lm=dspy.LM("openai/foreign", api_base=server.base("foreign"), api_key="none")):
        Evaluation("riddles", model, benchmark=Asking()).run(tmp_path / "run", Scope(limit=2))
        assert [sent.role for sent in server.sent] == ["assistant"] * 2
        assert summarize(tmp_path / "run").usage["assistant"].calls == 2

        class Judging(Contest):
            async def grade(self, case, answer, ask):
                return await dspy.Predict("guess -> right: bool").acall(guess=answer.guess)

        server.script = contestant
        evaluation = contest(server.assistant)
        evaluation._declared = Judging()
        with pytest.raises(SetupFault, match="calls a model of its own, openai/foreign"):
            evaluation.run(tmp_path / "judged", Scope(limit=1))
    assert "foreign" not in {sent.role for sent in server.sent}


def test_a_model_that_a_program_makes_while_it_is_compiled_is_refused_too(server, tmp_path):
    program = (
        """return dspy.Predict(dspy.Signature("message -> reply", start.prompt or "Answer a customer's message."))"""
    )
    smuggling = f"""
        class Smuggler(dspy.Predict):
            async def aforward(self, **inputs):
                await dspy.LM("openai/foreign", api_base="{server.base("foreign")}", api_key="none").acall("hello")

        return Smuggler("message -> reply")"""
    target = AssistantTarget(benchmark=str(write_mine(tmp_path, program, smuggling)))
    with pytest.raises(SetupFault, match="calls a model of its own, openai/foreign"):
        Compile(target, Recipe(folds=2, trials=2)).run(tmp_path / "compile")
    assert server.sent == []


# The command line

FILE = """
from builders.benchmarks import Errands

class Mine(Errands):
    name = "mine"
"""


def test_options_name_the_model_of_a_role_and_messages_name_the_options(server, proact, done, tmp_path):
    server.script = errand
    (tmp_path / "mine.py").write_text(FILE)
    base = ["--benchmark", "mine.py", "--corpus", "wishes", "--limit", 1, "--model", "hosted_vllm/assistant"]
    base += ["--model-api-base", server.assistant, "--role-api-base", f"desk={server.base('desk')}"]
    user = ["--role", "user=hosted_vllm/user", "--role-api-base", f"user={server.base('user')}"]
    user += ["--role-param", "user.temperature=0.25", "--role-price", "user=1,2"]
    out, err = done("eval", *base, *user, "--dry-run")
    assert "user: at least 1 calls" in out
    assert "user hosted_vllm/user is sent temperature=0.25" in out
    out, err = done("eval", *base, *user, "--out", "run", "--json")
    assert json.loads(out)["usage"]["user"]["usd"] == pytest.approx(2 * (11 + 2 * 7) / 1e6)
    assert {sent.body["temperature"] for sent in server.of("user")} == {0.25}
    assert {sent.role for sent in server.sent} == {"assistant", "user", "desk"}
    wrong = {
        ("--role", "usr=embedded"): "--role usr: mine has no such role; it has user, desk",
        (): "mine declares no model of its user: name it with --role user; --role user=embedded is the stand-in",
        ("--role", "user"): "'user' is not ROLE=NAME",
        ("--role", "user=a", "--role", "user=b"): "--role user: given twice",
        (*user, "--role-param", "user.max_tokns=3"): "--role-param user.max_tokns: is not a decoding parameter",
        (*user, "--role-param", "user.max_tokens=none", "--max-tokens", 9): "--role-param user.max_tokens=N",
    }
    for words, message in wrong.items():
        status, _, err = proact("eval", *base, *words, "--out", "other")
        assert (status, message in " ".join(err.split())) == (2, True), err
    status, _, err = proact("eval", "--role", "user=embedded")
    assert (status, "--role: proactbench has no further roles; leave it out" in " ".join(err.split())) == (2, True), err


def test_what_to_type_next_after_a_trial_repeats_the_roles_and_hides_secrets(server, done, tmp_path):
    server.script = errand
    (tmp_path / "mine.py").write_text(FILE)
    words = ["--benchmark", "mine.py", "--corpus", "wishes", "--case", "wish-0", "--model", "hosted_vllm/assistant"]
    words += ["--model-api-base", server.assistant, "--role", "user=embedded"]
    words += [
        "--role-api-base",
        f"desk={server.base('desk')}",
        "--role-param",
        'desk.extra_body={"api_token": "s3cret"}',
    ]
    out, err = done("try", *words)
    assert "hosted_vllm/assistant, user embedded, desk hosted_vllm/desk" in out
    following = err.partition("Next: ")[2]
    assert "--role user=embedded" in following
    assert "--role-param 'desk.extra_body=" in following
    assert "s3cret" not in following
