"""How many calls are in flight, and in which order they are answered, decides nothing: the artefact is the same."""

from collections import Counter

import assistants
import pytest
import tuning
from assistants import ASSISTANT_OPTIMIZERS
from server import Server, shuffled

from dspy_proact.models import Gate
from dspy_proact.programs import OPTIMIZERS

WIDTHS = (1, 64)
"""Those between are `test_any_task`'s: what lies between the two is of no program."""


def judges(server: Server, optimizer, width: int, folder):
    how, gate = tuning.recipe(optimizer), {"concurrency": width}
    return tuning.at(server, tuning.study(), how, **gate).run(folder)


def assists(server: Server, optimizer, width: int, folder):
    how, gate = assistants.recipe(optimizer, trials=2), Gate(retries=0, concurrency=width)
    return assistants.at(server, assistants.few(), how, guards={"offers": 0.05}, gate=gate).run(folder)


@pytest.mark.parametrize(
    ("compiled", "models", "optimizer"),
    [
        *((judges, tuning.models, name) for name in OPTIMIZERS),
        *((assists, assistants.models, name) for name in ASSISTANT_OPTIMIZERS),
    ],
)
def test_the_artefact_is_the_same_at_any_width_with_answers_in_any_order(tmp_path, server, compiled, models, optimizer):
    contents, asked = [], []
    for width in WIDTHS:
        server.sent, server.most_in_flight = [], 0
        server.script = shuffled(models, seed=width)
        finished = compiled(server, optimizer, width, tmp_path / str(width))
        contents.append(tuning.lasting(finished.path))
        asked.append(Counter(sent.said for sent in server.sent))
        assert finished.paid == len(server.sent)
        assert 1 < server.most_in_flight <= width or server.most_in_flight == width == 1
    assert contents[0] == contents[1]
    assert asked[0] == asked[1]
