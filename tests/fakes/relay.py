"""An application that asks a model at `RELAY`, an OpenAI-compatible server, and returns what that says."""

import json
import os
from urllib.request import Request, urlopen


def answer(messages):
    body = json.dumps({"model": "", "messages": messages}).encode()
    request = Request(f"{os.environ['RELAY']}/chat/completions", body, {"Content-Type": "application/json"})
    with urlopen(request) as response:
        return json.load(response)
