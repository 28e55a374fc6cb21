"""When and with what something was made."""

import platform
from datetime import UTC, datetime
from importlib.metadata import version


def versions(*names: str) -> dict[str, str]:
    """Of ours, of DSPy, of litellm, of further packages, and of Python."""
    packages = {name: version(name) for name in ("dspy-proact", "dspy", "litellm", *names)}
    return packages | {"python": platform.python_version()}


def now() -> str:
    """The time, ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
