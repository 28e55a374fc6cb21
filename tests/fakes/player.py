"""The server plays any model: a request gets an answer of its form that follows from the request alone."""

from support.player import play

from fakes.server import Answer, Sent


def played(sent: Sent) -> Answer:
    """What is answered to a request."""
    return Answer(play(sent.body))
