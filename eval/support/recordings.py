"""Recordings of the published size in the published schema, of nobody: words and times are drawn by chance.

Work comes in stretches of windows that follow each other, with pauses of minutes to a night between them, and help in
bursts: after an event with help the next is likelier to have it.
"""

import json
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from dspy_proact.benchmarks.proagentbench.corpus import DATABASE, INTENTION_FILE
from dspy_proact.benchmarks.proagentbench.moments import INTENTIONS

EVENTS, PEOPLE = 28_528, 17
HELP = 0.253
"""Share of the events that have help."""
_AFTER_HELP = 0.45
"""Share of the events after one with help."""
_APPS = tuple(f"Application {number}" for number in range(12))
_WORDS = tuple(f"word{number}" for number in range(400))
_COLUMNS = (
    "id INTEGER PRIMARY KEY, start_time TEXT, end_time TEXT, app_name TEXT, window_title TEXT, is_llm_event INTEGER, "
    "event_summary TEXT, detailed_description TEXT, conversation TEXT"
)


def write_recordings(folder: Path, seed: int, events: int = EVENTS, people: int = PEOPLE) -> None:
    """Databases of so many people, with so many events in all."""
    draw = np.random.default_rng(seed)
    for person in range(people):
        count = events // people + (person < events % people)
        _write(folder / f"person{person + 1:02}", draw, count)


def _write(folder: Path, draw: np.random.Generator, count: int) -> None:
    folder.mkdir(parents=True)
    now, helped, rows, labels = datetime(2025, 3, 3, 9), False, list[tuple[object, ...]](), list[str]()
    otherwise = HELP * (1 - _AFTER_HELP) / (1 - HELP)  # so that the share in the long run is HELP
    for number in range(1, count + 1):
        helped = bool(draw.random() < (_AFTER_HELP if helped else otherwise))
        end = now + timedelta(seconds=3 + float(draw.exponential(60)))
        title, summary, query = (" ".join(draw.choice(_WORDS, size)) for size in (6, 25, 12))
        app = "Browser" if helped else str(draw.choice(_APPS))
        body = json.dumps({"user_queries": [query]}) if helped else None
        rows.append((number, str(now), str(end), app, title, int(helped), summary, "", body))
        if helped:
            intention = INTENTIONS[min(int(draw.geometric(0.3)) - 1, len(INTENTIONS) - 1)]
            labels.append(json.dumps({"event_id": number, "user_intention": intention}))
        pause = 2.0 if draw.random() < 0.93 else 400 + float(draw.pareto(1.5)) * 600
        now = end + timedelta(seconds=min(pause, 50_000))
    with closing(sqlite3.connect(folder / DATABASE)) as connection, connection:
        connection.execute(f"CREATE TABLE events ({_COLUMNS})")
        connection.executemany(f"INSERT INTO events VALUES ({', '.join('?' * 9)})", rows)
    (folder / INTENTION_FILE).write_text("\n".join(labels), encoding="utf-8")
