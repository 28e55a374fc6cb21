"""Rows of one's own by every verb: four levels and no rubric, a nominal scale, and what is said of both."""

import json
from pathlib import Path

import pytest
from fakes.server import Answer

from dspy_proact import RunFolder, summarize
from dspy_proact.benchmarks.rows.levels import RowSettings
from dspy_proact.benchmarks.rows.table import responses_in
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.registry import benchmark_of_run
from dspy_proact.label.serving import open_study
from dspy_proact.label.study import Design

MESSAGES = ("Where is my parcel?", "The lamp broke.", "I want a refund.", "Change my address.", "The code fails.")
REPLIES = ("Thank you for writing.", "We look at it today.", "We look at the {} today.", "We fix the {} now. Fine?")
LEVELS = ("bad", "ok", "good", "great")
FOUR = ("--scale", "bad,ok,good,great", "--map", "input=text")
CANARY = "a canary that only people may see"


def write(path: Path, groups: int = 6) -> Path:
    """Rows of customers, whose replies have none to three of what the stand-in counts; one person is stricter."""
    lines = ["text,reply,customer,label_ann,label_bob,secret"]
    for group in range(groups):
        for number, message in enumerate(MESSAGES):
            quality = (group + number) % 4
            reply = REPLIES[quality].format(message.rstrip(".?").split()[-1])
            grades = LEVELS[max(0, quality - 1)], LEVELS[quality]
            lines.append(f'"{message} Order {group}{number}.","{reply}",c{group},{grades[0]},{grades[1]},{CANARY}')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def mine(tmp_path):
    return write(tmp_path / "mine.csv")


def test_people_are_compared_on_four_levels_without_a_rubric(done, mine):
    """Of the two, ann is one level below bob but for his lowest."""
    out = done("agree", "--ratings", mine, *FOUR)[0]
    assert "On 30 items these 2 raters agree with each other at kappa" in out
    assert "No criteria" not in out  # no judge has graded
    assert "quadratic kappa" in out


def test_a_table_that_is_no_file_of_ratings_is_refused_with_what_to_type(refused, mine):
    """Each command that takes ratings, or what is to be rated."""
    for command in (("agree", "--ratings"), ("optimize", "judge", "--ratings"), ("label", "serve"), ("label", "sheet")):
        message = refused(*command, mine)
        assert "a table of your own" in message
        assert "is read by its scale: --scale bad,ok,good" in message
        assert "--map " in message


def test_a_table_without_verdicts_is_refused_with_the_command_that_has_it_graded(proact, refused, mine, tmp_path):
    """By commands that take no scale; several tables are read from a folder."""
    (tmp_path / "more").mkdir()
    other = write(tmp_path / "more" / "other.csv")
    for command in (("report",), ("label", "plan")):
        message = refused(*command, mine, "--benchmark", "rows")
        assert f"have it graded: `dspy-proact rejudge {mine} --scale bad,ok,good" in message
        assert "no scale is given" not in message
    assert proact("rejudge", mine, *FOUR, "--judge", "embedded", "--out", tmp_path / "run")[0] == 0
    assert "read as one from a folder" in refused("agree", "--ratings", mine, "--ratings", other, *FOUR)
    assert proact("agree", "--ratings", tmp_path / "more", *FOUR)[0] == 0


def test_columns_that_are_missing_are_named_at_once(refused, mine):
    mine.write_text(mine.read_text().replace("label_", "").replace("text,", "msg,", 1).replace("reply,", "bot,", 1))
    message = refused("agree", "--ratings", mine, "--scale", "bad,ok,good,great")
    assert "--map input=COLUMN --map response=COLUMN --map grade=COLUMN" in message


def test_a_judge_is_asked_for_a_level_by_the_words_of_the_scale_and_sees_no_label(proact, done, server, mine):
    verdict = {"reasoning": "Fine.", "evidence": ["We look at it today."], "grade": "good"}
    server.script = lambda _: Answer(json.dumps(verdict))
    judge = ("--judge", "openai/any", "--judge-api-base", server.judge)
    out = done("agree", "--ratings", mine, *FOUR, *judge, "--map", "context=customer", "--out", "run")[0]
    assert "No criteria were given: the judge graded by its own reading of the words bad," in out
    assert len(server.sent) == 30
    (schema,) = {json.dumps(sent.body.get("response_format")) for sent in server.sent}
    assert '["bad", "ok", "good", "great"]' in schema
    for sent in server.sent:
        assert CANARY not in sent.text
        assert "label_" not in sent.text
        assert "from worst to best: bad, ok, good, great" in sent.messages[0]["content"]
        assert "There are no criteria" in sent.messages[0]["content"]
        assert '"name": "customer"' in sent.messages[1]["content"]
    assert proact("agree", "--ratings", mine, *FOUR, *judge, "--map", "context=customer", "--out", "run")[0] == 0
    assert len(server.sent) == 30  # nothing is paid for twice


def test_criteria_reach_judge_and_raters_and_are_part_of_the_run(done, server, mine):
    Path("criteria.txt").write_text("good: it says what happens next.")
    server.script = lambda _: Answer(json.dumps({"reasoning": "x", "evidence": [], "grade": "ok"}))
    judge = ("--judge", "openai/any", "--judge-api-base", server.judge)
    named = (*FOUR, "--criteria", "@criteria.txt")
    out = done("rejudge", mine, *named, *judge, "--out", "run")[0]
    assert "No criteria were given" not in out
    assert "| good: it says what happens next." in server.sent[0].messages[1]["content"]
    summary = summarize(RunFolder("run"))
    assert summary.settings["criteria"] == "good: it says what happens next."
    assert benchmark_of_run(summary).people.briefing == "good: it says what happens next."
    assert summary.micro.weighted.value == pytest.approx(1 / 3)
    assert "the levels bad, ok, good, great at equal steps" in " ".join(out.split())


def test_a_judge_is_compiled_and_graded_out_of_fold_by_quadratic_kappa(proact, done, mine):
    wanted = (*FOUR, "--trials", 4, "--folds", 3, "--out", "compiled")
    out, err = done("optimize", "judge", "--ratings", mine, *wanted, "--json")
    card = json.loads(out)
    assert card["rows"][0]["unit"] == "kappa"
    judge = ("--judge", "embedded", "--judge-program", "compiled")
    assert proact("rejudge", mine, *FOUR, *judge, "--out", "run")[0] == 0
    out, err = done("agree", "--run", "run", "--ratings", mine, "--map", "input=text")
    assert "judge: embedded (compiled:" in out
    words = ("--benchmark", "rows", "--scale", "no,yes", "--corpus", "sample", "--judge-program", "compiled")
    status, _, err = proact("eval", *words)
    assert (status, "compiled for other signatures" in err) == (2, True)


def test_a_model_answers_the_inputs_of_rows_and_sees_neither_response_nor_further_columns(done, server, mine):
    server.script = lambda sent: Answer(
        "We look at it." if sent.role == "assistant" else '{"reasoning": "x", "evidence": [], "grade": "ok"}'
    )
    models = ("--model", "openai/m", "--model-api-base", server.assistant, "--judge", "openai/j")
    models = (*models, "--judge-api-base", server.judge, "--map", "context=secret")
    out = done("eval", "--corpus", mine, *FOUR, *models, "--limit", 3, "--system-prompt", "Be brief.")[0]
    assert "openai/m" in " ".join(out.split())
    answering = server.of("assistant")
    assert [m["role"] for m in answering[0].messages] == ["system", "user"]
    assert answering[0].messages[1]["content"].partition(" Order")[0] in MESSAGES
    assert not any(CANARY in sent.text for sent in answering)
    assert all(CANARY in sent.text for sent in server.of("judge"))


def test_a_message_of_two_letters_is_no_message_of_which_nobody_counts_the_tokens(proact, tmp_path):
    (tmp_path / "short.csv").write_text("input,response,label\nHi,Hello.,ok\n")
    status, out, _ = proact("eval", "--corpus", tmp_path / "short.csv", "--scale", "bad,ok", "--out", "short")
    assert (status, "assistant: 1 calls, 1 tokens in" in out, "counts no tokens" in out) == (0, True, False)


def test_labels_without_an_order_have_no_mean_score_anywhere(proact, done, mine):
    wanted = ("--scale", "bad,ok,good,great", "--nominal", "--map", "input=text")
    out = done("eval", "--corpus", mine, *wanted, "--out", "run")[0]
    assert not {"score", "pass rate", "macro"} & {*out.partition("evidence")[0].replace("\n", " ").split(" ")}
    assert "of 100" not in out
    assert proact("report", "run", "--html", "page.html")[0] == 0
    document = json.loads(proact("report", "run", "--json")[1])
    assert document["overall"]["micro"]["weighted"]["value"] is None
    assert document["overall"]["micro"]["pass_rate"]["value"] is None
    shares = [measure["value"] for measure in document["overall"]["measures"].values()]
    assert sum(shares) == pytest.approx(1)
    assert proact("rejudge", "run", "--criteria", "x", "--out", "again")[0] == 0
    status, out, _ = proact("compare", "run", "again")
    assert (status, "have no scores, as their labels have no order" in " ".join(out.split())) == (0, True)
    document = json.loads(proact("compare", "run", "again", "--json")[1])
    assert document["claim"]["side"] is None
    for words in (
        ("compare", "run", "again", "run"),
        ("eval", "--corpus", mine, *wanted, "--fail-under", 40),
        ("optimize", "assistant", "--corpus", mine, *wanted),
        ("label", "plan", "run"),
    ):
        status, _, err = proact(*words)
        assert (status, "order" in err) == (2, True), words


def test_a_nominal_judge_is_compiled_by_unweighted_kappa(proact, mine):
    wanted = ("--scale", "bad,ok,good,great", "--nominal", "--map", "input=text", "--trials", 2, "--folds", 2)
    assert proact("optimize", "judge", "--ratings", mine, *wanted, "--out", "compiled")[0] == 0
    out = proact("optimize", "show", "compiled", "--explain")[1]
    assert "kappa: unweighted" in out
    assert "bias" not in out


def test_runs_on_other_scales_are_not_compared(proact, mine):
    assert proact("eval", "--corpus", mine, *FOUR, "--out", "four")[0] == 0
    assert proact("eval", "--corpus", "sample", "--benchmark", "rows", "--set", "scale=no,yes", "--out", "two")[0] == 0
    status, _, err = proact("compare", "four", "two")
    assert (status, "graded on other scales" in err) == (2, True)


def test_a_table_is_rated_without_a_run_in_a_study_or_in_sheets(proact, done, mine):
    settings = RowSettings(scale=LEVELS, columns=(("input", "text"),))
    summary = summarize(responses_in(mine, None, settings)[0])
    declared = benchmark_of_run(summary)
    open_study(Path("study.db"), declared, [summary], Design(ratings=2, raters=2)).store.close()
    err = done("label", "sheet", mine, *FOUR, "--out", "sheet.csv")[1]
    head, *rows = Path("sheet.csv").read_text("utf-8-sig").splitlines()
    assert len(rows) == 30
    assert "great | good | ok | bad" in rows[0]
    assert CANARY not in "".join(rows)
    filled = [row.replace(",,", ",ann,", 1).replace(",,", ",good,", 1) for row in rows]
    Path("filled.csv").write_text("\n".join([head, *filled]), encoding="utf-8")
    status, out, err = proact("agree", "--run", mine, "--ratings", "filled.csv", *FOUR)
    assert (status, "30 ratings of 30 items by 1 rater" in out) == (0, True), err
    err = done("label", "import", "study.db", "filled.csv")[1]
    status, out, err = proact("agree", "--ratings", "study.db")  # the study knows scale and columns
    assert (status, "30 ratings of 30 items by 1 rater" in out) == (0, True), err
    err = done("label", "export", "study.db", "--out", "export.csv")[1]
    assert proact("label", "export", "study.db", "--html", "--rater", "bob", "--out", "bob.html")[0] == 0
    mine.write_text(mine.read_text("utf-8").replace("We look at it today.", "We look away."), "utf-8")
    status, out, err = proact("agree", "--ratings", "study.db")
    assert (status, "texts that have changed since" in out + err) == (0, True)


def test_ratings_of_other_responses_than_the_run_graded_are_refused(proact, mine):
    assert proact("rejudge", mine, *FOUR, "--judge", "embedded", "--out", "run")[0] == 0
    mine.write_text(mine.read_text("utf-8").replace("We look at it today.", "We look away."), "utf-8")
    status, _, err = proact("agree", "--run", "run", "--ratings", mine, "--map", "input=text")
    assert (status, "has another response in the run" in err) == (2, True)


def test_options_of_rows_are_settings_and_messages_name_the_options(proact, refused, mine):
    assert "there is no column 'x', which is to be the response" in refused(
        "agree", "--ratings", mine, *FOUR, "--map", "response=x"
    )
    err = refused("agree", "--ratings", mine, "--map", "input=text", "--map", "grade=label_ann")
    assert "--scale " in err
    assert "--nominal" in err
    err = refused("agree", "--ratings", mine, "--scale", "bad,ok,good,great")
    assert "--map input=COLUMN" in err
    assert "Error: --scale: the level 'bad' is given twice" in refused(
        "agree", "--ratings", mine, "--scale", "bad,ok,Bad"
    )
    assert "Error: --set: a scale has two" in refused("eval", "--benchmark", "rows", "--set", "scale=bad")
    assert "has no setting 'scale'" in refused("eval", "--benchmark", "probe", "--scale", "a,b")


def test_an_item_of_the_study_knows_no_label(mine):
    responses = responses_in(mine, None, RowSettings(scale=LEVELS, columns=(("input", "text"),)))[0]
    assert CANARY not in repr(responses)
    assert not any("great" in case.view.model_dump_json() for case in responses.case_set.cases)
    with pytest.raises(UsageError, match="holds its own inputs"):
        responses_in(mine, "sample", RowSettings(scale=LEVELS))
