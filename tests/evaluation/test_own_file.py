"""A fault in a person's own benchmark is a sentence with file and line, before the first call where possible."""

import json
from pathlib import Path

import pytest
from builders.benchmarks import line_of, write_mine

from dspy_proact.evaluation import registry

EVAL = ["eval", "--benchmark", "mine.py", "--out", "run"]
READ = "        return CaseSet.of("
GRADE = "        score = {"


@pytest.fixture
def refusal(proact, tmp_path, monkeypatch):
    """What is said of the file, with one thing in it changed."""
    monkeypatch.setattr(registry, "_OWN", {})

    def call(was, becomes, *arguments):
        registry._of_file.cache_clear()
        path = write_mine(tmp_path, was, becomes)
        status, _, err = proact(*(arguments or EVAL))
        assert status == 2, err
        lines = [line for line in err.splitlines() if line.startswith(("Error: ", str(path)))]
        return path, lines[0].removeprefix("Error: ")

    return call


@pytest.mark.parametrize(
    ("was", "becomes", "at", "message"),
    [
        ('PLAIN = "', 'PLAIN = 1 / 0 or "', "PLAIN", "ZeroDivisionError: division by zero"),
        ("def judges(system,", "def judges(system", "def judges(", "invalid syntax"),
        (READ, f"        1 / 0\n{READ}", "1 / 0", "`read` failed: ZeroDivisionError: division by zero"),
        ("Case(key, key, topic,", "Case(topic, key, topic,", "def read(", "`read`: the key 'ORDER' is that of 4 cases"),
        (
            "Case(key, key, topic,",
            "Case(key, key, key,",
            "def read(",
            "`read`: the case 'late' has the stratum 'late', which is none of ORDER, INVOICE",
        ),
        (
            "Message(message=text))",
            "{'message': text})",
            "def read(",
            "`read`: the view of the case 'late' is a dict; it takes a pydantic model",
        ),
        (
            READ,
            "        return cases\n" + READ,
            "def read(",
            "`read`: returned a list in place of a CaseSet; CaseSet.of(NAME, CASES) makes one",
        ),
        ('"message -> reply"', '"message -> reply" / 2', "/ 2", "`program` failed: TypeError: unsupported operand"),
        (
            '"message -> reply"',
            '"question -> reply"',
            "def program(",
            "the program needs 'question'; it is given message: name the view's fields as its inputs, or",
        ),
        (
            '        return dspy.Predict(dspy.Signature("message -> reply"',
            "        return __import__('dspy_proact').Assistant() or (dspy.Signature(\"message -> reply\"",
            "def program(",
            "the program needs 'history'; it is given message: name the view's",
        ),
    ],
)
def test_before_the_first_call(refusal, was, becomes, at, message):
    path, shown = refusal(was, becomes)
    assert shown.startswith(f"{path}:{line_of(path, at)}: {message}"), shown
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("was", "becomes", "at", "message"),
    [
        (GRADE, f"        1 / 0\n{GRADE}", "1 / 0", "`grade` failed: ZeroDivisionError: division by zero"),
        ('"VAGUE" if not', '"UNCLEAR" if not', "score = {", "`grade` failed: KeyError: 'UNCLEAR'"),
        (
            "Scored(score, label,",
            "Scored(score, 'GOOD',",
            "async def grade",
            "`grade` returned the label 'GOOD', which",
        ),
        ("Scored(score, label,", "Scored(7, label,", "async def grade", "`grade` returned the score 7, which is not a"),
        (
            '{"words": words})',
            '{"words": float("nan")})',
            "async def grade",
            "`grade` returned the part words=nan, which",
        ),
        ("return Scored(", "return label or Scored(", "async def grade", "`grade` returned a str in place of Scored"),
        ('"tomorrow" in', "1 / 0 in", "1 / 0", "`stand_in` failed: ZeroDivisionError: division by zero"),
        (
            "    def feedback(",
            "    async def answer(self, case, ask):\n        return case.view\n\n    def feedback(",
            "async def answer",
            "`answer` returned a Message in place of Reply",
        ),
    ],
)
def test_in_a_run_which_ends_and_pays_for_nothing_more(refusal, was, becomes, at, message):
    path, shown = refusal(was, becomes)
    assert shown.startswith(f"{path}:{line_of(path, at)}: {message}"), shown


def test_a_program_without_a_field_of_the_answer_says_which(refusal):
    path, shown = refusal("    reply: str\n", "    reply: str\n    tone: str\n")
    assert shown.startswith(f"{path}: `answer` failed: TypeError: the program gives reply, and Reply needs tone"), shown


def parts(*declared):
    """`people` with these parts of the grading."""
    part = "__import__('dspy_proact').Part"
    return f"People(human_grades, parts=[{', '.join(f'{part}({item})' for item in declared)}])"


PEOPLE, GRADE = "People(human_grades)", "    async def grade("
WRONG = {
    "missing": (GRADE, "    async def _grade(", "class NextStep", "NextStep: does not declare grade"),
    "misspelt": ("    labels = (", "    lables = (", "lables =", "no member of a benchmark; did you mean `labels`?"),
    "misspelt method": (
        "def stand_in(",
        "def standin(",
        "def standin",
        "no member of a benchmark; did you mean `stand_in`?",
    ),
    "misspelt value": (
        "Published(published_rows, differences)",
        "Published(row=published_rows)",
        "Published(row",
        "TypeError: Published.__init__() got an unexpected keyword argument 'row'; did you mean rows?",
    ),
    "one text": ('("CLEAR", "LONG", "VAGUE")', '"CLEAR"', "labels =", "`labels` takes different texts, from best to"),
    "known role": (
        "    people = ",
        '    roles = {"judge": None}\n    people = ',
        "roles =",
        "small letters, but for assistant",
    ),
    "no value": (PEOPLE, "human_grades", "people =", "`people` takes a People; it is a method"),
    "no model": (
        "= Message, Reply, Terms",
        "= Message, dict, Terms",
        "view, answer_type",
        "`answer_type` takes a pydantic",
    ),
    "not awaited": (
        "    def feedback(",
        "    def answer(self, case, ask):\n        return None\n\n    def feedback(",
        "def answer(",
        "`answer` is awaited; declare it with `async def`",
    ),
    "few arguments": (
        "def judge(self, settings, start)",
        "def judge(self, settings)",
        "def judge(",
        "`judge` is called with (settings, start); it takes (settings)",
    ),
    "no default": ("longest: int = 40", "longest: int", "settings_type", "the setting 'longest' has no valid default"),
    "whole": (PEOPLE, parts('"", ("A", "B")'), "people =", "the part without a name has the `labels`"),
    "equal levels": (PEOPLE, parts('"x", ("NO", "NO")'), "people =", "the levels of the part 'x' are two"),
    "equal parts": (PEOPLE, parts(*2 * ['"x", ("A", "B")']), "people =", "two of `parts` have one name"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_declaration_is_refused_with_file_line_and_mend(refusal, wrong):
    was, becomes, at, message = WRONG[wrong]
    path, shown = refusal(was, becomes)
    assert shown.startswith(f"{path}:{line_of(path, at)}: "), shown
    assert message in shown


def test_a_file_without_a_benchmark_is_refused(refusal):
    path, shown = refusal('    name = "next-step"\n', "")
    assert shown.startswith(f"{path}: declares no benchmark: derive a class from `dspy_proact.Benchmark` with"), shown


@pytest.mark.parametrize("role", ["assistant", "judge"])
def test_without_a_stand_in_a_model_must_be_named(refusal, role):
    only = {"assistant": "judges if role == 'judge' else None", "judge": "answers if role == 'assistant' else None"}
    flag = {"assistant": "--model", "judge": "--judge"}[role]
    _, shown = refusal('answers if role == "assistant" else judges', only[role])
    assert shown == f"{flag} embedded: there is no stand-in of the {role}; name a model with {flag}"
    assert not Path("run").exists()


def test_published_rows_and_human_grades_are_checked(refusal):
    path, shown = refusal('{"score": 0.4}', '{"score": 40}', "leaderboard", "--benchmark", "mine.py")
    assert shown.endswith("`published`: score of 'our old bot' is 40; scores are shares from 0 to 1")
    for was, becomes, why in (
        ('"VAGUE", rater', '"BAD", rater', "the grade 'BAD' of case 'late' is none of CLEAR"),
        (', item=f"{key}-plain"', ', item=f"{key}-helpful"', "'late-helpful' is of two answers; give each of them"),
        ('("ann", "bob")', '("ann", "ann")', "'ann' grades 'late-helpful' twice"),
    ):
        path, shown = refusal(was, becomes, "agree", "--benchmark", "mine.py")
        assert shown.startswith(f"{path}:{line_of(path, 'people =')}: `people`: {why}"), shown


def test_one_of_several_in_a_file_is_named(refusal, proact):
    second = "class Second(NextStep):\n    name = 'second'\n\n\ndef answers("
    path, shown = refusal("def answers(", second)
    assert shown == f"{path}: declares next-step, second; name one with FILE.py:NAME"
    assert proact("eval", "--benchmark", "mine.py:second", "--out", "run")[0] == 0
    assert json.loads(Path("run/manifest.json").read_text("utf-8"))["identity"]["benchmark"] == "second"


def test_a_file_that_is_not_there_is_said(proact):
    status, _, err = proact("eval", "--benchmark", "ours.py")
    assert (status, "ours.py: there is no such file" in " ".join(err.split())) == (2, True), err
