"""Several judges, each asked several times: who is called how often, what is kept, and what one of them can spoil.

Over real HTTP; `kind` and `strict` are models of one server, told apart by the name in the request.
"""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builders.dialogues import corpus, row
from drivers.client import spec, specs
from fakes.server import Answer, Sent, Server, error, healthy, verdict

from dspy_proact import Corpus, Evaluation, Gate
from dspy_proact.calls import Price
from dspy_proact.errors import RunError, UsageError
from dspy_proact.runs import RunFolder, Scope, StageKey

KIND, STRICT = "openai/kind", "openai/strict"
JURY = (KIND, STRICT)
QUOTE = "label the boxes today"


def dialogues(folder: Path, count: int = 1) -> Corpus:
    """Dialogues with three triggers each."""
    return corpus(folder, *(row(unique_id_eval=f"d{number}") for number in range(count)))


def evaluation(server: Server, read: Corpus, judge: Any = JURY, calls: Any = None, **text: Any) -> Evaluation:
    """Of judges at the server, with what is said of each of them, and how calls are made."""
    judges = specs(judge, **({"api_base": server.judge} | text))
    return Evaluation(read, spec("hosted_vllm/any", server.assistant), judges, gate=Gate(retries=0, **(calls or {})))


def judges(**scripts: Callable[[Sent], Answer]) -> Callable[[Sent], Answer]:
    """A script for the judges by their names; any other is healthy."""
    return lambda sent: scripts.get(sent.body["model"], healthy)(sent)


def calls_of(server: Server) -> Counter[str]:
    """Requests of each judge."""
    return Counter(f"openai/{sent.body['model']}" for sent in server.of("judge"))


def test_every_judge_grades_every_response_as_often_as_asked_and_hears_of_no_other_verdict(
    server: Server, tmp_path: Path
):
    count: Counter[tuple[str, str]] = Counter()

    def numbered(sent: Sent) -> Answer:
        name = sent.body["model"]
        count[name, json.dumps(sent.messages)] += 1
        again = count[name, json.dumps(sent.messages)]
        return Answer(verdict({"kind": "PASS", "strict": "FAIL"}[name], [QUOTE], f"canary of {name}, time {again}"))

    server.script_roles(judge=numbered)
    jury = evaluation(server, dialogues(tmp_path), calls={"concurrency": 1})
    finished = jury.run(tmp_path / "run", Scope(judge_epochs=2))
    assert (finished.stages, finished.unscored) == (15, 0)  # 3 triggers x (1 response + 2 judges x 2 verdicts)
    assert (len(server.of("assistant")), calls_of(server)) == (3, {KIND: 6, STRICT: 6})
    # Nothing is answered from a cache, and each is asked the same.
    assert sorted(Counter(json.dumps(sent.messages) for sent in server.of("judge")).values()) == [4, 4, 4]
    assert not [sent for sent in server.sent if "canary" in sent.text]
    kept = {event.key: event.grade for event in RunFolder(tmp_path / "run").events() if event.grade}
    assert kept.keys() == {
        StageKey(case=case.key, epoch=1, stage="verdict", judge=judge, judge_epoch=again)
        for case in RunFolder(tmp_path / "run").cases()
        for judge in JURY
        for again in (1, 2)
    }
    for key, grade in kept.items():
        name = (key.judge or "").removeprefix("openai/")
        assert grade.label == {"kind": "PASS", "strict": "FAIL"}[name]
        assert grade.detail["reasoning"] == f"canary of {name}, time {key.judge_epoch}"


def test_failures_of_two_judges_by_turns_are_not_one_providers(server: Server, tmp_path: Path):
    count: Counter[str] = Counter()

    def now_and_then(sent: Sent) -> Answer:
        count[sent.body["model"]] += 1
        return error(500) if count[sent.body["model"]] % 6 else healthy(sent)

    server.script_roles(judge=now_and_then)
    # Each judge fails five times in a row, together they fail ten times; nobody is down.
    evaluation(server, dialogues(tmp_path, 4), calls={"concurrency": 1}).run(tmp_path / "run")
    assert calls_of(server) == {KIND: 12, STRICT: 12}


def test_a_jury_is_another_run_than_each_of_its_judges_in_whatever_order_they_are_named(server: Server, tmp_path: Path):
    read = dialogues(tmp_path)
    jury, turned, *lone = (evaluation(server, read, judge) for judge in (JURY, (STRICT, KIND), KIND, STRICT))
    assert len({entry.manifest.identity.digest() for entry in (jury, turned, *lone)}) == 3
    assert [judge.model for judge in jury.manifest.identity.judges] == list(JURY)
    assert jury.manifest.identity.judge_name == f"{KIND} + {STRICT}"
    assert jury.default_folder.name.startswith("proactbench--hosted_vllm_any--openai_kind+openai_strict--")
    jury.run(tmp_path / "run")
    for item in lone:
        with pytest.raises(RunError, match=r"holds another run, which differs in judges\."):
            item.run(tmp_path / "run")
    server.sent.clear()
    assert (turned.run(tmp_path / "run").stages, server.sent) == (0, [])


def test_a_fault_of_any_judge_is_found_when_the_jury_is_made(server: Server, tmp_path: Path):
    with pytest.raises(UsageError, match="'nonsense/judge'"):
        evaluation(server, dialogues(tmp_path), (KIND, "nonsense/judge"))
    keyless = evaluation(server, dialogues(tmp_path), ("embedded", STRICT), api_base=None)
    assert keyless.forecast(tmp_path / "run").calls
    with pytest.raises(UsageError, match="`judge` openai/strict: no key"):
        keyless.run(tmp_path / "run")
    assert server.sent == []


def test_the_plan_of_a_jury_prices_each_of_its_judges(server: Server, tmp_path: Path):
    read, price = dialogues(tmp_path), Price(prompt=1e-6, completion=1e-5, reason="given")
    one, jury = (evaluation(server, read, judge, price=price) for judge in (KIND, JURY))
    plan, half = jury.forecast().judge, one.forecast().judge
    assert (plan.prompt_tokens, plan.usd) == (2 * half.prompt_tokens, pytest.approx([2 * usd for usd in half.usd]))
    assert evaluation(server, read, (KIND, "openai/gpt-4o")).forecast().judge.usd is None  # `kind` has no list price
