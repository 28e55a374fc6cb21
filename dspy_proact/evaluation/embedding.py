"""What benchmarks share whose answers may take an embedder: its settings, and how it is opened."""

from typing import TYPE_CHECKING

from pydantic import ConfigDict, Field

from dspy_proact.runs import Settings

if TYPE_CHECKING:
    from dspy_proact.models import Embedder, Gate


OF_EMBEDDER = ("embedder_api_base", "embedder_price")
"""Settings that have no effect without an embedder."""


class EmbedderSettings(Settings):
    """Settings that name an embedder."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    embedder: str | None = None
    """Model that embeds texts, a litellm name."""
    embedder_api_base: str | None = None
    """Endpoint of the embedder, such as http://localhost:8000/v1; its provider's own without one."""
    embedder_price: float | None = Field(default=None, ge=0, le=1e6, allow_inf_nan=False, exclude=True)
    """US dollars per million tokens of the embedder, where litellm knows none; not part of the identity."""


def embedder_of(settings: Settings, gate: "Gate") -> "Embedder | None":
    """The embedder that the settings name, if any; raises a `UsageError` where it cannot be called."""
    from dspy_proact.calls import Price
    from dspy_proact.models import ModelSpec, open_embedder

    if not isinstance(settings, EmbedderSettings) or settings.embedder is None:
        return None
    dollars, price = settings.embedder_price, None
    if dollars is not None:
        price = Price(prompt=dollars / 1e6, completion=0.0, reason="given by the setting embedder_price")
    spec = ModelSpec(name=settings.embedder, api_base=settings.embedder_api_base, price=price)
    return open_embedder(spec, gate, "settings.embedder")
