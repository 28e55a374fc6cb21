"""A service as the application under test, over real HTTP, asked as the engine behind the gate asks it."""

import asyncio
import gzip
import json
from itertools import count

import pytest
from bots import CHAT, SYSTEM, answers, opened, reply, template
from fakes.server import Answer, error

from dspy_proact.apps.app import AppReply, AppRequest
from dspy_proact.apps.service import LONGEST, ServiceApp
from dspy_proact.apps.template import ReplyPath, Template
from dspy_proact.errors import AppError, ProviderError, SetupFault

# A service that speaks OpenAI's protocol


@pytest.mark.parametrize("path", ["", "/", "/chat/completions", "/chat/completions/"])
def test_a_plain_url_is_asked_for_chat_completions(server, monkeypatch, path):
    monkeypatch.setenv("APP_API_KEY", "sk-of-the-bot-1234")
    calls = [{"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}]
    message = {"role": "assistant", "content": "You could label the boxes.", "tool_calls": calls}
    usage = {"prompt_tokens": 40, "completion_tokens": 7, "cost": 0.25}
    reply(server, {"choices": [{"message": message}], "usage": usage})
    app = ServiceApp(server.base("bot") + path)
    assert answers(app, (SYSTEM, *CHAT)) == [
        AppReply(
            "You could label the boxes.",
            ({"role": "assistant", "content": "", "tool_calls": calls},),
            prompt_tokens=40,
            completion_tokens=7,
            usd=0.25,
        )
    ]
    (sent,) = server.sent
    assert sent.path == "/bot/v1/chat/completions"
    assert sent.headers["Authorization"] == "Bearer sk-of-the-bot-1234"
    assert sent.body == {"model": "default", "messages": [SYSTEM, *CHAT], "stream": False}
    assert app.name == f"{server.base('bot')}/chat/completions"


def test_without_a_key_none_is_sent_whatever_keys_of_models_there_are(server, monkeypatch):
    monkeypatch.delenv("APP_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-model-1234")
    answers(ServiceApp(server.base("bot")))
    assert "sk-of-a-model" not in server.sent[0].text
    assert "Authorization" not in server.sent[0].headers


@pytest.mark.parametrize("content", ["Do it today.", [{"type": "text", "text": "Do it"}, {"text": "today."}]])
def test_a_content_of_parts_is_the_lines_of_a_reply(server, content):
    reply(server, {"choices": [{"message": {"content": content}}]})
    (result,) = answers(ServiceApp(server.base("bot")))
    assert result.text.split() == ["Do", "it", "today."]
    assert (result.prompt_tokens, result.usd, result.steps) == (None, None, ())


def test_an_agent_that_waits_for_results_of_its_tools_has_not_replied(server):
    message = {"content": None, "tool_calls": [{"function": {"name": "search"}}]}
    reply(server, {"choices": [{"message": message}]})
    with pytest.raises(AppError, match=r"empty: at 'choices\[0\].message.content' is null, no text; it calls tools"):
        answers(ServiceApp(server.base("bot")))


# A service that a template describes


def test_placeholders_become_json_values_and_nothing_in_a_conversation_is_one(server, tmp_path, monkeypatch):
    """Quotes, braces and names of variables in a message arrive as they are."""
    monkeypatch.setenv("BOT_KEY", "key-of-the-bot-1234")
    reply(server, {"text": "ok"})
    body = {
        "all": "{{messages}}",
        "before": ["{{ history }}"],
        "system": "{{system}}",
        "question": "Q: {{last}} ({{conversation}})",
        "transcript": "{{transcript}}",
        "temperature": 0,
        "{{last}}": None,
    }
    headers = {"X-Api-Key": "$BOT_KEY", "X-Session": "s-{{conversation}}"}
    fields = template(body, headers=headers, query={"version": "2", "token": "${BOT_KEY}", "q": "{{transcript}}"})
    answers(opened(server, tmp_path, fields), (SYSTEM, *CHAT), conversation="a/b?")
    (sent,) = server.sent
    transcript = f"User: {CHAT[0]['content']}\n\nAssistant: Noted.\n\nUser: Thanks, that is all."
    assert sent.body == {
        "all": [SYSTEM, *CHAT],
        "before": [list(CHAT[:2])],
        "system": "Be brief.",
        "question": "Q: Thanks, that is all. (a/b?)",
        "transcript": transcript,
        "temperature": 0,
        "{{last}}": None,
    }
    assert sent.query == {"version": "2", "token": "key-of-the-bot-1234", "q": transcript}
    assert (sent.headers["X-Api-Key"], sent.headers["X-Session"]) == ("key-of-the-bot-1234", "s-a/b?")


def test_an_id_in_the_url_is_a_part_of_its_path_whatever_is_in_it(server, tmp_path):
    reply(server, {"text": "ok"})
    answers(opened(server, tmp_path, template(), "/{{conversation}}/say"), conversation="a/../b?")
    assert (server.sent[0].path, server.sent[0].query) == ("/bot/v1/chat/a/../b?/say", {})


def test_what_a_service_reports_is_read_by_its_paths_and_left_out_where_it_is_no_number(server, tmp_path):
    fields = {"prompt_tokens": "use.in", "completion_tokens": "use.out", "usd": "use.usd", "steps": "did"}
    use = {"in": 12, "out": True, "usd": -1}
    did = [{"role": "tool", "content": "found"}, {"ran": "sql"}, "thought"]
    reply(server, {"text": "ok", "use": use, "did": did})
    assert answers(opened(server, tmp_path, template(**fields))) == [
        AppReply(
            "ok",
            (
                {"role": "tool", "content": "found"},
                {"role": "assistant", "content": '{"ran": "sql"}'},
                {"role": "assistant", "content": "thought"},
            ),
            prompt_tokens=12,
        )
    ]


@pytest.mark.parametrize(
    ("path", "document", "text"),
    [
        ("", "all of it", "all of it"),
        ("data.answer[0].text", {"data": {"answer": [{"text": "a"}]}}, "a"),
        ("messages[-1].content", {"messages": [{"content": "a"}, {"content": "b"}]}, "b"),
        ("[*].text", [{"text": "a"}, {"image": "x"}, {"text": "b"}], "a\nb"),
        ("out[*].parts[*].text", {"out": [{"kind": "call"}, {"parts": [{"text": "a"}, {"text": "b"}]}]}, "a\nb"),
        ("content", {"content": [{"type": "text", "text": "a"}, "b"]}, "a\nb"),
        ("content", {"content": ["a", 1]}, None),
        ("content", {"content": []}, None),
    ],
)
def test_a_path_leads_to_a_text_or_to_the_lines_of_one(server, tmp_path, path, document, text):
    reply(server, document)
    app = opened(server, tmp_path, template(reply=path))
    if text is None:
        with pytest.raises(AppError, match="no text"):
            answers(app)
    else:
        assert [result.text for result in answers(app)] == [text]


@pytest.mark.parametrize(
    ("path", "document", "problem"),
    [
        ("data.text", {"data": {"answer": 1}}, "data has no field 'text'; its fields: 'answer'"),
        ("data[0]", {"data": {}}, "data is an object, not a list"),
        ("data[2]", {"data": [1, 2]}, "data has 2 entries, and no [2]"),
        ("data[-3]", {"data": [1, 2]}, "data has 2 entries, and no [-3]"),
        ("[0][1].a", [[1, [2]]], "[0][1] is a list, not an object"),
        ("text", ["a"], "the answer is a list, not an object"),
    ],
)
def test_a_path_that_does_not_fit_says_where_it_ends(path, document, problem):
    with pytest.raises(LookupError) as raised:
        ReplyPath.of(path).value(document)
    assert raised.value.args == (problem,)


# A service that keeps the conversation


def remembering(own_ids=False):
    """A service that keeps what it is sent by id, and answers with the number of turns and the first of them."""
    turns, ids = {}, count(7)

    def script(sent):
        key = sent.body["id"] if not own_ids or sent.body["id"] is not None else next(ids)
        kept = turns.setdefault(key, [])
        kept.append(sent.body["say"])
        document = {"text": f"{len(kept)} since {kept[0]}", "id": key, "tokens": 10, "usd": 0.5}
        return Answer(raw=json.dumps(document).encode())

    return script


STATEFUL = template({"id": "{{conversation}}", "say": "{{last}}", "system": "{{system}}"}, stateful=True)


@pytest.mark.parametrize("own_ids", [False, True])
def test_a_stateful_service_is_sent_the_users_turns_in_order_and_its_last_reply_counts(server, tmp_path, own_ids):
    """Its own replies take the place of the curated ones, which it never sees; every answer is a new conversation."""
    server.script = remembering(own_ids)
    fields = {**STATEFUL, "prompt_tokens": "tokens", "usd": "usd", **({"conversation": "id"} if own_ids else {})}
    first = ({"role": "user", "content": "one"}, {"role": "assistant", "content": "CURATED"})
    chat = (SYSTEM, *first, {"role": "user", "content": "two"}, *first[1:], {"role": "user", "content": "three"})
    results = answers(opened(server, tmp_path, fields), chat, chat)
    # Three requests an answer, of 10 tokens and half a dollar each; completion tokens are reported by none.
    steps = ({"role": "assistant", "content": "1 since one"}, {"role": "assistant", "content": "2 since one"})
    assert results == [AppReply("3 since one", steps, prompt_tokens=30, usd=1.5)] * 2
    assert [sent.body["say"] for sent in server.sent] == ["one", "two", "three"] * 2
    assert {sent.body["system"] for sent in server.sent} == {"Be brief."}
    assert not any("CURATED" in sent.text for sent in server.sent)
    ids = [sent.body["id"] for sent in server.sent]
    assert ids == [None, 7, 7, None, 8, 8] if own_ids else (len(set(ids)), ids[0], ids[3]) == (2, ids[2], ids[5])


@pytest.mark.parametrize("named", ["Gespräch 1", "日本", "a\r\nX-Evil: 1", "\ud800", "", None, 1.5])
def test_an_id_that_the_service_gives_is_sent_in_a_header_or_is_none(server, tmp_path, named):
    reply(server, {"text": "ok", "id": named})
    fields = {**STATEFUL, "conversation": "id", "headers": {"X-Session": "{{conversation}}"}}
    chat = ({"role": "user", "content": "one"}, {"role": "user", "content": "two"})
    app = opened(server, tmp_path, fields)
    if named and str(named).isprintable() and isinstance(named, str):
        answers(app, chat)
        assert server.sent[1].headers["X-Session"] == named
    else:
        with pytest.raises(AppError, match="no id of the conversation"):
            answers(app, chat)


def test_a_conversation_that_broke_off_is_begun_anew(server, tmp_path):
    """The service has kept a part of it; with the same id it would hear a turn twice."""
    pending = [error(500)]
    script = remembering()
    server.script = lambda sent: pending.pop() if pending and sent.body["say"] != CHAT[0]["content"] else script(sent)
    app = opened(server, tmp_path, STATEFUL)

    async def run():
        with pytest.raises(ProviderError):
            await app.answer(AppRequest(CHAT, "c"))
        result = await app.answer(AppRequest(CHAT, "c"))
        await app.aclose()
        return result.text

    assert asyncio.run(run()) == f"2 since {CHAT[0]['content']}"


def test_cookies_of_one_answer_are_sent_with_no_other(server, tmp_path):
    reply(server, {"text": "ok"}, **{"Set-Cookie": "session=1"})
    answers(opened(server, tmp_path, template()), CHAT, CHAT)
    assert len(server.sent) == 2
    assert not any("Cookie" in sent.headers for sent in server.sent)


# What goes wrong


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        (400, AppError, "refused"),
        (422, AppError, "refused"),
        (408, ProviderError, "timeout"),
        (429, ProviderError, "rate_limit"),
        (500, ProviderError, "server"),
        (503, ProviderError, "server"),
        (504, ProviderError, "timeout"),
    ],
)
def test_a_status_says_whose_fault_it_is(server, tmp_path, status, kind, reason):
    reply(server, {"detail": "no"}, status, **({"Retry-After": "3"} if status == 429 else {}))
    with pytest.raises(kind) as raised:
        answers(opened(server, tmp_path, template()))
    assert raised.value.reason == reason
    assert f"HTTP {status}" in raised.value.detail
    assert '{"detail": "no"}' in raised.value.detail
    assert getattr(raised.value, "retry_after", None) == (3.0 if status == 429 else None)


@pytest.mark.parametrize("status", [401, 403, 404, 405])
def test_what_every_request_meets_ends_the_run_but_not_after_an_answer(server, tmp_path, monkeypatch, status):
    monkeypatch.setenv("BOT_KEY", "key-of-the-bot-1234")
    fields = template(headers={"Authorization": "Bearer $BOT_KEY"})
    reply(server, {}, status)
    with pytest.raises(SetupFault, match=r"HTTP 40\d\)") as raised:
        answers(opened(server, tmp_path, fields))
    assert ("BOT_KEY" in str(raised.value)) == (status in (401, 403))
    scripted = [Answer(raw=b'{"text": "ok"}'), error(status)]
    server.script = lambda sent: scripted.pop(0)
    with pytest.raises(ProviderError, match="denied"):
        answers(opened(server, tmp_path, fields), CHAT, CHAT)


def test_a_404_without_a_template_says_where_the_request_went_and_what_else_there_is(server):
    reply(server, {}, 404)
    with pytest.raises(SetupFault, match=r"/bot/v1/chat/completions: there is nothing .* needs `app_template`"):
        answers(ServiceApp(server.base("bot")))


def test_a_redirect_is_not_followed(server, tmp_path, monkeypatch):
    monkeypatch.setenv("BOT_KEY", "key-of-the-bot-1234")
    location = f"{server.base('other')}/key-of-the-bot-1234"
    reply(server, {}, 307, Location=location)
    with pytest.raises(SetupFault, match="redirects") as raised:
        answers(opened(server, tmp_path, template(headers={"X-Key": "$BOT_KEY"})))
    assert [sent.role for sent in server.sent] == ["bot"]
    assert "key-of-the-bot-1234" not in str(raised.value)


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_too_long_is_not_read_to_its_end(server, tmp_path, packed):
    """Also one that is small on the wire: 16 MiB of blanks take 16 KiB packed."""
    body = b" " * (LONGEST + 2**20)
    headers = {"Content-Encoding": "gzip"} if packed else {}
    reply(server, gzip.compress(body) if packed else body, **headers)
    with pytest.raises(AppError, match="too_long: the server sent more than 10 MiB"):
        answers(opened(server, tmp_path, template()))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>", "not_json"),
        (b"[" * 100_000, "not_json"),
        (b"\xff\xfe", "not_json"),
        (b'{"text": ' + b"9" * 5000 + b"}", "not_json"),
        (b'{"text": "  "}', "empty"),
        (b'{"text": null}', "empty"),
        (b'{"text": 7}', "no_text"),
        (b'{"answer": "x"}', "no_text"),
    ],
)
def test_what_is_no_reply_says_so_with_the_beginning_of_the_body(server, tmp_path, body, reason):
    reply(server, body)
    with pytest.raises(AppError) as raised:
        answers(opened(server, tmp_path, template()))
    assert raised.value.reason == reason
    assert "The service said: " in raised.value.detail
    assert len(raised.value.detail) < 600


def test_no_message_repeats_a_key_that_the_service_repeats(server, tmp_path, monkeypatch):
    monkeypatch.setenv("BOT_PASS", "hunter2-hunter2-hunter2")
    for status in (200, 400, 401, 500):
        server.script = lambda sent, status=status: error(status, f"you sent {sent.headers['X-Pass']}")
        with pytest.raises((AppError, ProviderError, SetupFault)) as raised:
            answers(opened(server, tmp_path, template(headers={"X-Pass": "$BOT_PASS"})))
        assert "you sent [key]" in str(raised.value)
        assert "hunter2" not in str(raised.value)


def test_a_service_that_is_not_there_is_a_failure_on_the_way(server, tmp_path):
    app = ServiceApp("http://127.0.0.1:9/chat", Template(body="{{last}}", reply=""))
    with pytest.raises(ProviderError, match=r"network: no connection to http://127.0.0.1:9/chat"):
        answers(app, CHAT[-1:])


def test_a_service_that_closes_the_connection_without_a_reply_was_reached():
    async def run():
        async def closes(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.close()

        async with await asyncio.start_server(closes, "127.0.0.1", 0) as server:
            app = ServiceApp(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/chat")
            with pytest.raises(ProviderError, match=r"^lost: the connection to .*/chat/.* broke off before a reply: "):
                await app.answer(AppRequest(tuple(CHAT), "c"))
            await app.aclose()

    asyncio.run(run())


def test_a_service_without_a_template_that_refuses_the_key_may_need_one(server):
    reply(server, {}, status=401)
    with pytest.raises(SetupFault, match=r"Check APP_API_KEY\. A service that is not OpenAI-compatible needs `app_"):
        answers(ServiceApp(server.base("bot")))


@pytest.mark.parametrize(
    ("body", "chat", "mend"),
    [
        ({"q": "{{last}}"}, CHAT, "{{history}}"),
        ({"q": "{{last}}"}, (SYSTEM, CHAT[2]), "{{system}}"),
        ({"q": "{{transcript}}"}, (SYSTEM, *CHAT), "{{system}}"),
        ({"q": "{{last}}"}, ({"role": "user", "content": [{"type": "image_url", "image_url": {}}]},), "{{messages}}"),
    ],
)
def test_a_service_that_would_miss_a_part_of_the_conversation_is_not_asked(server, tmp_path, body, chat, mend):
    with pytest.raises(SetupFault, match=mend.replace("{", r"\{")):
        answers(opened(server, tmp_path, template(body)), chat)
    assert server.sent == []
