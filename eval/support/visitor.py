"""Who visits the pages of `label serve` and is no browser."""

import json
import re
import secrets
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlencode


@dataclass
class Answer:
    """What came back."""

    status: int
    text: str
    headers: dict[str, str]

    @property
    def json(self) -> dict:
        return json.loads(self.text)

    def field(self, name: str) -> str:
        """An attribute of the page, `data-NAME`."""
        (value,) = re.findall(rf'data-{name}="([^"]*)"', self.text)
        return value


@dataclass
class Visitor:
    """Speaks HTTP as a browser does, over one connection."""

    port: int
    cookie: str = ""
    csrf: str = ""
    connection: HTTPConnection = field(init=False)

    def __post_init__(self) -> None:
        self.connection = HTTPConnection("127.0.0.1", self.port, timeout=60)

    def send(self, method: str, path: str, body: str | bytes | None = None, **headers: str | None) -> None:
        """Ask with the headers of a browser; those that are named replace them, None leaves one out."""
        own = {"Cookie": self.cookie} if self.cookie else {}
        if method == "POST":
            own |= {
                "Origin": f"http://127.0.0.1:{self.port}",
                "Content-Type": "application/x-www-form-urlencoded",
                "Sec-Fetch-Site": "same-origin",
            }
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        own = {name: value for name, value in (own | headers).items() if value is not None}
        self.connection.request(method, path, body, own)

    def ask(self, method: str, path: str, body: str | bytes | None = None, **headers: str | None) -> Answer:
        """Ask likewise, and await the answer."""
        self.send(method, path, body, **headers)
        response: HTTPResponse = self.connection.getresponse()
        answer = Answer(response.status, response.read().decode(), dict(response.getheaders()))
        if (cookie := answer.headers.get("set-cookie")) and answer.status == 200:
            self.cookie = cookie.partition(";")[0]
        return answer

    def get(self, path: str, **headers: str | None) -> Answer:
        """A page, from which the CSRF value is kept."""
        answer = self.ask("GET", path, **headers)
        if 'data-csrf="' in answer.text:
            self.csrf = answer.field("csrf")
        return answer

    def post(self, path: str, fields: dict[str, object], **headers: str | None) -> Answer:
        """Send a form with the page's CSRF value and a key of its own, unless it has these."""
        return self.ask("POST", path, urlencode({"csrf": self.csrf, "key": key(), **fields}), **headers)


def key() -> str:
    return secrets.token_hex(16)
