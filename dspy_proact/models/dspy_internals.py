"""The private parts of DSPy 3.4 that this project relies on. No other file imports any: a test says so.

Besides `dspy` and `dspy.lm15`, which are public, these are relied on, each held to what it is by a test:

    capabilities(lm)                   whether a model takes a JSON schema, and which parameters it takes
    lookup(provider)                   dialect, key variables and placeholder key of a provider of the native client
    request_to_dict and its like       requests and answers as JSON, for the record of a compile
    retry_after_seconds(header)        both forms of the header
    map_http_error(status, message)    the error of an HTTP status
    validate_request, litellm_errors   what DSPy's engines do before a call, and with errors of litellm
    format_field_value(...)            how an adapter words an input
    default_instructions(signature)    what DSPy tells a model where a signature has no instruction
    NO_RESPONSE                        the message of its error where an answer has no text
    BaseCallback                       what DSPy tells of calls; what its `on_lm_start` raises that is no `Exception`
                                       ends the call before it is sent

    AsyncLM15Engine._target(request, *, streaming)   returns a client, whose `_inner` reads bodies, and a request
    _http_error(response), normalize_error(...)      how that `_inner` makes errors of bodies
    StdlibAsyncTransport._do_stream(request)         returns a response whose `_chunks` are its body
    StdlibAsyncTransport._open(parsed, ...)          returns a connection, to whose `writer` requests are written
    TransportRequest, AsyncTransportResponse         what a client gives a transport, and takes from it
    LM._async_engine_spec                            the asynchronous engine that a model was given
    JSONAdapter._prepare_response_format(lm, lm_kwargs, signature)   puts `response_format` into `lm_kwargs`
    MIPROv2._propose_instructions(...)               by the number of a predictor its instructions, its own first
    MIPROv2._bootstrap_fewshot_examples(...)         sets of demos, or None
    Signature.fields[name].json_schema_extra         `desc`, and `__dspy_field_type`: "input" or "output"
    Image.extract_custom_type_from_annotation        the images in a type
    settings                                         `callbacks`, `disable_history`, `max_trace_size`,
                                                     `warn_on_type_mismatch`
    loggers "dspy", "dspy.clients.lm"

`clients`, `fenced_json` and `optimizers` override the methods with an underscore.
"""
# ruff: noqa: F401 - other files import these names from here

import os
from typing import Any

# DSPy and litellm read it when they first look something up: prices come from the bundled map, not over the network.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import dspy
from dspy._vendor.lm15.errors import map_http_error
from dspy._vendor.lm15.registry import lookup
from dspy._vendor.lm15.serde import request_to_dict, response_from_dict, response_to_dict
from dspy._vendor.lm15.transports import (
    AsyncTransportResponse,
    ConnectTimeout,
    StdlibAsyncTransport,
    TransportRequest,
)
from dspy._vendor.lm15.types import StreamEvent
from dspy.adapters.utils import format_field_value
from dspy.clients._http import retry_after_seconds
from dspy.clients.capabilities import capabilities
from dspy.clients.engines import AsyncLiteLLMEngine, AsyncLM15Engine, LM15Engine
from dspy.clients.engines.base import validate_request
from dspy.clients.engines.litellm_errors import litellm_errors
from dspy.signatures.signature import _default_instructions as default_instructions
from dspy.utils.callback import BaseCallback

NO_RESPONSE = "The LM returned an empty or null response."


def async_engine_of(lm: dspy.LM) -> Any:
    """The asynchronous engine that a model was given."""
    return lm._async_engine_spec
