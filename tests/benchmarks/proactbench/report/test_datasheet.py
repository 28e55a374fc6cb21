"""The datasheet of a made corpus: every number with its denominator, and nothing of others leaves its quotes."""

import re
import uuid
from dataclasses import replace

from builders.made import BRIEF, made_corpus, made_proof_of_all
from markdown_it import MarkdownIt

from dspy_proact.benchmarks.proactbench.corpus.personas import ATTRIBUTION
from dspy_proact.benchmarks.proactbench.generation.brief import CorpusBrief
from dspy_proact.benchmarks.proactbench.generation.made import PlantedCell
from dspy_proact.benchmarks.proactbench.report.datasheet import canary, datasheet
from dspy_proact.publish.markdown import code

ATTACK = "``` | </td><script>alert(1)</script>\n\n# Told\n`x` [a](javascript:alert(2)) \u202e"


def brief(**sections):
    return CorpusBrief.model_validate(BRIEF | sections)


def test_it_has_the_questions_of_a_datasheet_and_begins_with_what_was_shown():
    text = datasheet(made_corpus(3))
    assert re.findall("^#+ (.*)$", text, re.MULTILINE) == [
        "Datasheet: dialogues for `Millbrook Lending Library`",
        *("Motivation", "Composition", "How it was made", "Proof", "Diversity", "What was dropped, and why"),
        *("Uses and limits", "Licence and attribution"),
    ]
    assert text.splitlines()[2].startswith("3 dialogues, 9 triggers; told to look, a model passes 91 %")


def test_numbers_stand_with_their_denominators_and_intervals():
    text = datasheet(made_corpus(3, wanted=5))
    for line in (
        "| dialogues | 3 of 5 wanted |",
        "| triggers, CRITICAL | 3 |",
        "| triggers with a consequence of general knowledge | 2 |",
        "| all | 71 | 7 | 426 | 91.0 [80.0–97.0] | 14.0 [8.0–22.0] | +77.0 [+66.0, +86.0] |  |",
        "| anchor-taker | 20 of 24 (70 to 100 %) | 4 of 24 (0 to 25 %) | 19 of 24 (70 to 100 %) |",
        "| `audit of scenario` | `Anchor # stands in the system text.` | 0 | 0 | 2 |",
        "- Cells of domain x style x phase x turn without a trigger: 2,583 of 2,592",
        "- Consequences that rest on general knowledge, to be reviewed first: dialogue 3 turn 2, dialogue 3 turn 8.",
    ):
        assert f"\n{line}\n" in text
    assert ": 9 of 80 tested." in text
    assert "2 attempts at dialogues failed; 2 dialogues could not be made." in text


def test_a_missed_bar_is_marked_and_a_phase_without_a_grade_is_a_dash():
    matrix = {"silent": {"EMERGENT": PlantedCell(3, 20, high=0.05)}}
    text = datasheet(made_corpus(3, proof=made_proof_of_all(matrix=matrix)))
    assert "| silent | 3 of 20 (0 to 5 %, missed) | - | - |" in text


def test_drafts_the_stand_in_and_a_light_proof_are_called_so():
    assert "None was made: whether a pass depends on the planted facts is unknown." in datasheet(
        made_corpus(2, draft=True)
    )
    assert "The embedded stand-in took part" in datasheet(made_corpus(2, model="embedded"))
    light = datasheet(made_corpus(2, level="light"))
    assert "kept where 1 answer passed with the facts and none without: 6 of 80 tested" in light


def test_personas_of_a_dataset_are_attributed_and_those_of_a_person_are_theirs():
    users = BRIEF["users"]
    sheets = [
        datasheet(replace(made_corpus(1), brief=brief(users={**users, "personas": named})))
        for named in ("nemotron@abc", "invented", ["Somebody."])
    ]
    assert f"- {ATTRIBUTION}" in sheets[0]
    assert "- Personas: invented, bundled with dspy-proact" in sheets[1]
    assert "- Personas: of the person who wrote the brief" in sheets[2]


def test_the_canary_is_a_guid_of_this_corpus_alone():
    corpus = made_corpus(1)
    assert uuid.UUID(canary(corpus)).version == 5
    assert canary(corpus) == canary(made_corpus(2))
    assert canary(corpus) != canary(replace(corpus, made=replace(corpus.made, identity="cd" * 32)))
    assert datasheet(corpus).count(canary(corpus)) == 2


def test_nothing_that_others_wrote_leaves_its_quotes():
    product = {**BRIEF["product"], "name": ATTACK, "text": ATTACK}
    text = datasheet(replace(made_corpus(3, attack=ATTACK), brief=brief(product=product)))
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    headings = [tokens[index + 1].content for index, token in enumerate(tokens) if token.type == "heading_open"]
    assert len(headings) == 9
    assert not any(heading == "Told" for heading in headings)
    inline = [child for token in tokens for child in token.children or []]
    assert not {token.type for token in (*tokens, *inline)} & {"html_block", "html_inline", "link_open", "fence"}
    assert "\u202e" not in text


def test_code_is_one_line_without_what_ends_it():
    assert code("a`b|c\nd") == "`a b c d`"
    assert code("") == "`-`"


def test_a_datasheet_is_a_function_of_the_corpus():
    assert datasheet(made_corpus(2)) == datasheet(made_corpus(2))
    assert "| dialogues | 0 of 1 wanted |" in datasheet(made_corpus(0, wanted=1))
