"""Choices between two answers, as a person's own CSV has them: read, counted, said."""

import pytest
from rich.console import Console

from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.report.pairs import load_pairs, pairs_document, pairs_headline, print_pairs


@pytest.fixture
def read(tmp_path):
    def write(text: str):
        path = tmp_path / "pairs.csv"
        path.write_text(text, encoding="utf-8")
        return load_pairs(path)

    return write


def printed(study, capsys, explain=False):
    print_pairs(study, Console(width=200), explain)
    return capsys.readouterr().out


def many(raters, items, chosen, columns="", more=lambda rater, item: ""):
    """A CSV in which every rater chooses on every item; `chosen` of the two says what."""
    rows = [f"r{r},i{i},{chosen(r, i)}{more(r, i)}" for r in range(raters) for i in range(items)]
    return "\n".join([f"annotator,item,chosen{columns}", *rows, ""])


def test_sides_are_named_as_they_stood(read):
    study = read(
        "annotator;item;left;right;chosen;confidence;seconds\n"
        "ann;1;new;old;left;5;30\n"
        "ann;2;old;new;RIGHT;;10\n"
        "bob;1;old;new;Old;3;\n"
        "bob;2;new;old;tie;1;50\n"
    )
    assert study.names == ("new", "old")
    assert [(choice.chosen, choice.right) for choice in study.choices] == [
        ("a", "b"),
        ("a", "a"),
        ("b", "a"),
        ("tie", "b"),
    ]
    assert (study.overall.a, study.overall.b, study.overall.ties) == (2, 1, 1)
    # Of four choices one and half a tie.
    assert study.halves == 1.5 / 4
    # On the right stood what ann chose on 2; her 1 and bob's 1 were on the left.
    assert study.right == (1, 3)
    assert [(rater.rater, rater.seconds) for rater in study.raters] == [("ann", 20), ("bob", 50)]
    assert [(confidence.name, confidence.a, confidence.b, confidence.ties) for confidence in study.confidences] == [
        ("1", 0, 0, 1),
        ("3", 0, 1, 0),
        ("5", 1, 0, 0),
    ]


def test_answers_may_be_called_a_and_b(read):
    named = read("item,annotator,a,b,chosen\n1,ann,run 1,run 2,b\n2,ann,run 1,run 2,run 1\n")
    assert (named.names, [choice.chosen for choice in named.choices]) == (("run 1", "run 2"), ["b", "a"])
    assert named.right == (0, 0)
    plain = read("item,annotator,chosen\n1,ann,A\n")
    assert (plain.names, plain.choices[0].chosen) == (("a", "b"), "a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "lacks the columns annotator, item, chosen"),
        ("annotator,item\nann,1\n", "lacks the columns chosen"),
        ("annotator,item,chosen\n", "no line has a choice"),
        ("annotator,item,chosen\nann,1,c\n", "line 2, field 'chosen': 'c' is none of a, b, tie"),
        ("annotator,item,chosen\nann,1,a\nann,1,b\n", "line 3, field 'item': ann chose on 1 on line 2 already"),
        ("annotator,item,left,right,chosen\nann,1,x,x,left\n", "line 2, field 'left': 'x' and 'x' are not the two"),
        ("annotator,item,left,chosen\nann,1,x,left\n", "line 2, field 'left': 'x' and '' are not the two"),
        ("annotator,item,a,b,chosen\nann,1,x,y,a\nann,2,x,z,a\n", "line 3, field 'a': 'x' and 'z' are not the two"),
        ("annotator,item,chosen,confidence\nann,1,a,9\n", "line 2, field 'confidence'"),
        ("annotator,item,chosen,seconds\nann,1,a,nan\n", "line 2, field 'seconds'"),
        ("annotator,item,chosen\nann,1,\n", "line 2, field 'chosen'"),
    ],
)
def test_what_is_no_choice_is_refused_by_its_line(read, text, message):
    with pytest.raises(CorpusError) as refused:
        read(text)
    assert message in str(refused.value)


def test_what_is_neither_a_study_nor_a_file_is_refused(probe):
    with pytest.raises(CorpusError, match="there is no such file"):
        load_pairs("nothing.csv")
    with pytest.raises(UsageError, match="probe declares no `pairs`"):
        load_pairs("probe")


def test_a_preference_is_said_where_the_interval_excludes_one_half(read):
    # Eight raters choose b but for one item each, another one each time: 152 of 160.
    clear = pairs_headline(read(many(8, 20, lambda r, i: "a" if i == r else "b")))
    assert clear.text.startswith("People prefer b to a: b is chosen in 152 of 160 (95.0 %, 95 % ")
    assert (clear.side, clear.number.value, clear.count, clear.test) == ("higher", 0.95, 160, "95 % interval")
    # The mirror image.
    mirrored = pairs_headline(read(many(8, 20, lambda r, i: "b" if i == r else "a")))
    assert (mirrored.side, mirrored.text[:26]) == ("lower", "People prefer a to b: b is")
    three = pairs_headline(read(many(3, 20, lambda r, i: "a" if i == r else "b")))
    assert three.text.startswith("These 3 raters prefer b to a: b is chosen in 57 of 60")
    assert "for these 3 raters only" in three.caveats[0]


def test_an_open_question_is_said_to_be_open(read):
    # Five raters of eight choose b always, three never: to a binomial test 100 of 160 independent choices.
    split = read(many(8, 20, lambda r, i: "b" if r < 5 else "a"))
    assert split.overall.binomial.p < 0.01
    first = pairs_headline(split)
    assert first.text.startswith(
        "It is not shown which of a and b people prefer: b is chosen in 100 of 160 (62.5 %, 95 %"
    )
    assert (first.side, len(first.text.split()) <= 30) == (None, True)
    assert pairs_headline(read(many(2, 3, lambda r, i: "tie"))).text == "All 6 choices are ties."


def test_four_raters_of_one_mind_do_not_speak_for_people(read):
    """All 80 choices are alike: of four raters drawn from a half, all are of one mind in one study of eight."""
    first = pairs_headline(read(many(4, 20, lambda r, i: "b")))
    assert (first.side, first.number.low) == (None, pytest.approx(0.025 ** (1 / 4)))
    assert (
        "not shown which of a and b people prefer: b is chosen in 80 of 80 (100.0 %, 95 % 39.8 to 100.0)" in first.text
    )


def test_one_rater_is_one(read):
    first = pairs_headline(read(many(1, 20, lambda r, i: "b" if i else "a")))
    assert first.text.startswith("One rater is too few to claim a preference of people: b is chosen in 19 of 20 (")
    assert "for this rater only" in first.caveats[0]


def test_what_is_wrong_with_an_interval_speaks_of_items(read):
    assert "fewer than 5 items" in pairs_headline(read(many(2, 2, lambda r, i: "b"))).caveats[0]
    assert "no interval: one item)" in pairs_headline(read(many(6, 1, lambda r, i: "b"))).text


def test_where_most_choices_are_ties_that_stands_below_the_sentence(read):
    """Of 4 x 20 choices 64 are ties; 16 are of b."""
    first = pairs_headline(read(many(4, 20, lambda r, i: "tie" if i % 5 else "b")))
    assert "b is chosen in 16 of 16" in first.text
    assert first.caveats[0] == "Most choices are ties: 64 of 80, which are left out."


def test_raters_stand_beside_each_other_in_numbers_and_no_sentence_accuses_one(read, capsys):
    seconds = {0: 10, 1: 31, 2: 90, 3: 90, 4: 95}
    text = many(
        5, 10, lambda r, i: "a" if r == 0 or (r == 3 and i < 6) else "b", ",seconds", lambda r, i: f",{seconds[r]}"
    )
    study = read(text)
    assert [rater.seconds for rater in study.raters] == [10, 31, 90, 90, 95]
    assert [rater.without for rater in study.raters] == [34 / 40, 24 / 40, 24 / 40, 30 / 40, 24 / 40]
    # The table alone names them.
    assert printed(study, capsys).count("r0") == 1


def test_the_document_has_what_the_terminal_shows(read, capsys):
    text = many(4, 6, lambda r, i: "tie" if i == r else "b" if i else "a", ",stratum", lambda r, i: f",s{i % 2}")
    study = read(text)
    document = pairs_document(study)
    assert (document["choices"], document["items"], len(document["raters"])) == (24, 6, 4)
    assert (document["all"]["b"], document["all"]["ties"], document["all"]["with_ties_as_half"]) == (17, 4, 19 / 24)
    assert [row["name"] for row in document["strata"]] == ["s0", "s1"]
    assert document["published"] is None
    message = printed(study, capsys, explain=True)
    for words in (*pairs_headline(study).lines, "17/20", "4 ties left out", "Clopper and Pearson"):
        assert words in message
