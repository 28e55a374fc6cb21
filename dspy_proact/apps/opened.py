"""An application as a person names it: `FILE.py:NAME`, or the address of a service."""

from dspy_proact.apps.app import App
from dspy_proact.errors import UsageError


def opened_app(text: str) -> App:
    """The application of this name; nothing is started. Raises a `UsageError` where there is none."""
    if text.startswith(("http://", "https://")):
        raise UsageError(f"`app` {text}: services are not supported yet")
    raise UsageError(f"`app` {text}: is neither FILE.py:NAME nor the address of a service")
