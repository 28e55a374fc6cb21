"""Both compiles from end to end: stopped and resumed, at any width, in another order, and what they refuse."""

import json
import signal
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import dspy
import pytest
from builders import assistants, judges
from builders.assistants import ASSISTANT_OPTIMIZERS, NAMES, at, at_server, corpus, few, proposed, recipe, token
from builders.judges import lasting, study, taught
from drivers.client import spec
from fakes.server import Answer, Sent, Server, error, shuffled

from dspy_proact import Compile, Gate, JudgeTarget, Limits, ModelSpec, Phase, load_assistant, load_ratings
from dspy_proact.calls import Price
from dspy_proact.errors import Interrupted, LimitReached, ProviderDown, RunError, UsageError
from dspy_proact.optimizer_names import OPTIMIZERS
from dspy_proact.programs.artefact import Artefact, read_artefact, write_artefact


def bodies(sent: Iterable[Sent]) -> Counter[str]:
    return Counter(json.dumps([item.role, item.body], sort_keys=True) for item in sent)


def judging(server: Server, optimizer: Any = "labeled", **how: Any) -> Compile:
    return judges.at(server, study(), judges.recipe(optimizer), **how)


def assisting(server: Server, optimizer: Any = "search", **gate: Any) -> Compile:
    how = {"guards": {"offers": 0.05}, "gate": Gate(**({"retries": 0} | gate))}
    return at(server, few(), recipe(optimizer, trials=2), **how)


OPTIMIZERS_IN_TURN = pytest.mark.parametrize(
    ("made", "models", "optimizer"),
    [
        *((judging, judges.models, optimizer) for optimizer in OPTIMIZERS),
        *((assisting, assistants.models, optimizer) for optimizer in ("miprov2", "search")),
    ],
)


# How many there are on the same data


def test_a_card_counts_the_finished_compiles_of_its_data_beside_its_folder_and_in_compiles(
    tmp_path, server, monkeypatch
):
    """Three seeds count, and neither another study or benchmark, an unfinished compile nor a torn file."""
    monkeypatch.chdir(tmp_path)
    server.script = judges.models

    def seeded(seed: int, of: Any = None) -> Compile:
        return judges.at(server, of or study(), judges.recipe(seed=seed))

    def compiles(seed: int, out: str, of: Any = None) -> int:
        return seeded(seed, of).run(out).artefact.card.compiles

    assert compiles(0, "made/first") == 1
    assert compiles(0, "elsewhere/again") == 1  # the same compile
    assert compiles(1, "made/second") == 2
    assert compiles(9, "made/other", study(personas=5)) == 1
    (tmp_path / "made" / "torn").mkdir()
    (tmp_path / "made" / "torn" / "compile.json").write_text("{", "utf-8")
    (tmp_path / "made" / "torn" / "judge.json").write_text("{", "utf-8")
    (tmp_path / "made" / "second" / "judge.json").unlink()
    assert compiles(2, "made/third") == 2
    assert compiles(3, str(seeded(3).default_folder)) == 1
    assert compiles(4, "made/fourth") == 4
    claim = tmp_path / "made" / "fourth" / "compile.json"
    claim.write_text(claim.read_text("utf-8").replace('"proactbench"', '"another"'), "utf-8")
    assert compiles(5, "made/fifth") == 4


# The same file


@OPTIMIZERS_IN_TURN
def test_it_comes_to_the_same_file_stopped_or_not_at_any_width_with_answers_in_any_order(
    tmp_path, server, made, models, optimizer, capfd
):
    server.script, before = models, (dspy.cache, dspy.settings.lm, signal.getsignal(signal.SIGINT))
    compiling = made(server, optimizer)
    most = compiling.forecast()
    assert server.sent == []
    complete = compiling.run(tmp_path / "whole")
    requests = bodies(server.sent)
    assert complete.paid == len(server.sent)
    # No request is paid for twice, but for what a proposer is asked again on purpose.
    assert set(bodies(sent for sent in server.sent if sent.role != "proposer").values()) == {1}
    assert all(len(server.of(name.removesuffix("_judge"))) <= role.calls for name, role in most.roles.items())
    assert read_artefact(complete.path) == complete.artefact

    server.sent, sent = [], 0
    for calls in (1, complete.paid // 2):
        with pytest.raises(LimitReached):
            made(server, optimizer, limits=Limits(calls=calls)).run(tmp_path / "parts")
        sent += calls
        assert len(server.sent) == sent
        assert not list((tmp_path / "parts").glob(f"{compiling.target.role}.json"))
    resumed = made(server, optimizer).run(tmp_path / "parts")
    assert (resumed.paid, bodies(server.sent)) == (complete.paid - sent, requests)
    assert lasting(resumed.path) == lasting(complete.path)

    width = 1 if optimizer == "labeled" else 64
    server.sent, server.most_in_flight, server.script = [], 0, shuffled(models, seed=width)
    again = made(server, optimizer, concurrency=width).run(tmp_path / str(width))
    assert (bodies(server.sent), lasting(again.path)) == (requests, lasting(complete.path))
    assert 1 < server.most_in_flight <= width or server.most_in_flight == width == 1
    assert capfd.readouterr() == ("", "")
    assert (dspy.cache, dspy.settings.lm, signal.getsignal(signal.SIGINT)) == before


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_learns_what_can_be_learned(tmp_path, server, optimizer):
    server.script = taught(study())
    card = judges.at(server, study(), judges.recipe(optimizer, trials=3)).run(tmp_path / "out").artefact.card
    assert card.candidates[0].score < max(candidate.score for candidate in card.candidates)


def test_a_provider_that_dies_stops_the_compile_and_the_same_call_goes_on(tmp_path, server):
    """Half way through its part; who was answered meanwhile is not asked again."""
    models = server.script = assistants.models
    complete = at(server, few(), recipe()).run(tmp_path / "whole")
    roles = ("report", "proposer")  # of whom optimizers swallow what the second raises
    requests, halves = bodies(server.sent), {role: len(server.of(role)) // 2 for role in roles}

    def dying(role: str, failed: Counter[str]) -> Callable[[Sent], Answer]:
        def answer(sent: Sent) -> Answer:
            if sent.role == role and len(server.of(role)) > halves[role]:
                failed.update(bodies([sent]))
                return error(503)
            return models(sent)

        return answer

    for role in roles:
        server.sent.clear()
        failed: Counter[str] = Counter()
        server.script = dying(role, failed)
        with pytest.raises(ProviderDown, match="needs every answer"):
            at(server, few(), recipe()).run(tmp_path / role)
        assert 1 <= failed.total() <= 32
        server.script = models
        resumed = at(server, few(), recipe()).run(tmp_path / role)
        assert bodies(server.sent) == requests + failed
        assert lasting(resumed.path) == lasting(complete.path)


@pytest.mark.parametrize("optimizer", ["search", "miprov2"])
def test_another_order_of_dialogues_is_another_compile_that_asks_the_same_and_ends_in_the_same(
    tmp_path, server, optimizer
):
    """A corpus is named by its rows in their order, so that the folder is another; program and numbers are not."""
    server.script = assistants.models
    artefacts: list[Artefact] = []
    requests: list[Counter[str]] = []
    for name, personas in (("ordered", (0, 1, 2, 3, 4)), ("shuffled", (3, 0, 4, 2, 1))):
        server.sent.clear()
        artefacts.append(at(server, few(personas), recipe(optimizer)).run(tmp_path / name).artefact)
        requests.append(bodies(server.sent))
    assert requests[0] == requests[1]
    first, second = artefacts
    assert first.card.provenance.data.sha256 != second.card.provenance.data.sha256
    assert first.states == second.states
    ordered, shuffled = (rounded(made.card.document() | {"provenance": {}, "item_scores": {}}) for made in artefacts)
    assert ordered == shuffled


def rounded(value: Any) -> Any:
    """A card whose numbers are without what the order of adding leaves in the last digits."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return round(value, 9) if isinstance(value, float) else value


def test_a_bug_in_one_part_ends_the_others_and_is_told(tmp_path, server, monkeypatch):
    server.script, compiling = judges.models, judging(server)

    def finished(*_: Any) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(JudgeTarget, "finished", finished)
    with pytest.raises(ValueError, match="a bug"):
        compiling.run(tmp_path / "out")
    assert isinstance(compiling.gate.switch.halt, Interrupted)


# Folders


def test_a_folder_goes_on_with_its_own_compile_and_refuses_another_naming_what_differs(tmp_path, server):
    server.script = assistants.models
    how = recipe(trials=1)
    at(server, few(), how).run(tmp_path / "out")
    calls = len(server.sent)
    assert at(server, few(), how).run(tmp_path / "out").paid == 0  # everything stands in the record
    warm = spec(NAMES["model"], server.assistant, params={"temperature": 0.5})
    for other, named in [
        (at(server, few(), recipe(trials=1, seed=1)), "recipe.seed"),
        (at(server, few(), recipe(trials=1, folds=3)), "recipe.folds"),
        (at(server, few(5), how), "data"),
        (at(server, few((1, 0, 2, 3)), how), "data"),
        (at(server, few(), how, phases=[Phase.RECOVERY, Phase.EMERGENT]), "settings.strata"),
        (at(server, few(), how, guards={"offers": 0.05}), "settings.guards"),
        (at(server, few(), how, system_prompt="Be kind."), "start"),
        (at(server, few(), how, model=spec("openai/other", server.assistant)), "models.assistant.model"),
        (at(server, few(), how, judge=spec("openai/other", server.judge)), "models.judge.model"),
        (at(server, few(), how, report_judge=spec("openai/other", server.report)), "models.report_judge.model"),
        (at(server, few(), how, proposer=spec("openai/other", server.proposer)), "models.proposer.model"),
        (at(server, few(), how, model=spec(NAMES["model"], server.judge)), "models.assistant.endpoint"),
        (at(server, few(), how, model=warm), "models.assistant.decoding.temperature"),
    ]:
        with pytest.raises(RunError, match=rf"holds another compile, which differs in {named}\b"):
            other.run(tmp_path / "out")
    assert len(server.sent) == calls
    server.script = judges.models
    judging(server).run(tmp_path / "judge")
    with pytest.raises(RunError, match=r"holds another compile, which differs in settings.votes\b"):
        judging(server, votes=3).run(tmp_path / "judge")
    with pytest.raises(RunError, match="holds another compile, which differs in"):
        assisting(server).run(tmp_path / "judge")


def test_a_folder_of_anything_else_is_refused(tmp_path, server):
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "holiday.jpg").write_bytes(b"x")
    with pytest.raises(RunError, match="else: not empty and not a compile; name another folder with `out`"):
        assisting(server).run(tmp_path / "else")
    assert [path.name for path in (tmp_path / "else").iterdir()] == ["holiday.jpg"]
    (tmp_path / "out").mkdir()
    for damaged in ("", "{", "[]", "null"):
        (tmp_path / "out" / "compile.json").write_text(damaged, encoding="utf-8")
        with pytest.raises(RunError, match=r"compile\.json"):
            assisting(server).run(tmp_path / "out")
    assert server.sent == []


# The judges of an assistant


def test_one_judge_for_both_is_warned_of_on_the_card_and_asked_once_for_one_verdict(tmp_path, server):
    server.script = assistants.models
    compiling = at(server, few(), recipe(trials=1), report_judge=ModelSpec(name="openai/tuner"))
    assert compiling.same_judge
    card = compiling.run(tmp_path / "out").artefact.card
    (warning,) = card.warnings
    assert warning.startswith("one model tunes and reports")
    made = card.provenance.models
    assert made["judge"] == made["report_judge"]
    assert server.of("report") == []
    assert set(bodies(server.of("judge")).values()) == {1}


def test_one_name_at_two_endpoints_is_two_judges_who_are_not_given_each_others_verdicts(tmp_path, server):
    server.script = assistants.models
    compiling = at(server, few(), recipe(trials=1))
    assert not compiling.same_judge
    first = compiling.run(tmp_path / "two")
    card, heard = first.artefact.card, len(server.of("report"))
    made = card.provenance.models
    assert (card.warnings, made["judge"].model, made["report_judge"].model) == ((), "openai/tuner", "openai/reporter")
    second = at(server, few(), recipe(trials=1), report_judge=spec(NAMES["judge"], server.report))
    assert second.run(tmp_path / "twins").paid == first.paid
    assert len(server.of("report")) == 2 * heard


def test_without_a_proposer_the_tuning_judges_model_proposes(server):
    proposer = at(server, few(), recipe(trials=1), proposer=None).models["proposer"]
    assert (proposer.identity.endpoint, proposer.name) == (server.judge, NAMES["judge"])


# What is refused before any call


def test_no_more_folds_are_made_than_there_are_personas_and_too_few_are_refused(server):
    assert at(server, corpus(), recipe(folds=5)).recipe.folds == 4
    with pytest.raises(
        UsageError, match=r"none of the \d+ triggers is of CRITICAL, for which it would be tuned; bring some"
    ):
        at(server, corpus(), recipe(), phases=[Phase.CRITICAL])
    assert judges.at(server, study(), judges.recipe(folds=5)).recipe.folds == 4
    with pytest.raises(UsageError, match="6 triggers of 2 independent scenarios cannot make 2 folds"):
        judges.at(server, study(2), judges.recipe())


def test_ratings_without_texts_cannot_be_tuned_to():
    with pytest.raises(UsageError, match="published: has ratings without conversations and responses"):
        JudgeTarget(load_ratings("published"))


def test_a_limit_on_money_needs_a_price_of_every_model(server):
    inputs = Price(prompt=1e-6, completion=1e-6, reason="by hand")
    known = {name: model.model_copy(update={"price": inputs}) for name, model in at_server(server).items()}
    at(server, corpus(), recipe(), gate=Gate(limits=Limits(usd=1.0)), **known)
    for name, model in at_server(server).items():
        with pytest.raises(UsageError, match=f"needs a price for `{name}`"):
            at(server, corpus(), recipe(), gate=Gate(limits=Limits(usd=1.0)), **(known | {name: model}))


# A start


def test_an_assistant_to_start_from_is_asked_first_unless_it_has_seen_one_of_the_conversations(tmp_path, server):
    server.script, path = assistants.models, tmp_path / "start.json"
    write_artefact(path, assistants.artefact("Be kind.", demos=1))
    start = load_assistant(path)
    finished = at(server, few((0, 1, 2, 3)), recipe(trials=1), start=path).run(tmp_path / "out")
    first = server.of("assistant")[:8]  # 8 turns, by the assistant as it is
    assert {item.messages[0]["content"] for item in first} == {start.system_prompt}
    assert load_assistant(finished.path).system_prompt == start.system_prompt  # one trial is the start
    assert finished.artefact.card.provenance.start == read_artefact(path).digest
    with pytest.raises(UsageError, match="was compiled on 1 of these dialogues, so that no program"):
        at(server, few((3, 4, 5, 6)), recipe(), start=finished.path)
    second = at(server, few((4, 5, 6, 7)), recipe(trials=1), start=finished.path).run(tmp_path / "second")
    # What the start has learned from is not forgotten: its words may be in the second, too.
    with pytest.raises(UsageError, match="was compiled on 4 of these dialogues"):
        at(server, few((0, 1, 2, 3)), recipe(), start=second.path)


def test_a_judge_to_start_from_is_asked_first_and_keeps_what_it_learned(tmp_path, server):
    server.script = taught(study(first=10))
    first = judges.at(server, study(first=10), judges.recipe("labeled")).run(tmp_path / "first")
    of_phases = [state.demos for state in first.artefact.states.values()]
    assert all(of_phases)
    server.sent, server.script = [], judges.models
    compiling = judging(server, "gepa", start=first.path)
    compiling.run(tmp_path / "second")
    for sent in server.sent[:12]:  # the judge as it is, on each response
        shown = " ".join(str(message["content"]) for message in sent.messages[:-1])
        assert any(all(str(demo["response"]) in shown for demo in demos) for demos in of_phases)
    assert compiling.default_folder != judging(server, "gepa").default_folder
    with pytest.raises(UsageError, match="asks for 1 verdicts an answer; give `votes=1`"):
        judging(server, start=first.path, votes=2)
    for start in (first.path, tmp_path / "second"):
        with pytest.raises(UsageError, match="was compiled on 4 of the dialogues of these grades"):
            judges.at(server, study(first=10), judges.recipe("gepa"), start=start)


# What goes wrong on the way


@pytest.mark.parametrize("optimizer", ASSISTANT_OPTIMIZERS)
def test_a_turn_without_a_grade_or_a_response_ends_nothing_and_is_counted(tmp_path, server, optimizer):
    def script(sent):
        last = str(sent.messages[-1]["content"])
        if sent.role in {"judge", "report"} and token(1) in last:
            return Answer("no object")
        filtered = sent.role == "assistant" and token(2) in last
        return error(400, "content_filter") if filtered else assistants.models(sent)

    server.script = script
    card = at(server, few(), recipe(optimizer)).run(tmp_path / "out").artefact.card
    # No response is worth nothing; a verdict that cannot be read is not the assistant's fault, and left out.
    assert (card.target.count, card.target.total) == (3, 4)
    assert card.target.least is not None
    assert card.target.difference.value is not None
    # At worst it was 1 before, and 0 after.
    assert card.target.least.value == pytest.approx((3 * card.target.difference.value - 1) / 4)
    assert (card["offers"].count, card["offers"].total) == (2, 4)
    assert (card["length"].count, card["length"].total) == (3, 4)  # what was answered has a length
    assert card.unscored == 3


def test_nothing_that_can_be_graded_leaves_every_number_out_and_the_start(tmp_path, server):
    server.script = lambda sent: Answer("no object")
    made = at(server, few(), recipe()).run(tmp_path / "out").artefact
    card = made.card
    assert {change.count for change in (card.target, *(row for row in card.rows if row.unit != "times"))} == {0}
    assert (card.target.before.value, card.fold_scores) == (None, (None, None))
    assert made.states["reply"].signature.instructions == ""


@pytest.mark.parametrize("optimizer", ["miprov2", "gepa"])
def test_responses_whose_verdict_cannot_be_read_are_counted_and_end_nothing(tmp_path, server, optimizer):
    unreadable = tuple(study().items[location].text for location in (1, 6))

    def judge(sent):
        lost = any(response in str(sent.messages[-1]["content"]) for response in unreadable)
        return Answer("no object") if sent.role == "judge" and lost else judges.models(sent)

    server.script = judge
    card = judging(server, optimizer).run(tmp_path / "out").artefact.card
    assert (card.unscored, card.target.count) == (2, 10)
    assert card.target.low98_unread is not None


def test_groups_none_of_whose_verdicts_can_be_read_do_not_count_towards_a_claim(tmp_path, server):
    """The responses of one of four personas: the 98 % interval rests on three."""
    unreadable = tuple(study().items[location].text for location in (0, 4, 8))

    def judge(sent):
        lost = any(response in str(sent.messages[-1]["content"]) for response in unreadable)
        return Answer("no object") if sent.role == "judge" and lost else judges.models(sent)

    server.script = judge
    card = judging(server).run(tmp_path / "out").artefact.card
    assert (card.group_count, card.target_groups, card.target.count) == (4, 3, 9)
    assert ": 9 graded answers in 3 scenarios are too few; a claim takes 60 in 10." in card.headline.text


REFUSING = {
    "refused": lambda sent: error(400, "content_filter"),
    "half a character": lambda sent: Answer(proposed(sent, "Look ahead \ud800 now.")),
    "no word": lambda sent: Answer("  "),
    "brackets": lambda sent: Answer("{" * 20_000),
}


@pytest.mark.parametrize(
    ("what", "optimizer"),
    [*((what, "search") for what in REFUSING), ("refused", "gepa"), ("half a character", "miprov2")],
)
def test_a_proposal_that_cannot_be_used_ends_nothing(tmp_path, server, what, optimizer):
    server.script = lambda sent: REFUSING[what](sent) if sent.role == "proposer" else assistants.models(sent)
    at(server, few(), recipe(optimizer, trials=4 if optimizer == "gepa" else 2)).run(tmp_path / "out")


@pytest.mark.parametrize("optimizer", ["labeled", "bootstrap"])
def test_an_optimizer_of_worked_examples_is_refused_without_any_before_a_call(server, optimizer):
    """DSPy's random search would fail once the start had been paid for."""
    with pytest.raises(UsageError, match=f"max_demos=0`: {optimizer} changes nothing but worked examples"):
        judges.at(server, study(), judges.recipe(optimizer).model_copy(update={"max_demos": 0}))
    assert server.sent == []


def test_a_forecast_names_no_more_candidates_than_a_search_without_worked_examples_can_make(tmp_path, server):
    """Beside the start, two rounds of a proposal a tip, and the hint that is bundled; one predictor."""

    def script(sent: Sent) -> Answer:
        if sent.role == "proposer":  # another instruction to each question
            return Answer(proposed(sent, f"Rule {hash(sent.wire)}."))
        return assistants.models(sent)

    server.script = script
    compiling = at(server, few(), recipe(trials=40, max_demos=0))
    most = 2 * len(assistants.TIPS) + len(assistants.PROPOSALS["assistant"].hints)
    assert compiling.forecast().candidates == most < 39
    assert len(compiling.run(tmp_path / "out").artefact.card.candidates) == 1 + most
    assert at(server, few(), recipe(trials=4, max_demos=0)).forecast().candidates == 3
    assert at(server, few(), recipe(trials=40)).forecast().candidates == 39
