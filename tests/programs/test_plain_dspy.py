"""Judge and assistant as any module of DSPy: a `dspy.LM` over HTTP, DSPy's optimizers, evaluation and files."""

import asyncio
import json

import dspy
import pytest
from fakes.server import Answer, verdict

from dspy_proact import Assistant, Judge, Phase, Rubric, Turn

HIDDEN = "the secret of a persona"
LACKS = "This is an example of the task, though some input or output fields are not supplied."
NOT_SUPPLIED = "Not supplied for this particular example. "
RUBRIC = Rubric(phase=Phase.EMERGENT, pass_criteria="Plans.", partial_criteria="Hints.", fail_criteria="Idles.")
PROGRAMS = pytest.mark.parametrize("program", [Judge, Assistant], ids=["judge", "assistant"])


def example_of(program, number):
    """An example with the output that people give: a grade without reasoning or evidence, or a response."""
    if program is Judge:
        turns = [Turn(user=f"I move on day {number}.", assistant=None)]
        inputs, output = {"conversation": turns, "rubric": RUBRIC, "response": "Label a box."}, {"grade": "PASS"}
    else:
        history = [Turn(user="Hi.", assistant="Hello.")]
        inputs, output = {"history": history, "user_message": f"I move on day {number}."}, {"response": "Label a box."}
    return dspy.Example(**inputs, **output, persona=HIDDEN).with_inputs(*inputs)


def examples(program):
    return [example_of(program, number) for number in range(4)]


def is_right(example, prediction, trace=None):
    name = "grade" if "grade" in example else "response"
    return prediction[name] == example[name]


@pytest.fixture(autouse=True)
def requests(server):
    """What a model was asked that plans boxes and grades everything PASS; it is the one that is configured."""
    server.script = lambda sent: Answer(verdict("PASS", ["Label a box"]) if "Rubric, " in sent.text else "Label a box.")
    lm = dspy.LM("openai/any", api_base=server.assistant, api_key="none", cache=False, num_retries=0)
    with dspy.context(lm=lm):
        yield server.sent


def last_request(requests):
    """The messages sent last; nothing hidden was sent ever."""
    assert HIDDEN not in "".join(sent.text for sent in requests)
    return requests[-1].messages


@PROGRAMS
def test_labeled_few_shot_shows_examples_with_the_fields_that_they_have(program, requests):
    train, new = examples(program), example_of(program, 9)
    compiled = dspy.LabeledFewShot(k=2).compile(program(), trainset=train)
    assert compiled.demos == 2
    assert is_right(new, compiled(**new.inputs()))
    messages = last_request(requests)
    if program is Assistant:
        system, *_, user = messages
        assert system["content"].count("A worked example:") == 2
        assert user["content"] == "I move on day 9."
        return
    _, question, answer, *_, user = messages
    assert len(messages) == 6
    assert question["content"].startswith(f"{LACKS}\n\nConversation\n")
    assert json.loads(answer["content"]) == dict.fromkeys(("reasoning", "evidence"), NOT_SUPPLIED) | {"grade": "PASS"}
    assert LACKS not in user["content"]


@PROGRAMS
def test_bootstrap_few_shot_shows_its_own_answers_and_then_examples(program, requests):
    optimizer = dspy.BootstrapFewShot(metric=is_right, max_bootstrapped_demos=1, max_labeled_demos=2)
    compiled = optimizer.compile(program(), trainset=examples(program))
    new = example_of(program, 9)
    assert compiled.demos == 2
    assert is_right(new, compiled(**new.inputs()))
    messages = last_request(requests)
    if program is Judge:
        assert [json.loads(row["content"])["reasoning"] for row in messages[2:-1:2]] == [NOT_SUPPLIED, "because"]
    else:
        assert messages[0]["content"].count("A worked example:") == 2


@PROGRAMS
def test_evaluate_runs_it_over_examples_in_threads(program, requests):
    score = dspy.Evaluate(devset=examples(program), metric=is_right, num_threads=2)(program()).score
    assert (score, len(requests)) == (100.0, 4)


@PROGRAMS
def test_what_is_saved_and_loaded_sends_the_same(program, requests, tmp_path):
    compiled = dspy.LabeledFewShot(k=3).compile(program(), trainset=examples(program))
    compiled.save(tmp_path / "program.json")
    loaded = program()
    loaded.load(tmp_path / "program.json")
    inputs = example_of(program, 9).inputs()
    compiled(**inputs), loaded(**inputs)
    assert requests[0].wire == requests[1].wire
    assert (loaded.demos, loaded.fingerprint()) == (3, compiled.fingerprint())


@PROGRAMS
def test_the_model_is_that_of_the_context_in_either_way(program, requests, server):
    inputs = example_of(program, 9).inputs()
    other = dspy.LM("openai/other", api_base=server.judge, api_key="none", cache=False, num_retries=0)
    with dspy.context(lm=other):
        program()(**inputs)
        asyncio.run(program().acall(**inputs))
    program()(**inputs)
    assert [(sent.role, sent.body["model"]) for sent in requests] == [("judge", "other")] * 2 + [("assistant", "any")]


def test_an_example_of_which_no_field_or_no_response_is_known_is_not_shown(requests):
    assistant, judge = Assistant(), Judge()
    assistant.reply.demos = [dspy.Example(user_message="Hi."), dspy.Example(response="Pack."), dspy.Example()]
    judge.emergent.demos = [dspy.Example(response="Pack."), dspy.Example(grade="PASS"), dspy.Example()]
    assistant(**example_of(Assistant, 9).inputs())
    judge(**example_of(Judge, 9).inputs())
    shown = '{\n "conversation": [],\n "response": "Pack."\n}'
    assert [row["content"] for row in requests[0].messages if row["role"] == "system"] == [
        f"A worked example:\n{shown}"
    ]
    assert len(requests[1].messages) == 2


def test_a_judge_takes_plain_dictionaries(requests):
    inputs = example_of(Judge, 9).inputs().toDict()
    plain = {
        "conversation": [turn.model_dump() for turn in example_of(Judge, 9).conversation],
        "rubric": RUBRIC.model_dump(),
    }
    assert Judge()(**inputs).grade == Judge()(**{**inputs, **plain}).grade
    assert requests[0].wire == requests[1].wire
