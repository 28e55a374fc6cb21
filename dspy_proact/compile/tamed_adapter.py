"""The adapter under a proposer: whatever it is told stays text, be it of users, judges or raters.

DSPy makes images and files of its own markers in any message. A stranger's text would so reach a proposer as a picture,
or end the proposing with one that cannot be read.
"""

from typing import TYPE_CHECKING, Any

import dspy

from dspy_proact.plain_text import tame

if TYPE_CHECKING:
    _Adapter = dspy.Adapter
else:
    _Adapter = object  # a subclass of DSPy's would bring a `parse` of its own, before that of the one it is mixed into


class _Tamed(_Adapter):
    """What an adapter words, with a blank in DSPy's markers."""

    def format_system_message(self, signature: type[dspy.Signature]) -> str:
        return tame(super().format_system_message(signature))

    def format_user_message_content(self, *args: Any, **named: Any) -> str:
        return tame(super().format_user_message_content(*args, **named))

    def format_assistant_message_content(self, *args: Any, **named: Any) -> str:
        return tame(super().format_assistant_message_content(*args, **named))


class TamedJSONAdapter(_Tamed, dspy.JSONAdapter):
    """DSPy's adapter for JSON, with nothing but text in what it sends."""


class TamedAdapter(_Tamed, dspy.ChatAdapter):
    """DSPy's usual adapter, and the one that it falls back to, with nothing but text in what they send."""

    def _make_json_adapter_fallback(self) -> dspy.JSONAdapter:
        return TamedJSONAdapter()
