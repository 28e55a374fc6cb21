"""No model outside the gate: a person's program calls the models of its run, and is refused any other.

What a program holds is looked through before the first call. What it makes or finds while it runs (in a tool, from
`dspy.settings`) is refused at the call, before anything is sent.
"""

from collections.abc import Iterable
from typing import Any

from dspy import BaseLM

from dspy_proact.errors import SetupFault, UsageError
from dspy_proact.models.dspy_internals import BaseCallback, async_engine_of
from dspy_proact.models.logged import LoggedLM

_MEND = (
    "whose calls no limit or record would hold: leave it out, as with `set_lm(None)`; a further model is one of the "
    "benchmark's `roles`"
)


class AllowedModels(BaseCallback):
    """Lets a program call these models, and copies of them, and no others; a callback of DSPy's.

    Args:
        models: Of one run; what is no model of DSPy's is passed over.
    """

    def __init__(self, models: Iterable[Any] = ()):
        self._gated = {async_engine_of(model).gated for model in models if isinstance(model, LoggedLM)}

    def require(self, program: Any) -> None:
        """Raise a `UsageError` where some part of a program holds another model."""
        parts = program.named_sub_modules() if hasattr(program, "named_sub_modules") else ()
        for name, part in parts:
            for value in vars(part).values():
                if self._is_other(value):
                    where = name.removeprefix("self").lstrip(".") or type(program).__name__
                    raise UsageError(f"{where}: has a model of its own, {_name(value)}, {_MEND}")

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Raise a `SetupFault`, which ends the run, where another model is called."""
        del call_id, inputs
        if self._is_other(instance):
            raise SetupFault(f"the program calls a model of its own, {_name(instance)}, {_MEND}")

    def _is_other(self, value: Any) -> bool:
        if isinstance(value, LoggedLM):
            return async_engine_of(value).gated not in self._gated
        return isinstance(value, BaseLM) or getattr(value, "supports_decision_requests", False) is True


def _name(model: Any) -> str:
    return str(getattr(model, "model", None) or type(model).__name__)
