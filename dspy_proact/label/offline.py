"""A rater's slate as one file that works from disk, and gives back a file of ratings.

The page asks nothing of any network: its style and script are in it, and its policy allows nothing else. What is rated
is kept in the browser under the study and the rater, and saved as JSON, which the study takes in once.
"""

import base64
import hashlib
import json
from collections.abc import Iterable
from importlib.resources import files

from markupsafe import Markup

from dspy_proact.errors import UsageError
from dspy_proact.label.assignment import assign
from dspy_proact.label.imports import FORMAT
from dspy_proact.label.items import Item
from dspy_proact.label.reading import shown, templates
from dspy_proact.label.store import Store, pseudonym
from dspy_proact.label.study import Rater
from dspy_proact.plain_text import encodable


def offline_rater(store: Store, name: str) -> Rater:
    """The rater of a pseudonym, with a slate; a new one has no link, for they rate from a file.

    Raises:
        UsageError: It is no pseudonym, or there is nothing left to rate.
    """
    name = pseudonym(name)
    rater = store.rater_named(name) or store.add_rater(name)
    if not any(each.state == "open" for each in store.slate(rater.number)) and not assign(store, rater.number):
        raise UsageError(f"{store.path}: there is nothing left to rate for {name}")
    return rater


def offline_page(store: Store, items: Iterable[Item], rater: Rater) -> str:
    """The page of what a rater is still to rate of the study's items, as HTML that needs no other file."""
    by_key = {item.key: item for item in items}
    places = [
        shown(item, swapped=store.swapped(rater.number, item), repeated=place.repeated)
        for place in store.slate(rater.number)
        if place.state == "open" and (item := by_key.get(place.item))
    ]
    told = {"format": FORMAT, "study": store.id, "rater": rater.name, "file": f"ratings-{rater.number}.json"}
    style = _text("report.page", "page.css") + _text("label", "label.css")
    script = _text("label", "rate.js") + _text("label", "offline.js")
    digests = (base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (style, script))
    policy = "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'"
    page = templates().get_template("offline.html")
    return encodable(
        page.render(
            places=places,
            study=f"{store.id}-{rater.number}",
            kind=store.study.kind,
            slate=Markup(json.dumps(told).replace("<", "\\u003c")),
            style=Markup(style),
            script=Markup(script),
            policy=policy.format(*digests),
        )
    )


def _text(room: str, name: str) -> str:
    return (files(f"dspy_proact.{room}") / name).read_text(encoding="utf-8")
