"""What is dropped by default, and what `--guard none` lifts; tokens and ties are in test_race."""

from builders.assistants import OFFER, PUSHY, at, corpus, obedient, recipe
from fakes.server import Answer, Sent, is_about_offers, verdict


def test_a_better_candidate_that_is_shown_worse_in_another_stratum_is_dropped_unless_that_is_lifted(tmp_path, server):
    """An offer helps where the user is done; here it does harm where something was only mentioned."""

    def script(sent: Sent) -> Answer:
        if sent.role in ("assistant", "proposer") or is_about_offers(sent):
            return obedient(PUSHY)(sent)
        harmed = "This is EMERGENT" in sent.text
        return Answer(verdict("PASS" if (OFFER in str(sent.messages[-1]["content"])) != harmed else "FAIL"))

    server.script = script
    how = recipe(trials=2, max_demos=0)
    kept = at(server, corpus(), how).run(tmp_path / "kept").artefact
    assert kept.card.unchanged
    assert [candidate.broken for candidate in kept.card.candidates] == [(), ("emergent",)]
    assert any("shown worse in EMERGENT" in note for note in kept.card.notes)
    lifted = at(server, corpus(), how, guards={"none": None}).run(tmp_path / "lifted").artefact
    assert not lifted.card.unchanged
    assert [candidate.broken for candidate in lifted.card.candidates] == [(), ()]
