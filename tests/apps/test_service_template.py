"""What is refused of a service and its template before the first request, and what a run knows them by."""

import pytest
from bots import answers, opened, reply, template

from dspy_proact.apps.service import ServiceApp
from dspy_proact.errors import CorpusError, UsageError


@pytest.mark.parametrize(
    ("fields", "field", "problem"),
    [
        ({"body": "{{last}}"}, "reply", "missing"),
        ({"body": "{{last}}", "reply": "a", "url": "http://x"}, "url", "no field of ours"),
        (template(method="GET"), "method", "no field of ours"),
        (template({"a": {"b": ["{{lastt}}"]}}), "body.a.b[0]", "did you mean {{last}}"),
        (template("{{messages}} please"), "body", "is a list"),
        (template({"a": "x"}), "body", "sends nothing of the conversation"),
        (template(reply="a..b"), "reply", "no path"),
        (template(reply="a[x]"), "reply", "no path"),
        (template(usd="a["), "usd", "no path"),
        (template(headers={"Authorization": "Bearer abc"}), "headers.Authorization", "a key stands in no file"),
        (template(query={"api_key": "abc"}), "query.api_key", "a key stands in no file"),
        (template(headers={"X-A": "a\nb"}), "headers.X-A", "no header"),
        (template(headers={"X A": "a"}), "headers.X A", "no header"),
        (template(headers={"content-Length": "5"}), "headers.content-Length", "is set for each request"),
        (template(headers={"X-A": "{{last}}"}), "headers.X-A", "no placeholder but"),
        (template(query={"a": "{{messages}}"}), "query.a", "is a list"),
        (template(conversation="id"), "conversation", "has no effect"),
        (template(stateful=True), "stateful", "send {{last}} in place of {{messages}}"),
        (template(stateful=1), "stateful", "boolean"),
    ],
)
def test_a_template_that_cannot_work_is_refused_by_its_field(server, tmp_path, fields, field, problem):
    with pytest.raises(CorpusError) as raised:
        opened(server, tmp_path, fields)
    assert raised.value.field == field
    assert problem in raised.value.problem
    assert raised.value.source.endswith("bot.json")


def test_a_stateful_service_must_be_sent_the_id(server, tmp_path):
    fields = template({"say": "{{last}}"}, stateful=True)
    with pytest.raises(UsageError, match=r"sends no \{\{conversation"):
        opened(server, tmp_path, fields)
    assert opened(server, tmp_path, fields, "/{{conversation}}").stateful


def test_variables_are_wanted_before_the_first_request(server, tmp_path, monkeypatch):
    fields = template(headers={"X-Key": "$BOT_KEY"})
    monkeypatch.delenv("BOT_KEY", raising=False)
    with pytest.raises(UsageError, match="no BOT_KEY in the environment"):
        opened(server, tmp_path, fields)
    monkeypatch.setenv("BOT_KEY", "key-1234\n")
    with pytest.raises(UsageError, match="BOT_KEY begins or ends with a blank"):
        opened(server, tmp_path, fields)


@pytest.mark.parametrize(
    "url",
    [
        "http://u:p4ss-word@host/v1",
        "http://host/v1?key=p4ss-word",
        "ftp://host",
        "http://",
        "http://host/a\r\nb",
        "http://host /v1",
    ],
)
def test_a_url_with_what_no_file_may_hold_is_refused_and_not_repeated(url):
    with pytest.raises(UsageError) as raised:
        ServiceApp(url)
    assert "p4ss-word" not in str(raised.value)


def test_a_key_of_the_environment_in_url_or_template_is_refused(server, tmp_path, monkeypatch):
    monkeypatch.setenv("BOT_KEY", "key-of-the-bot-1234")
    for fields, path in ((template(), "/key-of-the-bot-1234"), (template({"a": "{{last}}key-of-the-bot-1234"}), "")):
        with pytest.raises(UsageError, match="holds a key of the environment") as raised:
            opened(server, tmp_path, fields, path)
        assert "key-of-the-bot-1234" not in str(raised.value)


def test_a_fingerprint_changes_with_url_and_template_and_not_with_a_key(server, tmp_path, monkeypatch):
    def mark(path="", key="key-of-the-bot-1234", **fields):
        monkeypatch.setenv("BOT_KEY", key)
        return opened(server, tmp_path, template(headers={"X-Key": "$BOT_KEY"}, **fields), path).fingerprint()

    assert mark() == mark(key="another-key-of-the-bot")
    assert len({mark(), mark("/2"), mark(reply="b"), mark(query={"a": "b"})}) == 4


def test_a_slash_at_the_end_is_kept_since_servers_tell_addresses_apart_by_it(server, tmp_path):
    reply(server, {"text": "ok"})
    answers(opened(server, tmp_path, template(), "/"))
    assert server.sent[0].path == "/bot/v1/chat/"
