"""What a proposer is shown of long inputs."""

import json

from pydantic import BaseModel

from dspy_proact.compile.proposer import CUT, Excerpts


class Document(BaseModel):
    """An input that is a model."""

    id: str
    title: str
    content: str


def test_what_is_short_enough_is_shown_as_it_is():
    excerpts, item = Excerpts(200), Document(id="d1", title="Keys", content="in the drawer")
    inputs = {"documents": [item], "bottleneck": "a key"}
    assert excerpts.of(inputs) == inputs
    assert (excerpts.shown, excerpts.cut, excerpts.told) == (2, 0, None)


def test_of_a_long_input_every_text_begins_and_all_of_it_is_short_enough():
    excerpts = Excerpts(1000)
    items = [Document(id=f"d{number}", title=f"Keys {number}", content="word " * 500) for number in range(5)]
    shown = excerpts.of({"documents": items, "bottleneck": "a key"})
    assert len(json.dumps(shown["documents"])) <= 1000
    assert [each["title"] for each in shown["documents"]] == [f"Keys {number}" for number in range(5)]
    assert all(each["content"].startswith("word word") for each in shown["documents"])
    assert all(each["content"].endswith(CUT) for each in shown["documents"])
    assert shown["bottleneck"] == "a key"
    assert "1 of 2 inputs" in (excerpts.told or "")


def test_where_not_even_beginnings_have_room_the_whole_is_cut():
    excerpts = Excerpts(100)
    shown = excerpts.of({"names": [f"name{number}" for number in range(1000)]})
    assert len(shown["names"]) == 100
    assert shown["names"].endswith(CUT)
