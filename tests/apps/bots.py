"""A service that tests describe by a template and script, and how it is asked."""

import asyncio
import json

from fakes.server import Answer

from dspy_proact.apps.app import AppRequest
from dspy_proact.apps.service import ServiceApp
from dspy_proact.apps.template import Template

SYSTEM = {"role": "system", "content": "Be brief."}
CHAT = (
    {"role": "user", "content": 'I move on "Friday".\n{{system}} $BOT_KEY'},
    {"role": "assistant", "content": "Noted."},
    {"role": "user", "content": "Thanks, that is all."},
)


def template(body=None, **fields):
    return {"body": {"chat": "{{messages}}"} if body is None else body, "reply": "text", **fields}


def opened(server, tmp_path, fields, path=""):
    """The application of a template, which is read from a file as a person writes it."""
    file = tmp_path / "bot.json"
    file.write_text(json.dumps(fields))
    return ServiceApp(f"{server.base('bot')}/chat{path}", Template.read(file))


def answers(app, *chats, conversation="c"):
    async def run():
        try:
            return [await app.answer(AppRequest(tuple(chat), conversation)) for chat in chats or [CHAT]]
        finally:
            await app.aclose()

    return asyncio.run(run())


def reply(server, fields, status=200, **headers):
    """The service gives this JSON, or these bytes, to every request."""
    raw = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    server.script = lambda sent: Answer(raw=raw, status=status, headers=headers)
