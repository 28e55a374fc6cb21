"""Templates of the page, filled: with its style and script in them, and nothing of others that a browser would obey."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dspy_proact.plain_text import encodable, printable

_LONGEST_NAME = 120


def filled(name: str, **shown: Any) -> str:
    """A template with what it is to show, `short` among it, and the page's style, script and policy."""
    style, script = (_file(name) for name in ("page.css", "page.js"))
    own = {"short": short, "style": Markup(style), "script": Markup(script), "policy": _policy(style, script)}
    return _templates().get_template(name).render(**own, **shown)


def short(text: str) -> str:
    """A name on one line, its middle left out where it is long."""
    line = " ".join(printable(encodable(text)).split())
    half = _LONGEST_NAME // 2
    return line if len(line) <= _LONGEST_NAME else f"{line[:half]}…{line[-half:]}"


def _policy(*inline: str) -> str:
    """A Content-Security-Policy that lets the page's own style and script be, and nothing else."""
    style, script = (f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in inline)
    return (
        f"default-src 'none'; style-src {style}; script-src {script}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


@cache
def _file(name: str) -> str:
    return (files("dspy_proact.report.page") / name).read_text(encoding="utf-8")


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("dspy_proact.report.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_seen,
    )


def _seen(value: Any) -> Any:
    """A text of others with what would be hidden in it shown; what is safe already stays as it is."""
    return printable(encodable(value)) if isinstance(value, str) and not isinstance(value, Markup) else value
