"""What is refused: who has no token or another's, what comes from elsewhere, and what is no form of ours."""

from urllib.parse import quote

import pytest
from builders.attack import ATTACK
from drivers.labelling import collected, item, joined, rating, serving
from support.visitor import Visitor, key

from dspy_proact.errors import UsageError
from dspy_proact.label import app
from dspy_proact.label.access import origins

WRITES = ("/practice", "/rate", "/undo", "/leave", "/link")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    made = collected(tmp_path_factory.mktemp("access") / "study.db", [item(n) for n in range(4)], ratings=2, raters=2)
    with serving(made) as running:
        for name in ("Ann", "Bob"):
            assert "0 of 4" in joined(running, name).get("/rate").text
        yield running


@pytest.fixture
def ann(served):
    """A rater of whom nothing else is known."""
    served.store.add_rater(key(), token := key())
    visitor = Visitor(served.port)
    visitor.post("/enter", {"token": token})
    visitor.get("/briefing")
    return visitor


def test_without_a_token_there_is_a_door_and_nothing_else(served):
    nobody = Visitor(served.port)
    assert nobody.get("/").status == 200
    for path in ("/briefing", "/rate", "/left", "/owner"):
        assert nobody.get(path).status == 403
    for path in (*WRITES, "/owner/adjudicate"):
        assert nobody.post(path, {}).status == 403
    for path in ("/enter", "/join"):
        assert nobody.post(path, {"token": "x", "name": "Eve"}).status == 403
    assert not nobody.cookie


def test_a_token_opens_what_it_is_for(served, ann):
    assert ann.get("/owner").status == 403
    assert ann.post("/owner/adjudicate", {"item": item(0).key, "grade": "LOST", "reason": "x"}).status == 403
    owner = Visitor(served.port)
    assert owner.post("/enter", {"token": served.owner}).json == {"to": "/owner"}
    assert owner.get("/rate").status == 403
    assert owner.post("/join", {"token": served.owner, "name": "Owner"}).status == 403
    eve = Visitor(served.port, cookie=owner.cookie.replace("owner-", "rater-"))
    assert eve.get("/rate").status == 403


def test_a_rater_writes_into_their_own_slate_only(served, ann):
    """Whose items the other two share: the third rater has none, and may not rate one of them."""
    assert "nothing to rate" in ann.get("/rate").text
    fields = {"item": item(0).key, "repeated": 0, "grade": "LOST", "confidence": 3, "seconds": 1}
    assert ann.post("/rate", fields).status == 409
    before = served.store.ratings()
    other = Visitor(served.port, cookie=ann.cookie)
    other.csrf = joined(served, key()).csrf
    assert other.post("/undo", {}).status == 403, "the CSRF value is another rater's"
    assert served.store.ratings() == before


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": None}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "10.0.0.1"}, 421),
        ({"Content_Type": "application/json"}, 409),
        ({"Content_Type": "text/plain"}, 409),
        ({"Content_Type": "multipart/form-data; boundary=x"}, 409),
    ],
)
def test_a_write_from_elsewhere_is_refused(ann, headers, status):
    assert ann.post("/leave", {}, **headers).status == status


def test_a_write_without_the_value_of_its_page_or_a_key_is_refused(served, ann):
    for path in WRITES:
        for csrf in ("", "0" * 64, ann.csrf.upper(), "é"):
            assert ann.post(path, {"csrf": csrf}).status == 403
    for bad in ("", "0" * 31, "G" * 32, "0" * 33, "0" * 32 + "\n"):
        assert ann.post("/undo", {"key": bad}).status == 409


@pytest.mark.parametrize("body", [b"\xff\xfe", b"a=%ff", b"&".join([b"a=1"] * 21), b"=" * 5000, b"", b"\x00"])
def test_what_is_no_form_is_refused(ann, body):
    assert ann.ask("POST", "/undo", body).status in (403, 409)


def test_what_is_large_is_not_read(served, ann):
    try:
        status = ann.ask("POST", "/rate", b"x" * 10_000_000).status
    except ConnectionError:
        status = 413  # it was answered and hung up on while the rest was on its way
    assert status == 413
    assert Visitor(served.port).get("/").status == 200
    assert Visitor(served.port).get("/" + "a" * 100_000).status in (400, 404, 431)


def test_a_body_of_no_given_length_is_not_read(ann):
    assert ann.ask("POST", "/leave", b"0\r\n\r\n", Transfer_Encoding="chunked").status == 413


def test_a_body_that_does_not_come_is_not_waited_for(ann, monkeypatch):
    monkeypatch.setattr("dspy_proact.label.access._BODY_SECONDS", 0.01)
    assert ann.ask("POST", "/leave", b"", Content_Length="5").status == 408


FIELDS = ("item", "repeated", "grade", "confidence", "reason", "spans", "seconds", "key", "name", "token")


@pytest.mark.parametrize("text", ["../../etc/passwd", "' OR 1=1; DROP TABLE log; --", ATTACK.replace("\0", ""), "\0"])
def test_no_parameter_is_a_path_a_statement_or_markup(served, ann, text):
    before = (served.store.ratings(), len(served.store.raters()))
    for name in FIELDS:
        fields = {"item": item(0).key, "repeated": 0, "grade": "LOST", "confidence": 3, "reason": "", "seconds": 1}
        for path in (*WRITES, "/enter", "/join"):
            if path not in ("/leave", "/link") and not (path == "/undo" and name != "key"):
                assert ann.post(path, fields | {"spans": "[]", name: text}).status in (403, 409)
    for path in (f"/static/{text}", f"/rate/{text}", f"/{text}"):
        assert ann.get(f"/{quote(path[1:], safe='')}").status == 404
    assert (served.store.ratings(), len(served.store.raters())) == before


def test_no_file_but_six_is_served(served):
    visitor = Visitor(served.port)
    for name in ("page.css", "label.css", "rate.js", "pages.js", "review.css", "review.js"):
        page = visitor.get(f"/static/{name}")
        assert (page.status, page.headers["cache-control"]) == (200, "private, max-age=300")
    for name in ("app.py", "../app.py", "page.js", "templates/item.html", ".."):
        assert visitor.get(f"/static/{name}").status == 404


def test_every_answer_has_its_guards_and_the_cookie_is_the_servers_alone(served, ann):
    for answer in (ann.get("/briefing"), ann.get("/none"), ann.post("/undo", {"csrf": ""}), ann.get("/", Host="evil")):
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'; script-src")
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
    joining = Visitor(served.port).post("/join", {"token": served.entry, "name": key()})
    cookie = joining.headers["set-cookie"].lower()
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip() for part in cookie.split(";")}


def test_no_token_is_in_a_page(served, ann):
    token = ann.cookie.partition("=")[2]
    for path in ("/", "/briefing", "/rate"):
        assert token not in ann.get(path).text
    assert served.entry not in ann.get("/briefing").text


def test_rates_are_bounded(tmp_path):
    made = collected(tmp_path / "study.db", [item(1)])
    with serving(made, requests=40) as served:
        visitor = Visitor(served.port)
        # At most two minutes are touched, so that the count may begin once more.
        assert 429 in {visitor.post("/enter", {"token": "wrong"}).status for _ in range(82)}


def test_there_are_only_so_many_raters(tmp_path, monkeypatch):
    monkeypatch.setattr(app, "_MOST_RATERS", 1)
    with serving(collected(tmp_path / "study.db", [item(1)])) as served:
        joined(served, "Ann")
        answer = Visitor(served.port).post("/join", {"token": served.entry, "name": "Bob"})
        assert (answer.status, "1 raters already" in answer.json["problem"]) == (409, True)


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path):
    with serving(collected(tmp_path / "study.db", [item(n) for n in range(2)], ratings=1, raters=1)) as served:
        ann = joined(served, "Ann")
        ann.post("/rate", rating(ann.get("/rate")))
        form = rating(ann.get("/rate"), reason="x" * 4000) | {"key": key()}
        served.store._db.row(f"PRAGMA max_page_count = {served.store._db.row('PRAGMA page_count')[0]}")
        full = [ann.post("/rate", form)]
        assert (full[0].status, "disk is full" in full[0].json["problem"]) == (507, True)
        served.store._db.row("PRAGMA max_page_count = 100000")
        assert ann.post("/rate", form).status == 200, "the same click, once there is room"
        assert len(served.store.ratings()) == 2


def test_a_file_that_is_gone_is_said_on_every_page_and_nothing_is_acknowledged(tmp_path, caplog):
    with serving(collected(tmp_path / "study.db", [item(n) for n in range(2)], ratings=1, raters=1)) as served:
        ann = joined(served, "Ann")
        form = rating(ann.get("/rate")) | {"key": key()}
        served.store.path.rename(tmp_path / "moved.db")
        refused = ann.post("/rate", form)
        assert (refused.status, "could not be kept: the file of the study was moved" in refused.json["problem"]) == (
            503,
            True,
        )
        page = ann.get("/rate")
        assert (page.status, "<h1>The study cannot be used now: the file" in page.text) == (503, True)
        assert str(tmp_path) not in refused.text + page.text, "where files lie is the owner's"
        owner = Visitor(served.port)
        owner.post("/enter", {"token": served.owner})
        assert owner.get("/owner").status == 503
        assert Visitor(served.port).post("/join", {"token": served.entry, "name": "Bob"}).status == 503
        (warned,) = caplog.messages
        assert f"was moved to {tmp_path / 'moved.db'}" in warned, "once, on the terminal"
        assert warned.startswith("The study cannot be used: "), "which is so of a page that is only read, too"
        (tmp_path / "moved.db").rename(served.store.path)
        assert ann.post("/rate", form).status == 200, "the same click, once it is back"


def test_which_hosts_are_served(monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "Desk")
    local = {f"{name}:8427": f"http://{name}:8427" for name in ("127.0.0.1", "localhost", "[::1]")}
    assert origins(8427) == local
    assert origins(8427, "127.0.0.2") == local | {"127.0.0.2:8427": "http://127.0.0.2:8427"}
    network = {host: f"http://{host}" for host in ("[fe80::1]:8427", "desk:8427")}
    assert origins(8427, "FE80::1") == local | network
    proxied = origins(8427, url="https://Label.example.org/")
    assert proxied == local | {"label.example.org": "https://label.example.org"}
    for url in ("label.example.org", "https://a.b/path", "ftp://a.b", "https://user@a.b", "https://"):
        with pytest.raises(UsageError, match="url"):
            origins(8427, url=url)
