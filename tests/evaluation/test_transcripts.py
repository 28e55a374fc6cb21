"""Transcripts and prompts: every request as it was sent, every reply as it came, and what was not kept is said."""

import json
import re
from dataclasses import replace

import pytest
from builders.benchmarks import ERRAND_CALLS, Contest, Errands, contest, contestant, errand, errands
from fakes.player import played
from fakes.server import Answer, rows_of

from dspy_proact import Assistant, Evaluation, Gate, Limits, ModelSpec, Rejudging, Responses, Trial, transcript
from dspy_proact.errors import LimitReached, RunError
from dspy_proact.evaluation import registry
from dspy_proact.runs import RunFolder, Scope

pytestmark = pytest.mark.usefixtures("proactbench")


def at(server, **more) -> Evaluation:
    models = (ModelSpec(name="openai/gpt-4o", api_base=base) for base in (server.assistant, server.judge))
    limits = Limits(calls=more.pop("calls", None))
    return Evaluation("sample", *models, gate=Gate(retries=0, concurrency=1, limits=limits), **more)


def exchanges_of(path, case=None, **more):
    folder = RunFolder(path)
    stages = transcript(folder, case or next(folder.cases()).key, **more)
    return [exchange for stage in stages for exchange in stage.exchanges], "; ".join(stage.problem for stage in stages)


def test_a_stage_that_was_broken_off_and_went_on_and_one_that_was_begun_anew_are_rendered(server, tmp_path):
    server.script = lambda sent: Answer("no verdict") if sent.role == "judge" else played(sent)
    run, scope = tmp_path / "run", Scope(limit=1)
    with pytest.raises(LimitReached):
        at(server, calls=2).run(run, scope)
    at(server).run(run, scope)
    server.script = played
    at(server).run(run, Scope(limit=1, retry_unscored=True))
    exchanges, problem = exchanges_of(run)
    assert ([rows_of(exchange.request) for exchange in exchanges], problem) == (
        [sent.rows for sent in server.sent],
        "; ",
    )
    assert [exchange.call.begun for exchange in exchanges] == [1, 1, 1, 2]
    assert [part["text"] for part in exchanges[1].call.parts] == ["no verdict"]
    assert not (run / "messages.jsonl").exists()
    calls = run / "calls.jsonl"
    calls.write_text(calls.read_text("utf-8").replace("no verdict", "a verdict", 1), "utf-8")
    with pytest.raises(RunError, match=r"calls\.jsonl, line 2: was changed, or is of another run"):
        exchanges_of(run)


def test_another_judges_run_is_rendered_from_the_responses_that_it_copied(server, tmp_path):
    at(server).run(tmp_path / "run", Scope(limit=1))
    judge = ModelSpec(name="openai/other", api_base=server.judge)
    Rejudging(Responses.of_run(RunFolder(tmp_path / "run")), judge).run(tmp_path / "again")
    exchanges, problem = exchanges_of(tmp_path / "again")
    assert ([rows_of(exchange.request) for exchange in exchanges], problem) == ([server.sent[-1].rows], "")


def test_a_transcript_of_another_program_says_what_differs(tmp_path):
    Evaluation(system_prompt="Be brief.").run(tmp_path / "run", Scope(limit=1))
    manifest = tmp_path / "run" / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace("Be brief.", "Be long."), "utf-8")
    exchanges, problem = exchanges_of(tmp_path / "run")
    assert problem == "1 of 1 requests cannot be rendered: they were made with another assistant.prompt; "
    assert [exchange.request is None for exchange in exchanges] == [True, False]


def test_requests_of_a_persons_own_benchmark_are_kept_each_message_once_and_read_without_it(
    server, tmp_path, monkeypatch
):
    server.script = contestant
    contest(server.assistant, concurrency=1).run(tmp_path / "run", Scope(limit=3))
    monkeypatch.setattr(registry, "_OWN", {})
    cases = [case.key for case in RunFolder(tmp_path / "run").cases()]
    rendered = [rows_of(one.request) for case in cases for one in exchanges_of(tmp_path / "run", case)[0]]
    assert sorted(map(json.dumps, rendered)) == sorted(json.dumps(sent.rows) for sent in server.sent)
    path = tmp_path / "run" / "messages.jsonl"
    lines = path.read_text("utf-8").splitlines()
    assert len(lines) == len(set(lines)) == 8  # 2 with model, system text and parameters, and the messages of 6 calls
    path.write_text(path.read_text("utf-8").replace("what am I", "who am I"), "utf-8")
    exchanges, problem = exchanges_of(tmp_path / "run")
    assert re.fullmatch(r"2 of 2 requests .*messages\.jsonl: the message \w+ was changed; restore it", problem)
    assert all(one.call.parts and one.request is None for one in exchanges)
    path.write_text("\n".join(lines[:-1]) + "\n", "utf-8")
    (problem,) = filter(None, (exchanges_of(tmp_path / "run", case)[1] for case in cases))
    assert re.fullmatch(r"1 of 2 requests .*messages\.jsonl: the message \w+ is not in it; restore it", problem)
    path.write_text("damaged\n", "utf-8")
    assert "messages.jsonl, line 1: Invalid JSON" in exchanges_of(tmp_path / "run")[1]


def test_calls_of_further_roles_are_kept_rendered_and_shown_before_as_others_are(server, tmp_path, monkeypatch):
    server.script = errand
    (prompt,) = errands(server).prompts(Scope(limit=1))
    errands(server).run(tmp_path / "run", Scope(limit=1))
    kept, _ = exchanges_of(tmp_path / "run")
    monkeypatch.setattr(RunFolder, "requests", lambda *_: {})
    rendered, _ = exchanges_of(tmp_path / "run", benchmark=Errands())
    sent = [sent.rows for sent in server.sent]
    assert [rows_of(one.request) for one in kept] == [rows_of(one.request) for one in rendered] == sent
    assert tuple(one.call.role for one in kept) == ERRAND_CALLS
    assert (prompt.role, prompt.model, rows_of(prompt.request)) == ("user", "hosted_vllm/user", sent[0])


def test_a_benchmark_that_is_not_known_and_kept_nothing_says_how_to_name_it(server, tmp_path, monkeypatch):
    server.script = contestant
    monkeypatch.setattr(RunFolder, "requests", lambda *_: {})
    contest(server.assistant).run(tmp_path / "run", Scope(limit=1))
    exchanges, problem = exchanges_of(tmp_path / "run", benchmark=Contest())
    assert ([exchange.request is not None for exchange in exchanges], problem) == ([True, True], "")
    monkeypatch.setattr(registry, "_OWN", {})
    assert "2 of 2 requests cannot be rendered: no benchmark is called 'contest'" in exchanges_of(tmp_path / "run")[1]
    assert "`benchmark=FILE.py`" in exchanges_of(tmp_path / "run")[1]


def test_a_program_that_a_person_gives_has_its_requests_kept_and_the_judges_are_rendered(server, tmp_path):
    at(server, program=Assistant()).run(tmp_path / "run", Scope(limit=1))
    exchanges, problem = exchanges_of(tmp_path / "run")
    assert ([rows_of(exchange.request) for exchange in exchanges], problem) == (
        [sent.rows for sent in server.sent],
        "; ",
    )
    assert [exchange.call.messages is not None for exchange in exchanges] == [True, False]


@pytest.mark.parametrize(("keep", "left_out"), [(True, ""), (False, "thoughts and messages were not kept")])
def test_private_messages_are_kept_only_where_a_person_asks_for_it(server, tmp_path, keep, left_out):
    server.script = contestant
    model = ModelSpec(name="openai/any", api_base=server.assistant)
    cases = Contest().read("sample", None)
    private = replace(cases, corpus=cases.corpus.model_copy(update={"private": True}))
    Evaluation(private, model, benchmark=Contest(), keep_inputs=keep).run(tmp_path / "run", Scope(limit=1))
    (stage,) = transcript(RunFolder(tmp_path / "run"), next(RunFolder(tmp_path / "run").cases()).key)
    assert stage.left_out.startswith(left_out)
    texts = [path.read_text("utf-8") for path in (tmp_path / "run").iterdir()]
    assert (any("what am I?" in text for text in texts), bool(stage.left_out)) == (keep, not keep)


def test_prompts_are_what_a_run_and_a_trial_send_first(server, tmp_path):
    answer, grade = at(server).prompts(Scope(limit=1))
    assert server.sent == []
    at(server).run(tmp_path / "run", Scope(limit=1))
    assert rows_of(answer.request) == server.sent[0].rows
    assert grade.placeholder == "[the response of openai/gpt-4o stands here]"
    response = server.sent[0].rows and RunFolder(tmp_path / "run")
    text = next(response.events()).answer["text"]
    filled = json.dumps(rows_of(grade.request)).replace(grade.placeholder, text)
    assert json.loads(filled) == json.loads(json.dumps(server.sent[1].rows))
    models = [ModelSpec(name="openai/gpt-4o", api_base=base) for base in (server.assistant, server.judge)]
    (case,) = (case for case in at(server).case_set.cases if case.key == answer.case)
    prompted, bare, judged = Trial(*models, system_prompt="Be brief.").prompts(case)
    assert (prompted.request["system"], "system" in bare.request) == ("Be brief.", False)
    assert rows_of(judged.request) == rows_of(grade.request)
