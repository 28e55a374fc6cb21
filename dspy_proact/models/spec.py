"""A model as a person names it."""

from typing import Any

from pydantic import Field

from dspy_proact.calls import Price
from dspy_proact.types import Frozen

EMBEDDED = "embedded"
"""Names the stand-in, which needs no key and measures nothing."""


class ModelSpec(Frozen):
    """A model by its name, with what is said of how it is called."""

    name: str = EMBEDDED
    """A litellm name, or `embedded`."""
    api_base: str | None = None
    """Another endpoint than the provider's own."""
    params: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Decoding parameters that override the preset; None leaves one out, and the JSON schema of verdicts with it where
    `response_format` is None."""
    price: Price | None = None
    """Instead of the list price."""

    @classmethod
    def of(cls, named: "ModelSpec | str") -> "ModelSpec":
        """The model that is named, by its name alone or by all of it."""
        return cls(name=named) if isinstance(named, str) else named

    def beside(self, other: "ModelSpec") -> "ModelSpec":
        """This one; where the other has the same name, with what is said of that one and not of this one."""
        if self.name != other.name:
            return self
        return ModelSpec(
            name=self.name,
            api_base=self.api_base or other.api_base,
            params=self.params or other.params,
            price=self.price or other.price,
        )
