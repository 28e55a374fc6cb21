"""The adapter under a second question: what can be read of the answer counts."""

from contextlib import suppress
from functools import lru_cache
from typing import Any, cast

import dspy
from dspy import AdapterParseError

from dspy_proact.programs import FencedJSON


class PartialJSON(FencedJSON):
    """Reads each field for itself; one that is missing or has another form is None."""

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """The output fields of the one object in the answer; raises `AdapterParseError` where none can be read."""
        found: dict[str, Any] = {}
        for name in signature.output_fields:
            with suppress(AdapterParseError):
                found |= super().parse(_alone(cast("Any", signature), name), completion)
        if not found:
            return super().parse(signature, completion)
        return dict.fromkeys(signature.output_fields) | found


@lru_cache(maxsize=128)
def _alone(signature: type[dspy.Signature], name: str) -> type[dspy.Signature]:
    """The signature with one output field only."""
    others = [each for each in signature.output_fields if each != name]
    for other in others:
        signature = cast("Any", signature).delete(other)
    return signature
