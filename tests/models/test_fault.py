import pytest
from dspy import lm15

from dspy_proact.errors import ContentError, ProviderError, SetupFault
from dspy_proact.models.faults import Caller, understand

SENT = ("temperature", "top_p", "max_tokens")


def fault(error, *, flag="--judge", sent=SENT, secrets=()):
    keys = ("VENDOR_KEY", "OTHER_KEY")
    return understand(error, Caller("judge", flag, "vendor/m", key_variables=keys, sent=sent, secrets=secrets))


HEALING = {
    "429": (lm15.RateLimitError("slow down", status=429), "rate_limit"),
    "408": (lm15.TimeoutError("late", status=408), "timeout"),
    "504": (lm15.TimeoutError("late", status=504), "timeout"),
    "time-out of the gate": (TimeoutError(), "timeout"),
    "connection lost": (lm15.TransportError("reset by peer"), "network"),
    "connection refused": (ConnectionRefusedError(111, "refused"), "network"),
    "no route": (OSError(113, "no route to host"), "network"),
    "500": (lm15.ServerError("oops", status=500), "server"),
    "502": (lm15.ServerError("bad gateway", status=502), "server"),
    "503": (lm15.ServerError("overloaded", status=503), "server"),
    "529": (lm15.ServerError("overloaded", status=529), "server"),
    "a lock of the client": (lm15.LockTimeoutError("busy"), "server"),
    "broken body": (ValueError("Expecting value: line 1 column 1"), "server"),
    "body of another shape": (TypeError("'NoneType' object is not subscriptable"), "server"),
    "unreadable answer": (lm15.ProviderError("the reply is not JSON"), "server"),
}


@pytest.mark.parametrize(("error", "word"), HEALING.values(), ids=HEALING)
def test_what_may_heal_is_tried_again_and_is_then_the_providers_fault(error, word):
    understood = fault(error)
    assert (understood.word, understood.retry) == (word, True)
    assert isinstance(understood.error, ProviderError)
    assert understood.error.reason == word
    assert understood.error.detail


def test_the_detail_is_what_the_provider_said():
    assert "bad gateway" in fault(lm15.ServerError("bad gateway", status=502)).error.detail


@pytest.mark.parametrize("error", [lm15.RateLimitError, lm15.ServerError])
def test_what_the_provider_asks_to_wait_is_passed_on(error):
    assert fault(error("wait", status=429, retry_after=7)).retry_after == 7.0
    assert fault(error("wait", status=429)).retry_after is None
    assert fault(TimeoutError()).retry_after is None


FINAL = {
    "401": (lm15.AuthError("bad key", status=401), "HTTP 401"),
    "403": (lm15.AuthError("not yours", status=403), "HTTP 403"),
    "403 by status alone": (lm15.InvalidRequestError("not yours", status=403), "HTTP 403"),
    "no key": (lm15.NotConfiguredError("no key"), "no HTTP status"),
    "402": (lm15.BillingError("pay", status=402), "HTTP 402"),
    "quota used up": (lm15.BillingError("quota", status=429), "HTTP 429"),
    "404": (lm15.InvalidRequestError("where?", status=404), "HTTP 404"),
    "unknown model": (lm15.UnsupportedModelError("no such model"), "no HTTP status"),
    "unknown model, as a 400": (lm15.UnsupportedModelError("no such model", status=400), "HTTP 400"),
}


@pytest.mark.parametrize(("error", "said"), FINAL.values(), ids=FINAL)
def test_what_holds_for_every_call_ends_the_run(error, said):
    understood = fault(error)
    assert (understood.word, understood.retry) == ("setup", False)
    assert isinstance(understood.error, SetupFault)
    assert str(understood.error).startswith("--judge vendor/m: ")
    assert said in str(understood.error)
    assert error.message.partition("\n")[0] in str(understood.error)


def test_a_refused_key_names_the_variables_that_may_hold_it():
    message = str(fault(lm15.AuthError("bad key", status=401)).error)
    assert "Check VENDOR_KEY or OTHER_KEY." in message
    assert "To fix" not in message


@pytest.mark.parametrize("flag", ["--model", "--judge"])
@pytest.mark.parametrize("name", SENT)
def test_a_400_that_names_a_parameter_ends_the_run_and_says_how_to_leave_it_out(name, flag):
    error = lm15.InvalidRequestError(f"Unsupported value: '{name}' does not support 0.7", status=400)
    understood = fault(error, flag=flag)
    assert isinstance(understood.error, SetupFault)
    assert f"{flag}-param {name}=none" in str(understood.error)


NAMING = {
    "422": lm15.InvalidRequestError("temperature is not allowed", status=422),
    "the client refuses it": lm15.UnsupportedFeatureError("temperature is not supported by this provider"),
    "in JSON": lm15.InvalidRequestError('{"error": {"param": "temperature"}}', status=400),
    "in back quotes": lm15.InvalidRequestError("`temperature` is deprecated for this model", status=400),
    "on a line of its own": lm15.InvalidRequestError("Validation failed:\ntemperature: extra input", status=400),
    "after a long preamble": lm15.InvalidRequestError(f"{'Bad request. ' * 30}temperature is not allowed", status=400),
}


@pytest.mark.parametrize("error", NAMING.values(), ids=NAMING)
def test_a_parameter_is_recognised_wherever_the_message_names_it(error):
    understood = fault(error)
    assert isinstance(understood.error, SetupFault)
    assert "--judge-param temperature=none" in str(understood.error)


@pytest.mark.parametrize("name", ["max_completion_tokens", "max_output_tokens"])
def test_a_limit_refused_by_the_name_that_it_goes_out_under_ends_the_run(name):
    understood = fault(lm15.InvalidRequestError(f"{name} is too large: 32768", status=400))
    assert isinstance(understood.error, SetupFault)
    assert "--judge-param max_tokens=none" in str(understood.error)


REFUSED = {
    "nothing said": (lm15.InvalidRequestError("", status=400), "refused"),
    "something said": (lm15.InvalidRequestError("invalid request", status=400), "refused"),
    "a parameter that was not sent": (lm15.InvalidRequestError("top_k is not allowed", status=400), "refused"),
    "a word that holds a parameter's name": (lm15.InvalidRequestError("temperatures vary", status=400), "refused"),
    "too long": (lm15.ContextLengthError("maximum context length is 8192 tokens", status=400), "too_long"),
    "too long, naming a parameter": (lm15.ContextLengthError("reduce max_tokens", status=400), "too_long"),
    "too large": (lm15.InvalidRequestError("payload too large", status=413), "refused"),
    "filtered, by its code": (
        lm15.InvalidRequestError("no", status=400, provider_code="content_filter"),
        "filtered",
    ),
    "filtered, by its words": (lm15.InvalidRequestError("blocked by our safety system", status=400), "filtered"),
    "against the policy": (
        lm15.InvalidRequestError("no", status=400, provider_code="content_policy_violation"),
        "filtered",
    ),
    "moderated": (lm15.InvalidRequestError("Input failed moderation", status=400), "filtered"),
    "the client cannot say it": (lm15.UnsupportedFeatureError("images are not supported"), "refused"),
}


@pytest.mark.parametrize(("error", "word"), REFUSED.values(), ids=REFUSED)
def test_any_other_400_is_the_contents_fault_and_is_not_tried_again(error, word):
    understood = fault(error)
    assert (understood.word, understood.retry) == (word, False)
    assert isinstance(understood.error, ContentError)
    assert understood.error.reason == word


def test_a_long_message_is_cut():
    detail = fault(lm15.ServerError("x" * 10_000, status=500)).error.detail
    assert len(detail) < 400
    assert detail.endswith("...'")


def test_an_error_without_words_is_named_by_its_class():
    assert "TimeoutError" in fault(TimeoutError()).error.detail


@pytest.mark.parametrize(
    "error", [lm15.ServerError("sk-canary failed", status=500), lm15.AuthError("who is sk-canary?", status=401)]
)
def test_a_secret_that_the_provider_repeats_is_not_repeated(error):
    understood = fault(error, secrets=("sk-canary",))
    assert "canary" not in str(understood.error)
    assert "[key]" in str(understood.error)


LITELLMS = {
    "disconnected": ("litellm.InternalServerError: Server disconnected without sending a response.", "network"),
    "refused": ("litellm.InternalServerError: OpenAIException - Connection error.", "network"),
    "reset": ("Connection reset by peer", "network"),
    "cannot connect": ("Cannot connect to host 127.0.0.1:1", "network"),
    "out of its own mouth": ("internal error", "server"),
}


@pytest.mark.parametrize(("message", "word"), LITELLMS.values(), ids=LITELLMS)
def test_a_lost_connection_is_told_from_a_servers_error_by_litellms_words(message, word):
    assert fault(lm15.ServerError(message, status=500)).word == word


def test_a_time_out_of_the_clients_socket_is_a_time_out():
    assert fault(lm15.TransportError("read timed out waiting for headers")).word == "timeout"


BILLED = {
    "connection lost": (lm15.TransportError("reset by peer"), True),
    "time-out of the gate": (TimeoutError(), True),
    "broken body": (ValueError("Expecting value"), True),
    "429": (lm15.RateLimitError("slow down", status=429), False),
    "504": (lm15.TimeoutError("late", status=504), False),
    "500": (lm15.ServerError("oops", status=500), False),
    "400": (lm15.InvalidRequestError("no", status=400), False),
    "401": (lm15.AuthError("bad key", status=401), False),
}


@pytest.mark.parametrize(("error", "billed"), BILLED.values(), ids=BILLED)
def test_an_answer_that_was_lost_on_the_way_may_have_been_billed(error, billed):
    assert fault(error).may_be_billed is billed
