"""The server killed, under load, and ended in order."""

import gc
import os
import signal
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

from child import Child
from labelling import Visitor, collected, item, joined, key, rating, serve_again, serving

from dspy_proact.label.access import Limits
from dspy_proact.label.store import Store

CLICKS, RATERS, ITEMS, EACH = 50, 20, 200, 10


class Restarted:
    """A server that is killed and begun again on one file, and a rater who stays."""

    def __init__(self, folder, token):
        self.folder, self.cookie, self.token = folder, "", token
        os.mkfifo(folder / "ready")

    def __enter__(self):
        self.child = Child(serve_again, self.folder / "study.db", CLICKS, self.folder / "ready")
        port = int((self.folder / "ready").read_text().rpartition(":")[2])
        self.ann = Visitor(port, cookie=self.cookie)
        if not self.cookie:
            self.ann.post("/enter", {"token": self.token})
            self.cookie = self.ann.cookie
            self.ann.get("/briefing")
        return self

    def __exit__(self, *_):
        self.child.kill()
        assert self.child.wait() == -signal.SIGKILL


def test_no_rating_is_lost_or_doubled_when_the_server_is_killed_right_after_each_click(tmp_path):
    """Every other click is killed with its answer on the way, and is sent once more."""
    collection, _, _ = collected(tmp_path / "study.db", [item(number) for number in range(CLICKS)], each=1, raters=1)
    _, token = collection.store.add_rater("Ann")
    collection.store.close()
    server, given = Restarted(tmp_path, token), {}
    for click in range(CLICKS):
        with server:
            if click % 2:
                assert server.ann.post("/rate", given).status == 200
            page = server.ann.get("/rate")
            assert f"{click} of {CLICKS}" in page.text
            given = rating(page) | {"key": key(), "csrf": server.ann.csrf}
            if click % 2:
                assert server.ann.post("/rate", given).status == 200
            else:
                server.ann.send("POST", "/rate", urlencode(given))
    store = Store.open(tmp_path / "study.db")
    assert Counter(each.item for each in store.ratings()) == Counter(store.marks().keys())
    store.close()


def test_twenty_raters_at_once_lose_nothing_and_memory_stays_flat(tmp_path):
    made = collected(tmp_path / "study.db", [item(n) for n in range(ITEMS)], each=EACH, raters=RATERS, repeated=0.1)
    used = []

    def rate(served, number):
        visitor, count = joined(served, f"rater {number}"), 0
        while "article" in (page := visitor.get("/rate")).text:
            assert visitor.post("/rate", rating(page)).status == 200
            count += 1
            if number == 0 and count % 25 == 0:
                gc.collect()
                used.append(sys.getallocatedblocks())
        return count

    with serving(*made, Limits(requests=10**6)) as served, ThreadPoolExecutor(RATERS) as raters:
        given = list(raters.map(lambda number: rate(served, number), range(RATERS)))
        first, all_of_them = served.store.ratings(repeats=False), served.store.ratings()
        places = served.store.slates()
    assert len(first) == ITEMS * EACH == 2000
    assert len(all_of_them) == sum(given) == len(places)
    assert {*Counter(each.item for each in first).values()} == {EACH}
    assert len({(each.rater, each.item, each.repeated) for each in all_of_them}) == len(all_of_them)
    assert 150 <= sum(each.repeated for each in all_of_them) <= 250, "a tenth comes again"
    # Blocks of memory. What is drawn of 200 items is kept, and nothing grows with the ratings.
    assert used[-1] - used[1] < 5_000, used
