"""Whose batch API answers the requests of a model."""

from collections.abc import Mapping

from dspy_proact.errors import UsageError
from dspy_proact.models.batch.anthropic_batches import AnthropicBatches
from dspy_proact.models.batch.batcher import MakeService
from dspy_proact.models.batch.openai_batches import AzureBatches, MistralBatches, OpenAIBatches
from dspy_proact.models.endpoint import Route

_OPENAI = ("openai-chat", "groq")
"""Providers whose own endpoints speak OpenAI's batches."""
_BY_LITELLM: Mapping[str, MakeService] = {
    **dict.fromkeys(("openai", "hosted_vllm", "litellm_proxy", "groq"), OpenAIBatches),
    "azure": AzureBatches,
    "mistral": MistralBatches,
}
"""Providers whose chat requests litellm's client sends in OpenAI's form, which their batches take."""


def service_of(route: Route, argument: str) -> MakeService:
    """The batch protocol of a model's provider; raises a `UsageError` where none is known.

    Of an address that a person gives, the server shows whether it has one.
    """
    if route.native and route.dialect == "anthropic":
        return AnthropicBatches
    if route.native and route.dialect == "openai-chat" and (route.api_base or route.provider in _OPENAI):
        return OpenAIBatches
    if not route.native and (service := _BY_LITELLM.get(route.provider)):
        return service
    raise UsageError(
        f"`{argument}` {route.model}: its batch API is not known here; omit `gate.batch`, or have a LiteLLM proxy "
        f"serve it, and name hosted_vllm/NAME with the proxy's address as `{argument}.api_base`"
    )
