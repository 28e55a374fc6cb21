"""Models as tests name them: at an endpoint, with what is said of them."""

from collections.abc import Sequence
from typing import Any

from dspy_proact.models import EMBEDDED, ModelSpec


def spec(name: str, api_base: str | None = None, **said: Any) -> ModelSpec:
    """A model at an endpoint; the stand-in has none."""
    return ModelSpec(name=name, **({} if name == EMBEDDED else {"api_base": api_base}), **said)


def specs(names: str | Sequence[str], api_base: str | None = None, **said: Any) -> list[ModelSpec]:
    """The same of one name or of several."""
    return [spec(name, api_base, **said) for name in ([names] if isinstance(names, str) else names)]
