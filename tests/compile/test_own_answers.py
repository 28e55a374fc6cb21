"""A compile asks what a benchmark's `answer` asks: several calls, histories and further roles, as a run does."""

import asyncio
import hashlib
import json
import shlex
from collections import Counter
from dataclasses import replace
from typing import Any, ClassVar

import dspy
import pytest
from builders.assistants import prompt_of
from builders.benchmarks import Attempt, Errands, Helper, Refereed, Remark, Reply, Rules, fields
from builders.judges import study
from builders.riddles import Riddle
from fakes.server import Answer, Sent, Server, shuffled

from dspy_proact import (
    AssistantTarget,
    Case,
    CaseSet,
    Compile,
    ContentError,
    Evaluation,
    Gate,
    JudgeTarget,
    Limits,
    Measure,
    ModelSpec,
    Recipe,
    Scored,
    summarize,
)
from dspy_proact.compile.chains import ChainAnswers, in_turns
from dspy_proact.compile.folds import joined
from dspy_proact.errors import LimitReached, UsageError
from dspy_proact.evaluation.benchmark import CallForecast
from dspy_proact.evaluation.tuning import Tuning
from dspy_proact.programs.embedded import proposer
from dspy_proact.runs import ExpectedCall, Scope

WISH = dspy.Signature("wish -> message")


class Talks(Errands):
    """Eight talks of four people, graded by what every call of an answer has given."""

    name = "talks"
    labels = ("GOOD", "FAIR", "POOR")
    roles: ClassVar = {}
    measures = (Measure(name="words", title="words", parts=("words",), higher_is_better=False),)
    chain = ""

    def read(self, corpus, settings, revision=None):
        return CaseSet.of("talks", [self._case(number) for number in range(8)])

    def _case(self, number):
        person = f"person-{number % 4}"
        view = Riddle(text=f"talk {number}")
        return Case(f"talk-{number}", person, "all", view, chain=self.chain and f"{self.chain} {person}")

    def program(self, settings, start, roles):
        return dspy.Predict("message -> reply")

    async def grade(self, case, answer, ask):
        number = int(hashlib.sha256(answer.reply.encode()).hexdigest(), 16) % 3
        words = len(answer.reply.split())
        return Scored(number / 2, self.labels[::-1][number], Remark(words=words), parts={"words": words})


class Twice(Talks):
    """Three calls an answer, two of them at once."""

    name = "twice"

    async def answer(self, case, ask):
        one, other = await asyncio.gather(ask(message=case.view.text), ask(message=f"again: {case.view.text}"))
        last = await ask(message=f"{one.reply} or {other.reply}?")
        return Reply(message=case.view.text, reply=f"{one.reply} {other.reply} {last.reply}")


class Remembering(Talks):
    """Each answer rests on those before it in its chain, some of which cannot be used."""

    name = "remembering"
    chain = "of"

    async def answer(self, case, ask):
        before = "; ".join(earlier.reply if earlier else "nothing" for earlier in ask.earlier)
        reply = (await ask(message=f"{case.view.text}, after {before}")).reply
        if case.key == "talk-5":
            raise ContentError("empty", "nothing can be made of it")
        return Reply(message=case.view.text, reply=reply)


class Visited(Talks):
    """A user writes, asked by a predictor and by its bare model; the program's tool asks a desk."""

    name = "visited"
    roles: ClassVar = {"user": None, "desk": None}

    def program(self, settings, start, roles):
        return Helper(roles)

    async def answer(self, case, ask):
        user = dspy.Predict(WISH)
        first = await ask(message=(await user.acall(wish=case.view.text, lm=ask.roles["user"])).message)
        (back,) = await ask.roles["user"].acall(f"{case.view.text}: {first.reply}")
        return Reply(message=back, reply=f"{first.reply} {(await ask(message=back)).reply}")


class Everything(Talks):
    """All of that in one answer, and program and user are asked at once."""

    name = "everything"
    roles: ClassVar = {"user": None}
    chain = "of"

    async def answer(self, case, ask):
        before = "; ".join(earlier.reply if earlier else "nothing" for earlier in ask.earlier)
        user = ask.roles["user"]
        message = (await dspy.Predict(WISH).acall(wish=case.view.text, lm=user)).message
        reply, (back,) = await asyncio.gather(ask(message=message), user.acall(f"{case.view.text}: {before}"))
        last = await ask(message=f"{reply.reply} {back} {before}")
        return Reply(message=back, reply=f"{reply.reply} {last.reply}")


KINDS = (Twice, Remembering, Visited, Everything)


def answers(sent: Sent) -> Answer:
    """A word that the request decides, for every field; an instruction of the proposer's changes it."""
    if sent.role == "proposer":
        return Answer(proposer.answer(*prompt_of(sent)))
    word = word_of(sent)
    return fields(message=word, question=word, finding=word, reply=f"{word} it is")


def word_of(sent: Sent) -> str:
    return f"w{hashlib.sha256(json.dumps(sent.messages).encode()).hexdigest()[:6]}"


def named(server: Server, kind: type[Talks]) -> dict[str, Any]:
    """The models of a benchmark at a server."""
    model, *roles = (
        ModelSpec(name=f"hosted_vllm/{role}", api_base=server.base(role)) for role in ("assistant", "user", "desk")
    )
    further = dict(zip(kind.roles, roles, strict=False))
    return {"model": model, "benchmark": kind(), "roles": further}


def compiling(
    server: Server, kind: type[Talks], optimizer: Any = "search", limit: int | None = None, **gate: Any
) -> Compile:
    writer = ModelSpec(name="hosted_vllm/proposer", api_base=server.base("proposer"))
    target = AssistantTarget("talks", proposer=writer, limit=limit, **named(server, kind))
    return Compile(target, Recipe(optimizer=optimizer, trials=2, folds=2, max_demos=1), Gate(**{"retries": 0} | gate))


def wires(server: Server) -> Counter[str]:
    return Counter(sent.wire for sent in server.sent if sent.role != "proposer")


@pytest.mark.parametrize("kind", KINDS)
def test_before_is_what_a_run_scores_and_the_program_is_one_for_runs(server, tmp_path, kind):
    server.script = answers
    Evaluation("talks", gate=Gate(retries=0), **named(server, kind)).run(tmp_path / "run")
    summary, in_run = summarize(tmp_path / "run"), wires(server)
    server.sent.clear()
    finished = compiling(server, kind).run(tmp_path / "compile")
    card = finished.artefact.card
    assert set(wires(server).values()) == {1}  # nothing is paid for twice
    assert in_run.keys() <= wires(server).keys()
    scored = summary.micro.weighted if kind is not Remembering else summary.micro.strict_weighted
    assert card.target.before.value == pytest.approx(scored.value, abs=1e-12)
    (words,) = [row for row in card.rows if row.name == "words"]
    assert words.before.value == pytest.approx(summary.measured(summary.outcomes)["words"].value, abs=1e-12)
    assert set(card.provenance.models) == {"assistant", "proposer", *kind.roles}

    server.script = shuffled(answers, seed=1)
    server.sent.clear()
    again = compiling(server, kind, concurrency=3).run(tmp_path / "again")
    assert again.artefact.states == finished.artefact.states
    Evaluation("talks", gate=Gate(retries=0), program=finished.path, **named(server, kind)).run(tmp_path / "after")
    assert summarize(tmp_path / "after").micro.weighted.value is not None


@pytest.mark.parametrize("optimizer", ["bootstrap", "miprov2", "gepa"])
def test_every_optimizer_ends_with_answers_of_every_kind_and_pays_nothing_twice(server, tmp_path, optimizer):
    server.script = answers
    complete = compiling(server, Everything, optimizer).run(tmp_path / "complete")
    sent = wires(server)
    assert set(sent.values()) == {1}
    server.sent.clear()
    with pytest.raises(LimitReached):
        compiling(server, Everything, optimizer, limits=Limits(calls=complete.paid // 2)).run(tmp_path / "parts")
    resumed = compiling(server, Everything, optimizer).run(tmp_path / "parts")
    assert (wires(server), resumed.artefact.states) == (sent, complete.artefact.states)


class Foreseen(Everything):
    """Two calls of the program and two of the user's, each told before; every chain has two cases."""

    forecast = CallForecast(
        lambda case, program, settings: [ExpectedCall([], (1, 5), role=role) for role in (None, None, "user", "user")]
    )


@pytest.mark.parametrize("optimizer", ["search", "gepa"])
def test_no_more_is_asked_than_is_forecast_of_answers_in_chains(server, tmp_path, optimizer):
    server.script = answers
    tried = compiling(server, Foreseen, optimizer)
    forecast = tried.forecast()
    assert (forecast.unknown, forecast.roles["user"].calls) == ((), forecast.roles["assistant"].calls)
    tried.run(tmp_path / "compile")
    assert 0 < len(server.of("user")) <= forecast.roles["user"].calls
    assert 0 < len(server.of("assistant")) <= forecast.roles["assistant"].calls


class Voting(Talks):
    """An answer that asks the same three times."""

    async def answer(self, case, ask):
        replies = await asyncio.gather(*(ask(message=case.view.text) for _ in range(3)))
        return Reply(message=case.view.text, reply=" ".join(one.reply for one in replies))


def test_an_answer_that_asks_the_same_several_times_has_as_many_replies_as_in_a_run(server, tmp_path):
    def counting(sent):
        return fields(reply=f"{word_of(sent)} the {wires(server)[sent.wire]}")

    server.script = counting
    Evaluation("talks", gate=Gate(retries=0, concurrency=1), **named(server, Voting)).run(tmp_path / "run")
    assert set(wires(server).values()) == {3}
    server.sent.clear()
    card = compiling(server, Voting).run(tmp_path / "compile").artefact.card
    assert set(wires(server).values()) == {3}
    assert card.target.before.value == summarize(tmp_path / "run").micro.weighted.value


def test_a_program_answers_each_case_of_a_chain_once_however_many_need_it():
    cases = [
        Case(f"{chain}{number}", chain, "all", Riddle(text=""), chain=chain) for number in range(5) for chain in "ab"
    ]
    known, requests = ChainAnswers(cases), []

    def answer(case, earlier):
        requests.append((case.key, earlier))
        return None if case.key == "a1" else case.key

    program = dspy.Predict("a -> b")
    before = [known.before(program, case, answer) for case in cases[::-1] + cases]
    assert before[-2:] == [("a0", None, "a2", "a3"), ("b0", "b1", "b2", "b3")]
    assert len(requests) == 8
    assert dict(requests)["a3"] == ("a0", None, "a2")
    program.signature = program.signature.with_instructions("Otherwise.")  # as an optimizer may change it in place
    known.before(program, cases[2], answer)
    assert len(requests) == 9
    alone = Case("alone", "a", "all", Riddle(text=""))
    assert known.before(program, alone, answer) == ()


def test_first_cases_of_chains_come_before_second_ones():
    cases = [Case(f"{chain}{number}", "", "all", Riddle(text=""), chain=chain) for chain in "ab" for number in range(3)]
    alone = [Case(f"alone{number}", "", "all", Riddle(text="")) for number in range(2)]
    keys = [case.key for case in in_turns([*cases, *alone])]
    assert keys == ["alone0", "alone1", "a0", "b0", "a1", "b1", "a2", "b2"]


def test_a_chain_is_in_one_fold_whatever_its_groups_and_the_rules_of_units():
    cases = [
        Case(f"{number}", f"group-{number}", "all", Riddle(text=f"{number}"), chain=f"{number // 2}")
        for number in range(6)
    ]
    units = joined({case.key: case.group for case in cases}, cases)
    assert [units["0"] == units["1"], units["2"] == units["3"], units["1"] == units["2"]] == [True, True, False]


def test_a_program_whose_predictor_has_the_model_of_a_role_is_refused_with_the_way_out():
    class Shared(Visited):
        def program(self, settings, start, roles):
            program = super().program(settings, start, roles)
            program.look.lm = roles["desk"]
            return program

        def stand_in(self, role):
            return lambda *_: {}

    with pytest.raises(UsageError, match="look: asks the model of the desk, and a compile tunes what asks the model"):
        AssistantTarget("talks", benchmark=Shared(), roles={"user": "embedded", "desk": "embedded"})

    class Proposing(Shared):
        roles: ClassVar = {"proposer": None}

    with pytest.raises(UsageError, match=r"`roles\.proposer`: a compile has a proposer of its own; rename the role"):
        AssistantTarget("talks", benchmark=Proposing(), roles={"proposer": "hosted_vllm/any"})
    with pytest.raises(UsageError, match=r"declares no model of its user: name it with `roles\.user`"):
        AssistantTarget("talks", "hosted_vllm/any", benchmark=Visited())


def test_what_grade_asks_a_judge_is_one_question_whatever_else_it_awaits():
    class Patient(Refereed):
        async def grade(self, case, answer, ask):
            await asyncio.sleep(0)
            (judged,) = await asyncio.gather(ask(guess=answer.guess))
            return await super().grade(case, answer, replace(ask, program=None)) if judged.right else None

    class Curious(Patient):
        async def grade(self, case, answer, ask):
            await asyncio.gather(ask(guess=answer.guess), ask(guess="another"))

    case, answer = Refereed().read("riddles", Rules()).cases[0], Attempt(thought="", guess="echo", trick=True)
    prediction = dspy.Prediction(right=True)
    question = Tuning(Patient(), Rules()).question(case, answer)
    assert (question.inputs, question.read(prediction).label) == ({"guess": "echo"}, "SOLVED")
    question = Tuning(Curious(), Rules()).question(case, answer)
    with pytest.raises(UsageError, match="`grade` asks several questions about the answer to 'riddle-0'; a compile of"):
        question.read(prediction)
    with pytest.raises(UsageError, match="`grade` asks no judge about the answer to 'riddle-0'"):
        Tuning(Silent(), Rules()).question(case, answer)


class Silent(Refereed):
    async def grade(self, case, answer, ask):
        return await super().grade(case, answer, replace(ask, program=None))


# How many cases


def test_a_limit_takes_the_cases_of_a_run_and_is_another_compile(server, tmp_path):
    server.script = answers
    Evaluation("talks", gate=Gate(retries=0), **named(server, Twice)).run(tmp_path / "run", Scope(limit=5))
    few = compiling(server, Twice, limit=5)
    assert {case.key for case in few.target.items} == {outcome.key for outcome in summarize(tmp_path / "run").outcomes}
    everything, all_of_it = compiling(server, Twice), compiling(server, Twice, limit=8)
    assert few.identity.digest() != everything.identity.digest() == all_of_it.identity.digest()
    with pytest.raises(UsageError, match="3 cases of 3 independent groups cannot make 2 folds and leave two of them"):
        compiling(server, Twice, limit=3)
    with pytest.raises(UsageError, match="`limit=0`: must be 1 or more"):
        compiling(server, Twice, limit=0)


def test_a_limit_of_rated_answers_takes_the_first_in_the_order_of_a_run():
    """It goes in rounds over the six scenarios, so that the first six answers are of one each."""
    complete = study(3)
    few, more = JudgeTarget(complete, limit=6), JudgeTarget(complete, limit=9)
    assert len({item.group for item in few.items}) == len(few.items) == 6
    assert {item.key for item in few.items} < {item.key for item in more.items}
    assert few.data.sha256 != JudgeTarget(complete).data.sha256 == JudgeTarget(complete, limit=999).data.sha256


# The command line


def test_options_name_roles_and_limit_and_what_is_not_known_is_not_forecast(server, proact, done, tmp_path):
    server.script = answers
    (tmp_path / "mine.py").write_text(
        "from test_own_answers import Everything\n\nclass Mine(Everything):\n    name = 'mine'\n"
    )
    words = ["optimize", "assistant", "--benchmark", "mine.py", "--corpus", "talks", "--folds", 2, "--trials", 2]
    words += ["--model", "hosted_vllm/assistant", "--model-api-base", server.assistant, "--max-demos", 0]
    words += ["--proposer", "hosted_vllm/proposer", "--proposer-api-base", server.proposer]
    status, _, err = proact(*words, "--dry-run")
    assert (status, "mine declares no model of its user: name it with --role user" in " ".join(err.split())) == (
        2,
        True,
    )
    words += ["--role", "user=hosted_vllm/user", "--role-api-base", f"user={server.base('user')}", "--limit", 6]
    out, err = done(*words, "--dry-run")
    assert "Not known in advance: calls of assistant, user, and so tokens, price and time." in " ".join(out.split())
    status, out, err = proact(*words, "--dry-run", "--json")
    forecast = json.loads(out)
    assert (forecast["calls"], forecast["seconds"], forecast["roles"]["user"]["calls"]) == (None, None, None)
    assert forecast["reason"] == "not known in advance: what is asked of assistant, user"
    assert not server.sent
    status, out, err = proact(*words, "--out", "made")
    assert (status, "of at most" in err) == (0, False), err
    following = shlex.split(err.partition("Next: dspy-proact ")[2])
    assert "user=hosted_vllm/user" in following
    done(*following, "--limit", 2, "--out", "run")
