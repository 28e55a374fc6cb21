"""What a failed attempt means, by the error of the client."""

import base64
import errno
import os
import re
import socket
import ssl
from html import unescape
from urllib.parse import quote, unquote

import pytest
from dspy import lm15

from dspy_proact.errors import ContentError, ProviderError
from dspy_proact.models.dspy_internals import ConnectTimeout
from dspy_proact.models.error_body import read_error_body
from dspy_proact.models.faults import Caller, understand
from dspy_proact.models.redaction import spellings

SENT = ("temperature", "top_p", "max_tokens")


def fault(error, *, argument="judge", secrets=()):
    keys = ("VENDOR_KEY", "OTHER_KEY")
    return understand(error, Caller("judge", argument, "vendor/m", key_variables=keys, sent=SENT, secrets=secrets))


def caused(error, cause):
    error.__cause__ = cause
    return error


def test_a_traceback_in_a_message_is_not_repeated():
    message = "litellm.APIConnectionError: 'content'\nTraceback (most recent call last):\n  File 'x.py', line 1"
    understood = fault(lm15.TransportError(message)).error
    assert isinstance(understood, ProviderError)
    assert understood.detail == repr("litellm.APIConnectionError: 'content'")


# Error, word, and whether an answer that was lost on the way may have been billed.
HEALING = {
    "429": (lm15.RateLimitError("slow down", status=429), "rate_limit", False),
    "408": (lm15.TimeoutError("late", status=408), "timeout", False),
    "504": (lm15.TimeoutError("late", status=504), "timeout", False),
    "time-out of the gate": (TimeoutError(), "timeout", True),
    "time-out of the socket": (lm15.TransportError("read timed out waiting for headers"), "timeout", True),
    "connection lost": (lm15.TransportError("reset by peer"), "network", True),
    "500": (lm15.ServerError("oops", status=500), "server", False),
    "502": (lm15.ServerError("bad gateway", status=502), "server", False),
    "529": (lm15.ServerError("overloaded", status=529), "server", False),
    "a lock of the client": (lm15.LockTimeoutError("busy"), "server", False),
    "broken body": (ValueError("Expecting value: line 1 column 1"), "server", True),
    "body of another shape": (TypeError("'NoneType' object is not subscriptable"), "server", True),
    "unreadable answer": (lm15.ProviderError("the reply is not JSON"), "server", True),
    # How litellm words a lost connection, and an error of the server.
    "litellm: disconnected": (lm15.ServerError("Server disconnected without sending a response."), "network", True),
    "litellm: refused": (lm15.ServerError("OpenAIException - Connection error.", status=500), "network", True),
    "litellm: reset": (lm15.ServerError("Connection reset by peer", status=500), "network", True),
    "litellm: cannot connect": (lm15.ServerError("Cannot connect to host 127.0.0.1:1"), "network", True),
}


@pytest.mark.parametrize(("error", "word", "billed"), HEALING.values(), ids=HEALING)
def test_a_failure_that_may_heal_is_tried_again_and_is_then_the_providers_fault(error, word, billed):
    understood = fault(error)
    assert (understood.word, understood.retry, understood.may_be_billed) == (word, True, billed)
    assert isinstance(understood.error, ProviderError)
    assert understood.error.reason == word
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    assert message.partition("\n")[0] in understood.error.detail


NO_CONNECTION = {
    "refused": (ConnectionRefusedError(errno.ECONNREFUSED, "no"), os.strerror(errno.ECONNREFUSED), False),
    # Also of a connection that was lost.
    "no route": (OSError(errno.EHOSTUNREACH, "no"), os.strerror(errno.EHOSTUNREACH), True),
    "no such name": (socket.gaierror(-2, "Name or service not known"), "Name or service not known", False),
    "certificate": (ssl.SSLCertVerificationError(1, "self-signed certificate"), "self-signed certificate", False),
    "no reply": (ConnectTimeout("timed out connecting to 10.0.0.1:80"), "it took too long", False),
}


@pytest.mark.parametrize(("error", "words", "billed"), NO_CONNECTION.values(), ids=NO_CONNECTION)
def test_a_connection_that_is_not_made_is_named_with_its_address(error, words, billed):
    for raised in (error, caused(lm15.ServerError("Connection error.", status=500), error)):
        understood = understand(raised, Caller("judge", "judge", "vendor/m", address="http://10.0.0.1/v1"))
        assert (understood.word, understood.unreached, understood.may_be_billed) == ("network", True, billed)
        assert understood.error.detail == f"no connection to http://10.0.0.1/v1: {words}"
        behind = Caller("judge", "judge", "vendor/m", address="http://10.0.0.1/v1", proxy="10.0.0.2:9")
        by = "no connection to http://10.0.0.1/v1 by way of the proxy 10.0.0.2:9"
        assert understand(raised, behind).error.detail == f"{by}: {words}"


def test_a_proxy_that_does_not_take_a_connection_is_named():
    refused = lm15.TransportError("failed to connect to proxy 10.0.0.2:80: refused")
    understood = fault(caused(refused, ConnectionRefusedError(errno.ECONNREFUSED, "no")))
    assert understood.error.detail.endswith("'failed to connect to proxy 10.0.0.2:80: refused'")


FINAL = {
    "401": (lm15.AuthError("bad key", status=401), "(HTTP 401). Check VENDOR_KEY or OTHER_KEY."),
    "403": (lm15.AuthError("not yours", status=403), "HTTP 403"),
    "403 by status alone": (lm15.InvalidRequestError("not yours", status=403), "HTTP 403"),
    "no key": (lm15.NotConfiguredError("no key"), "no HTTP status"),
    "quota used up": (lm15.BillingError("quota", status=429), "HTTP 429"),
    "404": (lm15.InvalidRequestError("where?", status=404), "HTTP 404"),
    "unknown model": (lm15.UnsupportedModelError("no such model"), "no HTTP status"),
    "unknown model, as a 400": (lm15.UnsupportedModelError("no such model", status=400), "HTTP 400"),
}


@pytest.mark.parametrize(("error", "part"), FINAL.values(), ids=FINAL)
def test_a_failure_of_every_call_ends_the_run(error, part):
    understood = fault(error)
    assert (understood.word, understood.retry, understood.may_be_billed) == ("setup", False, False)
    assert str(understood.setup).startswith("`judge` vendor/m: ")
    assert part in str(understood.setup)
    assert error.message.partition("\n")[0] in str(understood.setup)
    assert "To fix" not in str(understood.setup)  # DSPy's advice


NAMING = {
    "temperature": ("Unsupported value: 'temperature' does not support 0.7", "temperature"),
    "in back quotes": ("`temperature` is deprecated for this model", "temperature"),
    "on a line of its own": ("Validation failed:\ntemperature: extra input", "temperature"),
    "after a long preamble": (f"{'Bad request. ' * 30}temperature is not allowed", "temperature"),
    "the limit, by another name": ("max_completion_tokens is too large: 32768", "max_tokens"),
}


@pytest.mark.parametrize("argument", ["model", "judge"])
@pytest.mark.parametrize(("message", "name"), NAMING.values(), ids=NAMING)
def test_a_400_that_names_a_parameter_ends_the_run_and_says_how_to_omit_it(message, name, argument):
    for error in (lm15.InvalidRequestError(message, status=422), lm15.UnsupportedFeatureError(message)):
        understood = fault(error, argument=argument)
        assert understood.parameter == name
        assert f"`{argument}.params` {name}=none" in str(understood.setup)


REFUSED = {
    "nothing said": (lm15.InvalidRequestError("", status=400), "refused"),
    "something said": (lm15.InvalidRequestError("invalid request", status=400), "refused"),
    "a parameter that was not sent": (lm15.InvalidRequestError("top_k is not allowed", status=400), "refused"),
    "a word that holds a parameter's name": (lm15.InvalidRequestError("temperatures vary", status=400), "refused"),
    "too long, naming a parameter": (lm15.ContextLengthError("reduce max_tokens", status=400), "too_long"),
    "too large": (lm15.InvalidRequestError("payload too large", status=413), "refused"),
    "filtered, by its words": (lm15.InvalidRequestError("blocked by our safety system", status=400), "filtered"),
    "against the policy": (
        lm15.InvalidRequestError("no", status=400, provider_code="content_policy_violation"),
        "filtered",
    ),
    "the client cannot say it": (lm15.UnsupportedFeatureError("images are not supported"), "refused"),
}


@pytest.mark.parametrize(("error", "word"), REFUSED.values(), ids=REFUSED)
def test_any_other_400_is_the_contents_fault_and_is_not_tried_again(error, word):
    understood = fault(error)
    assert (understood.word, understood.retry, understood.may_be_billed) == (word, False, False)
    assert isinstance(understood.error, ContentError)
    assert understood.error.reason == word


def test_a_long_message_is_cut():
    detail = fault(lm15.ServerError("x" * 10_000, status=500)).error.detail
    assert len(detail) < 400
    assert detail.endswith("...'")


KEY = "sk-canary-Abc+/dEf_ghIJklMNopQR-stUVwx0123456789"
CODED = base64.b64encode(b"user:" + KEY.encode()).decode()
REPEATED = {
    "plain": KEY,
    "in capitals": KEY.upper(),
    "without its end": KEY[:-4],
    "without its beginning": KEY[10:],
    "without its middle": f"{KEY[:14]}...{KEY[-14:]}",
    "percent": quote(KEY, safe=""),
    "percent, twice": quote(quote(KEY, safe=""), safe=""),
    "percent, in part": KEY[:5] + "".join(f"%{ord(char):02x}" for char in KEY[5:20]) + KEY[20:],
    "percent, here and there": "".join(f"%{ord(char):02x}" if at % 3 else char for at, char in enumerate(KEY)),
    "hex": KEY.encode().hex(),
    "hex, cut": KEY.encode().hex()[9:],
    "hex with colons": KEY.encode().hex(":"),
    "hex numbers": " ".join(f"0x{byte:02x}" for byte in KEY.encode()),
    "decimal numbers": str(list(KEY.encode())),
    "base64": CODED,
    "base64 in lines": "\n".join(CODED[at : at + 20] for at in range(0, len(CODED), 20)),
    "base64 in short lines, escaped": "\\n".join(CODED[at : at + 8] for at in range(0, len(CODED), 8)),
    "base64, twice": base64.b64encode(base64.b64encode(KEY.encode())).decode(),
    "escapes": "".join(f"\\u00{byte:02x}" for byte in KEY.encode()),
    "entities": "".join(f"&#{byte};" for byte in KEY.encode()),
}


@pytest.mark.parametrize("repeated", REPEATED.values(), ids=REPEATED)
def test_a_secret_that_the_provider_repeats_is_hidden_however_it_is_coded(repeated):
    secrets = spellings((KEY,))
    for error in (lm15.ServerError(f"failed for {repeated} of you", status=500), lm15.AuthError(repeated, status=401)):
        message = str(fault(error, secrets=secrets).error)
        assert "key]" in message or "repeats a key" in message
        for view in (message, unquote(unquote(message)), unescape(message), re.sub(r"[^0-9A-Za-z]", "", message)):
            runs = {form[at : at + 12].lower() for form in secrets for at in range(len(form) - 11)}
            assert not [run for run in runs if run in view.lower()]


def test_a_message_without_a_secret_is_shown_as_it_is():
    text = "max_tokens is too large: 99999. This model takes 16384 at most, see https://host/docs%20here"
    assert text in str(fault(lm15.ServerError(text, status=500), secrets=spellings((KEY,))).error)


@pytest.mark.parametrize(
    "body",
    [
        '{"error":' * 100_000 + "1" + "}" * 100_000,
        '{"message":' * 900 + '"x"' + "}" * 900,
        '{"error": {"message": "maximum context length is ' + "9" * 5000 + ' tokens"}}',
        '{"error": {"message": "max_tokens must be at most ' + "9" * 5000 + '"}}',
        '{"error": {"message": "x", "code": "' + "9" * 5000 + '"}}',
    ],
)
def test_a_body_that_nests_or_counts_without_end_is_a_refusal_all_the_same(body):
    error = lm15.InvalidRequestError("no", status=400)
    error.body = body  # pyright: ignore[reportAttributeAccessIssue]
    assert not fault(error).retry


@pytest.mark.parametrize("count", [-5, 10**40])
def test_a_count_that_no_request_has_is_none(count):
    body = read_error_body({"error": {"message": "n_ctx", "n_ctx": count, "n_prompt_tokens": count}})
    assert body
    assert body.context is body.prompt is None


def test_a_limit_of_no_tokens_is_not_offered():
    refusal = fault(lm15.InvalidRequestError("max_tokens must be at most 00", status=400))
    assert refusal.fitting is None
    assert "max_tokens=none" in str(refusal.error)
