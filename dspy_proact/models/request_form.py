"""What a provider refuses in the form of a request, and takes in another: a JSON schema, and the name of the limit.

Servers that speak one protocol differ in both, and none says so before the first request. What one refusal has shown
holds for the model to the end of the run, and the request that was refused is sent again at once. What is logged, and
what a transcript shows, is the request as it was made; a call says what was omitted from it.
"""

import re
from dataclasses import replace

from dspy.lm15 import Request

from dspy_proact.models.faults import Fault
from dspy_proact.models.spec import COMPLETION_LIMIT, LIMIT, SCHEMA

_NAMES = (LIMIT, COMPLETION_LIMIT)
_NAME = rf"\b({'|'.join(_NAMES)})\b"
_WANTED = re.compile(rf"(?i)\b(?:use|try|rename\w*)\W+(?:\w+\W+)?{_NAME}|{_NAME}\W+(?:\w+\W+)?instead")
_UNKNOWN = re.compile(r"(?i)unsupported|not supported|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed")
_FORMATS = {"json_schema": "a JSON schema", "json_object": "JSON mode"}


class RequestForm:
    """The changes that one model's provider has asked for.

    Args:
        keeps_format: Whether `response_format` is a person's own, which is sent as it is.
    """

    def __init__(self, *, keeps_format: bool = False):
        self._keeps_format = keeps_format
        self._refused = set[str]()
        self._limit_name: str | None = None

    def applied(self, request: Request) -> Request:
        """The request as the provider takes it."""
        config = request.config
        if (config.response_format or {}).get("type") in self._refused:
            config = replace(config, response_format=None)
        if self._limit_name:
            others = dict(config.extensions or {})
            limits = [*(others.pop(name, None) for name in _NAMES), config.max_tokens]
            if limit := next(filter(None, limits), None):
                config = replace(config, max_tokens=None, extensions={**others, self._limit_name: limit})
        return request if config is request.config else replace(request, config=config)

    def change(self, sent: Request, fault: Fault) -> str | None:
        """Change the form of requests after a fault of the one that was sent so.

        Returns what is changed, as a sentence, which is empty where another refusal has changed it before; None where
        no change mends the fault.
        """
        if fault.word != "setup":
            return None
        words = str(fault.error).rpartition("The server said: ")[2]
        form = str((sent.config.response_format or {}).get("type", ""))
        if fault.parameter == SCHEMA and form and not self._keeps_format:
            first = form not in self._refused
            self._refused.add(form)
            what = _FORMATS.get(form, form)
            return f"{what} ({SCHEMA}) is refused, and is omitted from now on. The server said: {words}" * first
        name = _wanted_name(words) if fault.parameter == LIMIT else None
        if name is None or name in (sent.config.extensions or {}) or self._limit_name not in (None, name):
            return None  # it refuses both names
        first, self._limit_name = self._limit_name is None, name
        return f"the limit of an answer is sent as {name} from now on. The server said: {words}" * first


def _wanted_name(words: str) -> str | None:
    """The name of the limit that a provider asks for: the one that it says, or else the one that it does not refuse."""
    if wanted := _WANTED.search(words):
        return (wanted[1] or wanted[2]).lower()
    refused = {name.lower() for name in re.findall(f"(?i){_NAME}", words)}
    others = [name for name in _NAMES if name not in refused]
    return others[0] if len(refused) == 1 and _UNKNOWN.search(words) else None
