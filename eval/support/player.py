"""A model that gives any request an answer of the form that it asks for, which follows from the request alone."""

import json
import random
import re
from typing import Any


def canonical(value: Any) -> str:
    """JSON that is the same for equal values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def play(body: dict[str, Any]) -> str:
    """Draw the text of an answer of the form that a request asks for, seeded by its messages."""
    draw = random.Random(canonical(body["messages"]))
    content = body["messages"][-1]["content"]
    last = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    sections = dict(re.findall(r"\[\[ ## (\w+) ## \]\]\n(.*?)(?=\n\[\[ ## |\Z)", last, re.DOTALL))
    form = form_of(body)
    if form is None:
        return f"You could {_words(draw, last)}. Shall I note {_words(draw, last)}?"
    return json.dumps(_value(form, "", draw, sections or {"": last}, form))


def form_of(body: dict[str, Any]) -> dict[str, Any] | None:
    """The JSON schema of the answer: from the request, else from the skeleton in DSPy's system message."""
    inputs = body.get("response_format") or {}
    if "json_schema" in inputs:
        return inputs["json_schema"]["schema"]
    _, result, rest = str(body["messages"][0]["content"]).partition("Outputs will be a JSON object with the following")
    if not result:
        return None
    notes = json.JSONDecoder().raw_decode(rest[rest.index("{") :])[0]
    properties = {}
    for name, note in notes.items():
        _, schema, text = note.partition("JSON schema: ")
        _, one, values = note.partition("one of: ")
        kind = "boolean" if "True or False" in note else "string"
        properties[name] = json.loads(text) if schema else {"enum": values.split("; ")} if one else {"type": kind}
    return {"type": "object", "properties": properties}


def _value(schema: dict[str, Any], name: str, draw: random.Random, shown: dict[str, str], root: dict[str, Any]) -> Any:
    if "$ref" in schema:
        definitions = schema.get("$defs") or root.get("$defs") or root["properties"][name]["$defs"]
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        schema = draw.choice(schema["anyOf"])
    if "enum" in schema:
        return draw.choice(schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        return [_value(schema["items"], name, draw, shown, root) for _ in range(draw.randint(1, 3))]
    if kind == "object":
        properties = schema.get("properties") or {key: {"type": "string"} for key in ("approver", "deadline")}
        return {key: _value(part, key, draw, shown, root) for key, part in properties.items()}
    if kind != "string":
        return {"boolean": draw.random() < 0.5, "integer": draw.randint(0, 9), "number": draw.random()}.get(str(kind))
    return _text(name, draw, shown)


def _text(name: str, draw: random.Random, shown: dict[str, str]) -> str:
    """A text for a field: ids where there are some, mostly true quotes, else words of the request."""
    complete = "\n".join(shown.values())
    ids = {part: re.findall(r'"id": ?"([^"]+)"', text) for part, text in shown.items()}
    offered = re.findall(r"^\| ([A-Z]\. .+)$", shown.get("options", ""), re.MULTILINE)
    if among := {"action": ids.get("actions"), "choice": offered}.get(name):
        return draw.choice(among)
    if name == "argument":
        return draw.choice([_words(draw, complete), "SELECT id, kind FROM items ORDER BY id LIMIT 3", "#E1"])
    if name == "evidence" and ids.get("documents"):
        return draw.choice(ids["documents"])
    if name == "evidence" and (seen := re.findall(r"\bitem_[0-9a-f]{8}\b", complete)):
        return draw.choice(seen)
    response = re.search(r"^Response.*\n((?: {4}.*\n?)+)", complete, re.MULTILINE)
    if response and name in {"evidence", "quote"} and draw.random() < 0.5:
        return _words(draw, response[1])
    return _words(draw, complete)


def _words(draw: random.Random, text: str) -> str:
    words = text.split() or ["nothing"]
    start = draw.randrange(len(words))
    return " ".join(words[start : start + 5])
