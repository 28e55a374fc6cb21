"""Runs whose requests are answered in batches, over HTTP against a server that speaks both protocols."""

import json
import random
from dataclasses import replace

import pytest
from drivers.batch_runs import ANTHROPIC, NAMES, OPENAI, PRICE, QUICK, at, halted, plain, results
from fakes.batches import FakeBatch
from fakes.server import Answer, error, healthy

from dspy_proact import (
    Gate,
    ModelSpec,
    Rejudging,
    Responses,
    RunFolder,
    Scope,
    summarize,
)
from dspy_proact.errors import LimitReached, ProviderDown, SetupFault, UsageError

pytestmark = pytest.mark.usefixtures("proactbench")


@NAMES
def test_a_run_in_batches_equals_a_plain_one_call_for_call(batches, name, tmp_path):
    """One batch of 49 answers, and one of 49 verdicts."""
    at(batches, name).run(tmp_path / "batch")
    assert batches.sizes == [49, 49]
    assert results(tmp_path / "batch") == plain(batches, tmp_path / "plain", name)
    usage = summarize(tmp_path / "batch").usage
    assert (usage["assistant"].calls, usage["judge"].calls, batches.billed) == (49, 49, 98)
    assert not (tmp_path / "batch" / "batches").exists()


@pytest.mark.parametrize(
    ("name", "backend"), [(OPENAI, "litellm"), ("azure/any", "auto"), ("mistral/any", "auto")], ids=str
)
def test_a_run_by_litellms_client_equals_a_plain_one_too(batches, name, backend, monkeypatch, tmp_path):
    """Of 10 answers two expire, and the creation of their second batch is not confirmed."""
    for provider in ("AZURE", "MISTRAL"):
        monkeypatch.setenv(f"{provider}_API_KEY", "none-at-all-of-the-tests")
    monkeypatch.setenv("AZURE_API_VERSION", "2024-10-21")
    batches.fate = lambda batch, line, sent: "expired" if batch.number == 1 and line < 2 else "answered"
    batches.event = lambda event, batch: lost() if (event, len(batches.batches)) == ("create", 2) else None

    def lost():
        batches.failing = [("CREATED", ".*", error(502))]

    at(batches, name, backend=backend).run(tmp_path / "batch", Scope(limit=10))
    assert (sum(batches.sizes), batches.billed, batches.failing) == (22, 20, [])
    at(batches, name, backend=backend, batch=False).run(tmp_path / "plain", Scope(limit=10))
    assert results(tmp_path / "batch") == results(tmp_path / "plain")


def test_the_body_of_a_line_is_the_body_of_a_plain_request(batches, tmp_path):
    at(batches).run(tmp_path / "batch", Scope(limit=3))
    sent = sorted(request.wire for request in batches.sent)
    batches.sent.clear()
    at(batches, batch=False).run(tmp_path / "plain", Scope(limit=3))
    assert sorted(request.wire for request in batches.sent) == sent


def test_equal_requests_of_epochs_and_verdicts_are_in_one_batch_each_with_a_reply_of_its_own(batches, tmp_path):
    """2 triggers in 3 epochs are 6 answers, with 2 verdicts on each: 12."""
    numbers = iter(range(100))
    text = "You could label the boxes today, number {}."
    batches.script = lambda sent: Answer(text.format(next(numbers))) if sent.role == "assistant" else healthy(sent)
    at(batches).run(tmp_path / "run", Scope(limit=2, epochs=3, judge_epochs=2))
    assert batches.sizes == [6, 12]
    texts = {event.answer["text"] for event in RunFolder(tmp_path / "run").events() if event.answer}
    assert len(texts) == 6


@NAMES
@pytest.mark.parametrize(("most", "size"), [(20, None), (None, 60_000)], ids=["requests", "bytes"])
def test_files_are_within_the_limits(batches, name, most, size, tmp_path):
    batches.most = most or 50_000
    at(batches, name, batch=replace(QUICK, requests=most, size=size)).run(tmp_path / "run")
    assert sum(batches.sizes) == 98
    if most:
        assert batches.sizes == [20, 20, 9] * 2
    else:
        assert len(batches.sizes) > 2
        assert max(batch.size for batch in batches.batches) <= size + 15  # brackets of Anthropic's document


def test_a_request_that_no_file_can_hold_fails_alone(batches, tmp_path):
    done = at(batches, batch=replace(QUICK, size=300)).run(tmp_path / "run", Scope(limit=4, keep_going=True))
    assert (done.unscored, batches.batches) == (4, [])
    (reason,) = {event.failure.detail for event in RunFolder(tmp_path / "run").events() if event.failure}
    assert "larger than a file of a batch may be" in reason


@NAMES
def test_what_expired_was_canceled_or_lost_is_sent_again_and_billed_once(batches, name, tmp_path):
    """Of the first batch every third request expires, every third is canceled, and one of ten is lost."""
    fates = ["expired", "canceled", "answered", "answered", "lost"]
    batches.fate = lambda batch, line, sent: fates[line % 5] if batch.number == 1 else "answered"
    at(batches, name).run(tmp_path / "run")
    # Of 49 lines 0 to 48, 10 have each remainder of 0 to 3, and 9 that of 4: 29 are sent again.
    assert (sum(batches.sizes), batches.billed) == (98 + 29, 98)
    assert results(tmp_path / "run") == plain(batches, tmp_path / "plain", name)
    assert summarize(tmp_path / "run").usage["assistant"].calls == 49 + 29


def test_what_is_sent_again_while_the_rest_of_its_batch_is_read_is_in_a_new_one(batches, tmp_path):
    """49 triggers in 8 epochs: the first of 392 results are failures, and their next attempts come at once."""
    batches.fate = lambda batch, line, sent: "expired" if batch.number == 1 and line >= 382 else "answered"
    at(batches, ANTHROPIC).run(tmp_path / "run", Scope(epochs=8))
    assert (batches.billed, sum(batches.sizes)) == (2 * 392, 2 * 392 + 10)


@NAMES
def test_failed_lines_are_what_their_status_says(batches, name, tmp_path):
    """Of five answers one is refused for good, and one is limited twice, and then answered."""

    def fate(batch, line, sent):
        return {0: "400", 1: "429"}.get(line, "answered") if batch.number == 1 else "answered"

    batches.fate = fate
    done = at(batches, name).run(tmp_path / "run", Scope(limit=5))
    assert (done.unscored, batches.sizes[:2]) == (1, [5, 1] if batches.sizes[1] == 1 else [5, 3])
    (failed,) = [event.failure for event in RunFolder(tmp_path / "run").events() if event.failure]
    assert (failed.kind, failed.reason, "refused by 400" in failed.detail) == ("content", "refused", True)


@NAMES
@pytest.mark.parametrize("seed", range(4))
def test_whatever_comes_of_batches_every_request_is_billed_once_and_the_run_equals_a_plain_one(
    batches, name, seed, tmp_path
):
    """A third of all requests fails in its batch, batches end in any order, and the API fails now and then."""
    draw = random.Random(seed)
    fates = {}
    kinds = ["answered"] * 10 + ["expired", "canceled", "lost", "429", "500"]
    batches.fate = lambda batch, line, sent: fates.setdefault((batch.id, line), draw.choice(kinds))
    ends = [draw.randrange(1, 6) for _ in range(200)]
    batches.polls = lambda batch: ends[batch.number]
    shapes = [("POST", r".*files|.*batches"), ("GET", ".*"), ("CREATED", ".*")]
    batches.failing = [(*draw.choice(shapes), error(draw.choice([429, 500, 503]))) for _ in range(6)]
    batching = replace(QUICK, requests=draw.randrange(5, 40))
    at(batches, name, batch=batching, retries=12).run(tmp_path / "run")
    assert batches.billed == 98
    assert results(tmp_path / "run") == plain(batches, tmp_path / "plain", name)


def test_results_of_ended_batches_are_used_while_others_go_on(batches, tmp_path):
    """The second batch of answers ends only once there is a batch of verdicts on those of the first."""
    batches.polls = lambda batch: batch.polls + (batch.number == 2 and len(batches.batches) < 3)
    at(batches, batch=replace(QUICK, requests=30)).run(tmp_path / "run")
    assert [(batch.role, len(batch.lines)) for batch in batches.batches[:3]] == [
        ("assistant", 30),
        ("assistant", 19),
        ("judge", 30),
    ]


# What ends a run


def test_a_batch_that_is_refused_as_a_whole_ends_the_run_in_the_providers_words(batches, tmp_path):
    batches.refuse = lambda batch: ("model_not_found", "The model `any` has no batches.")
    halt = halted(at(batches), tmp_path / "run")
    assert isinstance(halt, SetupFault)
    assert "refused as a whole" in str(halt)
    assert "model_not_found: The model `any` has no batches." in str(halt)
    batches.refuse = lambda batch: None
    at(batches).run(tmp_path / "run")
    assert batches.billed == 98


@NAMES
def test_answers_of_a_batch_come_before_its_refusals_which_end_the_run_only_where_there_is_none(
    batches, name, tmp_path
):
    """Results are last line first: two requests are refused like a key, and 47 are answered."""
    batches.fate = lambda batch, line, sent: "403" if (batch.number, line >= 47) == (1, True) else "answered"
    assert at(batches, name).run(tmp_path / "run").unscored == 2
    assert (batches.sizes, batches.billed) == ([49, 47], 94)


def test_a_queue_that_is_full_makes_batches_smaller_one_after_the_other(batches, tmp_path):
    """A batch of more than 15 requests is too much: 49, 24 and 12 of them; then each waits for the one before."""
    batches.refuse = lambda batch: ("token_limit_exceeded", "Enqueued") if len(batch.lines) > 15 else None
    open_at_once = []

    def event(name, batch):
        good = [one for one in batches.batches if len(one.lines) <= 15 and one.role == "assistant"]
        open_at_once.append(sum(not one.results for one in good)) if name == "poll" else None

    batches.event = event
    at(batches).run(tmp_path / "run")
    assert (batches.billed, max(open_at_once)) == (98, 1)


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("files", 401, "the key was refused (HTTP 401)"),
        ("files", 404, "does not know the upload of a batch; omit `gate.batch`"),
        ("batches", 400, "the creation of a batch was refused: refused: 'no such window'"),
        ("batches", 402, "the account cannot pay (HTTP 402)"),
    ],
)
def test_a_refusal_of_the_api_ends_the_run_and_names_the_mend(batches, path, status, sentence, tmp_path):
    batches.failing = [("POST", path, error(status, "no such window"))]
    halt = halted(at(batches), tmp_path / "run")
    assert isinstance(halt, SetupFault)
    assert sentence in str(halt)
    assert (batches.billed, (tmp_path / "run").exists()) == (0, False)


@NAMES
def test_a_server_that_fails_is_asked_again_with_patience(batches, name, tmp_path):
    api = r"(messages/)?batches(/batch_1)?(/results)?|files(/.*)?"
    batches.failing = [(method, api, error(503)) for method in ("POST", "GET") for _ in range(3)]
    at(batches, name).run(tmp_path / "run", Scope(limit=3))
    assert (batches.billed, batches.failing) == (6, [])
    batches.failing = [("GET", r".*batch_3", error(500, "down"))] * 100
    halt = halted(at(batches, name), tmp_path / "run", Scope(limit=4))
    assert isinstance(halt, ProviderDown)
    assert "batch batch_3 failed 61 times, the last with server: 'down'" in str(halt)


@NAMES
def test_a_creation_whose_answer_was_lost_is_found_and_not_repeated(batches, name, tmp_path):
    batches.failing = [("CREATED", ".*batches", error(502))] * 2
    at(batches, name).run(tmp_path / "run")
    assert (batches.sizes, batches.billed, batches.failing) == ([49, 49], 98, [])


@NAMES
def test_a_creation_whose_answer_was_lost_is_found_behind_newer_batches(batches, name, tmp_path):
    """Three others were created meanwhile, and a page lists two."""

    def create(event, batch):
        if event == "create" and batch.number == 1:
            for number in (2, 3, 4):
                lines, file = [{}] * number, batch.file and "file-of-another"
                batches.batches.append(FakeBatch(f"batch_{number}", "assistant", number, lines, file, 0))

    batches.event, batches.page = create, 2
    batches.failing = [("CREATED", ".*batches", error(502))]
    at(batches, name).run(tmp_path / "run", Scope(limit=5))
    assert (batches.sizes, batches.billed) == ([5, 2, 3, 4, 5], 10)


def test_of_batches_that_look_like_ours_each_is_tried_before_requests_are_sent_again(batches, tmp_path):
    """Two of another run have as many requests, and are listed before ours, whose creation was not confirmed."""
    at(batches, ANTHROPIC).run(tmp_path / "other", Scope(limit=5))
    batches.failing = [("CREATED", "messages/batches", error(502))]
    batches.rewrite = lambda path, body: body if path != "GET messages/batches" else reversed_list(body)
    at(batches, ANTHROPIC).run(tmp_path / "run", Scope(limit=5))
    assert (batches.sizes, batches.billed) == ([5, 5, 5, 5], 20)


def reversed_list(body):
    page = json.loads(body)
    return json.dumps(page | {"data": page["data"][::-1]}).encode()


@pytest.mark.parametrize("limits", [{"calls": 30}, {"tokens": 9_000}, {"usd": 12.0}], ids=str)
def test_limits_hold_and_the_same_command_goes_on(batches, limits, tmp_path):
    halt = halted(at(batches, **limits), tmp_path / "run")
    assert isinstance(halt, LimitReached)
    # Of each answered request the server counts 11 and 7 tokens: USD 0.025.
    most = {"calls": 1, "tokens": 18, "usd": 0.025}
    ((name, limit),) = limits.items()
    assert 0 < batches.billed * most[name] <= limit
    first = batches.billed
    at(batches).run(tmp_path / "run")
    assert (first < 98, batches.billed) == (True, 98)


def test_the_bill_is_half(batches, tmp_path):
    """gpt-4o: USD 2.50 and 10 per million tokens, and half of that in batches; 11 and 7 tokens a call."""
    for name, batch in (("batch", QUICK), ("plain", False)):
        at(batches, "openai/gpt-4o", batch=batch, price=None).run(tmp_path / name, Scope(limit=4))
    batch, plain_ = (summarize(tmp_path / name).usage["judge"].usd for name in ("batch", "plain"))
    assert (batch, plain_) == (pytest.approx(4 * 48.75e-6), pytest.approx(4 * 97.5e-6))
    assert RunFolder(tmp_path / "batch").manifest().assistant_price.tier == "batch"


# What is refused


@pytest.mark.parametrize(("first", "second"), [(QUICK, False), (False, QUICK)], ids=["batch", "plain"])
def test_one_run_is_not_made_both_ways(batches, first, second, tmp_path):
    at(batches, batch=first).run(tmp_path / "run", Scope(limit=1))
    with pytest.raises(UsageError, match=r"which have another price; (omit|give) `gate.batch` to go on, or .*reuse"):
        at(batches, batch=second).run(tmp_path / "run", Scope(limit=2))
    at(batches, batch=second).run(tmp_path / "more", Scope(limit=2, reuse=tmp_path / "run"))
    assert batches.billed <= 4 * 2


def test_copied_answers_of_a_run_in_batches_are_graded_either_way(batches, tmp_path):
    at(batches).run(tmp_path / "run", Scope(limit=2))
    judge = ModelSpec(name=OPENAI, api_base=batches.judge, params={"max_tokens": 60}, price=PRICE)
    for batch in (False, QUICK):
        for limit in (1, 2):  # begun, and gone on with
            rejudging = Rejudging(Responses.of_run(RunFolder(tmp_path / "run")), [judge], gate=Gate(batch=batch))
            assert rejudging.run(tmp_path / f"{bool(batch)}", Scope(limit=limit)).unscored == 0


def test_the_stand_in_other_providers_flex_and_compiles_take_no_batches(batches):
    from dspy_proact.models import Role, open_model
    from dspy_proact.models.logged import CallLog

    judge = Role("judge", "judge", "verdict", lambda system, messages: "PASS")
    for name in ("embedded", "deepseek/deepseek-chat"):
        with pytest.raises(UsageError, match=f"`judge` {name}.*omit `gate.batch`"):
            open_model(name, judge, Gate(batch=True))
    with pytest.raises(UsageError, match=r"`gate\.flex` and `gate.batch` are mutually exclusive"):
        Gate(flex=True, batch=True)
    with pytest.raises(UsageError, match="a compile needs each answer"):
        open_model("openai/gpt-4o", judge, Gate(batch=True), log=object.__new__(CallLog))
    assert Gate(batch=True, concurrency=7).concurrency == 7


@pytest.mark.parametrize(
    "changes", [{"requests": 0}, {"size": -1}, {"quiet": -1.0}, {"first_poll": 0.0}, {"longest_poll": float("nan")}]
)
def test_a_batching_that_cannot_be_is_refused(changes):
    with pytest.raises(
        UsageError, match=r"`requests` and `size` must be 1 or more, `quiet` not negative, and the polls"
    ):
        replace(QUICK, **changes)
