"""One file that shows an audit: what can be trusted, every check with what it found, and the items that runs doubt."""

from typing import TYPE_CHECKING

from dspy_proact.plain_text import encodable
from dspy_proact.report.numbers import counted, percent
from dspy_proact.report.page.figures import PAGE, one_file, page_text, templates
from dspy_proact.report.page.scatter import clipped

if TYPE_CHECKING:
    from dspy_proact.audit.audit import Audit

_HERE = "dspy_proact.audit"
_SHOWN = 25
"""Findings of a check that are open at once."""


def audit_page(audit: "Audit") -> str:
    """The page of an audit, as HTML that needs no other file and has no script."""
    style = page_text(PAGE, "page.css") + page_text(_HERE, "audit.css")
    title = f"{clipped(encodable(audit.corpus.name), 60)}: audit"
    shown = {"audit": audit, "title": title, "counted": counted, "percent": percent, "most": _SHOWN}
    return encodable(one_file(templates(_HERE).get_template("audit.html"), style, "", **shown))
