"""What a notebook shows of programs and of their cards."""

from builders import assistants, judges
from builders.assistants import compiled_assistant
from builders.attack import ATTACK, VISIBLE, harmless
from builders.item_scores import of_assistant
from builders.judges import compiled_judge
from fakes.official_package import installed

from dspy_proact.benchmarks.proactbench.programs import Assistant, Judge, OfficialJudge
from dspy_proact.programs.card import CandidateCard
from dspy_proact.stats import Estimate


def test_the_repr_of_a_program_or_card_is_a_line():
    assert repr(Assistant()) == "Assistant('bare', demos=0)"
    assert repr(Assistant("Notice things.")) == "Assistant('prompt', demos=0)"
    assert repr(Judge()) == "Judge('default', demos=0)"
    artefact, judging = assistants.artefact(demos=2), judges.artefact(demos=3)
    assert repr(compiled_assistant(artefact)) == f"Assistant('compiled:{artefact.digest[:12]}', demos=2)"
    assert repr(compiled_judge(judging)) == f"Judge('compiled:{judging.digest[:12]}', demos=3)"
    assert str(artefact.card) == repr(artefact.card) == f"Card({artefact.card.headline.text!r})"
    assert str(artefact) == repr(artefact) == f"Artefact('{artefact.digest[:12]}')"


def test_a_program_shows_what_it_tells_its_model(tmp_path):
    assert "Notice things." in harmless(Assistant("Notice things.")._repr_html_())
    assert "none" in harmless(Assistant()._repr_html_())
    assert harmless(Judge()._repr_html_()).count("\n") > 3
    with installed(tmp_path):
        judge = OfficialJudge()
        (system, _) = judge.messages(judges.study().items[0].view.inputs("Good."))
        assert judge.instruction == system["content"]


def test_a_card_shows_what_it_claims_and_its_numbers():
    for card, lines in (
        (judges.card(), ["average", "EMERGENT", "CRITICAL", "RECOVERY"]),
        (assistants.card(), ["unwanted offers"]),
    ):
        message = harmless(card._repr_html_()).splitlines()
        assert {card.headline.text, *lines} <= {*message}
        assert "embedded stand-in" not in message
        of_stand_in = card.model_copy(update={"provenance": card.provenance.model_copy(update={"embedded": True})})
        assert "embedded stand-in" in harmless(of_stand_in._repr_html_())


def test_a_number_of_a_card_has_its_interval_where_it_has_one():
    number = judges.card().target.before
    assert str(number) == f"{number.value:.2f} [{number.low:.2f}, {number.high:.2f}]"
    assert str(Estimate(number.value, reason="rests on one scenario")) == f"{number.value:.2f}"
    assert str(Estimate(None, reason="no items")) == "-"


def test_an_attack_in_an_instruction_or_a_card_is_shown_as_text():
    assert VISIBLE in harmless(Assistant(ATTACK)._repr_html_())
    card = assistants.card(of_assistant(aim=ATTACK))
    assert VISIBLE in harmless(card._repr_html_())
    assert "\u202e" not in repr(card)


def test_a_start_that_is_kept_says_which_guard_the_better_candidates_broke_even_of_few_cases():
    """14 triggers are too few for a claim, but that is not why the start was kept."""
    start, better = ((0.125, (), True), (0.625, ("offers",), False))
    candidates = [
        CandidateCard(score=score, share=1.0, harm=None, broken=broken, chosen=chosen)
        for score, broken, chosen in (start, better)
    ]
    card = assistants.card(of_assistant(14), unchanged=True, candidates=candidates)
    kept = "no candidate that keeps the guard on offers beat the starting program, which is kept unchanged"
    folds = "the gain of 50.0 points in the folds, by other programs, may be chance."
    assert card.headline.text == f"No improvement in RECOVERY: {kept}; {folds}"
