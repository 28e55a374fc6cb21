"""An item as one flat record, whatever its kind: what tools search, query and show."""

import json
from dataclasses import dataclass, fields

from dspy_proact.benchmarks.probe.corpus import Document, Email, Event, Item
from dspy_proact.programs.fenced_json import fence


@dataclass(frozen=True)
class Record:
    """An item; what its kind does not have is empty."""

    id: str
    kind: str
    title: str
    """Of an e-mail its subject."""
    people: str
    """Sender, receivers, attendees: names or addresses, with commas between them."""
    time: str
    """When it was sent or begins, ISO 8601."""
    ends: str
    place: str
    text: str
    stamps: str
    """What else the file says of it, as JSON."""

    @classmethod
    def of(cls, item: Item) -> "Record":
        """The record of an item."""
        people, time, ends, place = "", "", "", ""
        match item:
            case Email():
                title, text, time = item.subject, item.body, item.timestamp
                people = ", ".join((item.sender, *item.to, *item.cc))
            case Event():
                title, text, time, ends, place = (
                    item.title,
                    item.description,
                    item.start_time,
                    item.end_time,
                    item.location,
                )
                people = ", ".join(item.attendees)
            case Document():
                title, text = item.title, item.content
        stamps = json.dumps(item.stamps, ensure_ascii=False) if item.stamps else ""
        return cls(item.id, item.kind, title, people, time, ends, place, text, stamps)

    @property
    def words(self) -> str:
        """What it is found by."""
        return "\n".join(filter(None, (self.title, self.people, self.place, self.text)))

    @property
    def shown(self) -> str:
        """The record line by line, its text last and marked, so that no line of it looks like another record's."""
        named = {each.name: " ".join(getattr(self, each.name).split()) for each in fields(self) if each.name != "text"}
        return "\n".join([*(f"{name}: {value}" for name, value in named.items() if value), fence(self.text)])
