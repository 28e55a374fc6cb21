"""`AssistantCompile` from end to end: stopped and resumed, replayed, in another order, and what it refuses."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import tuning
from assistants import (
    ASSISTANT_OPTIMIZERS,
    NAMES,
    artefact,
    at,
    at_server,
    corpus,
    dialogue,
    few,
    models,
    proposed,
    recipe,
    token,
)
from rows import jsonl
from server import Answer, Sent, Server, error
from specs import spec
from tuning import lasting

from dspy_proact.benchmarks.compiled import load_assistant
from dspy_proact.benchmarks.proactbench.corpus import Corpus
from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.calls import Price
from dspy_proact.compile.assistant_compile import AssistantCompile
from dspy_proact.compile.judge_compile import JudgeCompile
from dspy_proact.errors import LimitReached, ProviderDown, RunError, UsageError
from dspy_proact.models import Gate, Limits, ModelSpec
from dspy_proact.programs.artefact import read_artefact, write_artefact

ROLES = ("assistant", "judge", "report", "proposer")


def bodies(sent: Iterable[Sent]) -> Counter[str]:
    return Counter(json.dumps([each.role, each.body], sort_keys=True) for each in sent)


def counts(server: Server) -> list[int]:
    return [len(server.of(role)) for role in ROLES]


def compiled(server: Server, tmp_path: Any, script: Any = models, read: Corpus | None = None, **how: Any) -> Any:
    server.script = script
    return at(server, read or corpus(), recipe(**how)).run(tmp_path / "out").artefact


# Stopped and gone on with


@pytest.mark.parametrize("optimizer", ASSISTANT_OPTIMIZERS)
def test_a_compile_that_limits_stopped_goes_on_to_the_same_file_and_pays_for_nothing_twice(
    tmp_path, server, optimizer, capfd
):
    """So does a second compile from nothing, which the first runs of this test are: same seed, same file."""
    server.script = models
    how, guards = recipe(optimizer, trials=2), {"offers": 0.05}
    compiling = at(server, corpus(5), how, guards=guards)
    most = compiling.forecast()
    assert server.sent == []
    whole = compiling.run(tmp_path / "whole")
    asked = bodies(server.sent)
    assert whole.paid == len(server.sent) > 48
    # No request is paid for twice, but for what a proposer is asked again on purpose.
    assert set(bodies(sent for sent in server.sent if sent.role != "proposer").values()) == {1}
    bounds = [most.roles[role].calls for role in ("assistant", "judge", "report_judge", "proposer")]
    assert all(count <= bound for count, bound in zip(counts(server), bounds, strict=True))
    assert read_artefact(whole.path) == whole.artefact

    server.sent.clear()
    sent = 0
    for calls in (1, 7, 40):
        limited = Gate(retries=0, limits=Limits(calls=calls))
        with pytest.raises(LimitReached):
            at(server, corpus(5), how, guards=guards, gate=limited).run(tmp_path / "parts")
        sent += calls
        assert len(server.sent) == sent
        assert not (tmp_path / "parts" / "assistant.json").exists()
    resumed = at(server, corpus(5), how, guards=guards).run(tmp_path / "parts")
    assert resumed.paid == whole.paid - 48
    assert bodies(server.sent) == asked
    assert lasting(resumed.path) == lasting(whole.path)
    assert capfd.readouterr() == ("", "")


def test_a_provider_that_dies_stops_the_compile_and_the_same_call_goes_on(tmp_path, server):
    """Each of the four, half way through its part; who was answered meanwhile is not asked again."""
    server.script = models
    whole = at(server, few(), recipe()).run(tmp_path / "whole")
    asked, halves = bodies(server.sent), {role: len(server.of(role)) // 2 for role in ROLES}

    def dying(role: str, failed: Counter[str]) -> Callable[[Sent], Answer]:
        def answer(sent: Sent) -> Answer:
            if sent.role == role and len(server.of(role)) > halves[role]:
                failed.update(bodies([sent]))
                return error(503)
            return models(sent)

        return answer

    for role in ROLES:
        server.sent.clear()
        failed: Counter[str] = Counter()
        server.script = dying(role, failed)
        with pytest.raises(ProviderDown, match="needs every answer"):
            at(server, few(), recipe()).run(tmp_path / role)
        assert 1 <= failed.total() <= 32
        server.script = models
        resumed = at(server, few(), recipe()).run(tmp_path / role)
        assert bodies(server.sent) == asked + failed
        assert lasting(resumed.path) == lasting(whole.path)


# The same and not the same


def test_another_seed_is_another_compile(server):
    first, second = (at(server, corpus(), recipe(seed=seed)) for seed in (0, 1))
    assert first.identity != second.identity
    assert first.default_folder != second.default_folder


@pytest.mark.parametrize("optimizer", ["search", "miprov2"])
def test_another_order_of_dialogues_is_another_compile_that_asks_the_same_and_ends_in_the_same(
    tmp_path, server, optimizer
):
    """A corpus is named by its rows in their order, so that the folder is another; program and numbers are not."""
    server.script = models
    contents: list[dict[str, Any]] = []
    asked: list[Counter[str]] = []
    for name, personas in (("ordered", (0, 1, 2, 3, 4)), ("shuffled", (3, 0, 4, 2, 1))):
        server.sent.clear()
        contents.append(lasting(at(server, few(personas), recipe(optimizer)).run(tmp_path / name).path))
        asked.append(bodies(server.sent))
    assert asked[0] == asked[1]
    first, second = contents
    assert first["card"]["provenance"]["data"].pop("sha256") != second["card"]["provenance"]["data"].pop("sha256")
    assert first["states"] == second["states"]
    assert rounded(first["card"]) == rounded(second["card"])


def rounded(value: Any) -> Any:
    """A card whose numbers are without what the order of adding leaves in the last digits."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return round(value, 9) if isinstance(value, float) else value


# Folders


def test_a_folder_goes_on_with_its_own_compile_and_refuses_another_naming_what_differs(tmp_path, server):
    server.script = models
    at(server, few(), recipe(trials=1)).run(tmp_path / "out")
    calls = len(server.sent)
    assert at(server, few(), recipe(trials=1)).run(tmp_path / "out").paid == 0  # everything stands in the record
    how = recipe(trials=1)
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
        (
            at(server, few(), how, model=spec(NAMES["model"], server.assistant, params={"temperature": 0.5})),
            "models.assistant.decoding.temperature",
        ),
    ]:
        with pytest.raises(RunError, match=rf"holds another compile, which differs in {named}\b"):
            other.run(tmp_path / "out")
    assert len(server.sent) == calls


def test_a_folder_of_a_judges_compile_or_of_anything_else_is_refused(tmp_path, server):
    server.script = tuning.models
    tuning.at(server, tuning.study(), tuning.recipe(), proposer=server.judge).run(tmp_path / "judge")
    server.sent.clear()
    with pytest.raises(RunError, match="holds another compile, which differs in"):
        at(server, corpus(), recipe()).run(tmp_path / "judge")
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "holiday.jpg").write_bytes(b"x")
    with pytest.raises(RunError, match="else: not empty and not a compile; name another folder with --out"):
        at(server, corpus(), recipe()).run(tmp_path / "else")
    assert server.sent == []
    assert [path.name for path in (tmp_path / "else").iterdir()] == ["holiday.jpg"]


@pytest.mark.parametrize("damaged", ["", "{", "[]", "null"])
def test_a_damaged_folder_is_refused_naming_the_file(tmp_path, server, damaged):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "compile.json").write_text(damaged, encoding="utf-8")
    with pytest.raises(RunError, match=r"compile\.json"):
        at(server, corpus(), recipe()).run(tmp_path / "out")
    assert server.sent == []


# The judges


def test_one_judge_for_both_is_warned_of_on_the_card_and_asked_once_for_one_verdict(tmp_path, server):
    server.script = models
    compiling = at(server, few(), recipe(trials=1), report_judge=ModelSpec(name="openai/tuner"))
    assert compiling.same_judge
    card = compiling.run(tmp_path / "out").artefact.card
    (warning,) = card.warnings
    assert warning.startswith("one model tunes and reports")
    made = card.provenance.models
    assert made["judge"] == made["report_judge"]
    assert server.of("report") == []
    assert set(bodies(server.of("judge")).values()) == {1}


def test_two_judges_are_no_cause_for_a_warning(tmp_path, server):
    server.script = models
    compiling = at(server, few(), recipe(trials=1))
    assert not compiling.same_judge
    card = compiling.run(tmp_path / "out").artefact.card
    assert card.warnings == ()
    made = card.provenance.models
    assert (made["judge"].model, made["report_judge"].model) == ("openai/tuner", "openai/reporter")


def test_one_name_at_two_endpoints_is_two_judges_who_are_not_given_each_others_verdicts(tmp_path, server):
    server.script = models
    twin = spec(NAMES["judge"], server.report)
    first = at(server, few(), recipe(trials=1)).run(tmp_path / "two")
    heard = bodies(server.of("report")).total()
    second = at(server, few(), recipe(trials=1), report_judge=twin).run(tmp_path / "twins")
    assert bodies(server.of("report")).total() == 2 * heard
    assert second.paid == first.paid


def test_without_a_proposer_the_tuning_judges_model_proposes(tmp_path, server):
    server.script = models
    judging = at(server, few(), recipe(trials=1), proposer=None)
    assert judging.models["proposer"].identity.endpoint == server.judge
    assert judging.models["proposer"].name == NAMES["judge"]


# What is refused before any call


def test_no_more_folds_are_made_than_there_are_personas_and_too_few_are_refused_before_any_call(server):
    assert at(server, corpus(), recipe(folds=5)).recipe.folds == 4
    with pytest.raises(UsageError, match="2 triggers of 2 independent scenarios cannot make 2 folds"):
        at(server, corpus(2), recipe())
    with pytest.raises(UsageError, match="0 triggers of 0 independent scenarios"):
        at(server, corpus(), recipe(), phases=[Phase.CRITICAL])
    assert server.sent == []


CROWDED = [dialogue(0, dict.fromkeys(range(1, 7), Phase.RECOVERY)), *map(dialogue, range(1, 5))]
"""Five personas, of whom one has six triggers of RECOVERY and the others one each."""


@pytest.mark.parametrize("rows", [[*map(dialogue, range(3))], CROWDED], ids=["three", "crowded"])
def test_a_fold_that_leaves_one_persona_to_learn_from_is_refused_before_any_call(tmp_path, server, rows):
    server.script = models
    read = Corpus.of(jsonl(*rows).splitlines(), name="a corpus", source="here")
    with pytest.raises(UsageError, match="to learn from"):
        at(server, read, recipe()).run(tmp_path / "out")
    assert server.sent == []


def test_an_empty_prompt_and_a_prompt_beside_a_start_are_refused(tmp_path, server):
    with pytest.raises(UsageError, match="the system prompt is empty"):
        at(server, corpus(), recipe(), system_prompt=" \n")
    write_artefact(tmp_path / "start.json", artefact())
    with pytest.raises(UsageError, match="--start has a prompt of its own; leave --system-prompt out"):
        at(server, corpus(), recipe(), system_prompt="Be kind.", start=tmp_path / "start.json")


def test_a_start_that_has_seen_one_of_the_conversations_is_refused(tmp_path, server):
    server.script = models
    start = at(server, corpus((0, 1, 2, 3)), recipe(trials=1)).run(tmp_path / "first").path
    with pytest.raises(UsageError, match="was compiled on 1 of these dialogues, so that no program"):
        at(server, corpus((3, 4, 5, 6)), recipe(), start=start)
    at(server, corpus((4, 5, 6, 7)), recipe(), start=start)


def test_a_compiled_judge_is_no_start(tmp_path, server):
    write_artefact(tmp_path / "judge.json", tuning.artefact())
    with pytest.raises(UsageError, match="a compiled judge, where an assistant is asked for"):
        at(server, corpus(), recipe(), start=tmp_path / "judge.json")
    write_artefact(tmp_path / "assistant.json", artefact())
    with pytest.raises(UsageError, match="a compiled assistant, where a judge is asked for"):
        JudgeCompile(tuning.study(), recipe=tuning.recipe(), start=tmp_path / "assistant.json")


def test_labelled_examples_are_no_way_to_tune_an_assistant(server):
    with pytest.raises(UsageError, match="nobody has written the answers that it would show; choose among"):
        at(server, corpus(), recipe("labeled"))


def test_a_limit_on_money_needs_a_price_of_every_model(server):
    given = Price(prompt=1e-6, completion=1e-6, reason="by hand")
    known = {name: model.model_copy(update={"price": given}) for name, model in at_server(server).items()}
    at(server, corpus(), recipe(), gate=Gate(limits=Limits(usd=1.0)), **known)
    for name, model in at_server(server).items():
        with pytest.raises(UsageError, match=f"needs a price for --{name.replace('_', '-')}"):
            at(server, corpus(), recipe(), gate=Gate(limits=Limits(usd=1.0)), **(known | {name: model}))


# A start


def test_a_start_is_asked_first_and_what_is_tuned_grows_from_it(tmp_path, server):
    write_artefact(tmp_path / "start.json", artefact("Be kind.", demos=1))
    server.script = models
    start = load_assistant(tmp_path / "start.json")
    finished = at(server, few((1, 2, 3, 4)), recipe(trials=1), start=tmp_path / "start.json").run(tmp_path / "out")
    first = server.of("assistant")[:8]  # 8 turns, by the assistant as it is
    assert {each.messages[0]["content"] for each in first} == {start.system_prompt}
    again = load_assistant(finished.path)  # one trial is the start
    assert again.system_prompt == start.system_prompt
    assert finished.artefact.card.provenance.start == read_artefact(tmp_path / "start.json").digest


# What goes wrong on the way


@pytest.mark.parametrize("optimizer", ASSISTANT_OPTIMIZERS)
def test_a_turn_without_a_grade_or_a_response_ends_nothing_and_is_counted(tmp_path, server, optimizer):
    def script(sent):
        last = str(sent.messages[-1]["content"])
        if sent.role in {"judge", "report"} and token(1) in last:
            return Answer("no object")
        return error(400, "content_filter") if sent.role == "assistant" and token(2) in last else models(sent)

    card = compiled(server, tmp_path, script, few(), optimizer=optimizer).card
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
    made = compiled(server, tmp_path, lambda sent: Answer("no object"), few())
    card = made.card
    assert {change.count for change in (card.target, *(row for row in card.rows if row.unit != "times"))} == {0}
    assert (card.target.before.value, card.fold_scores) == (None, (None, None))
    assert made.states["reply"].signature.instructions == ""


REFUSING = {
    "refused": lambda sent: error(400, "content_filter"),
    "half a character": lambda sent: Answer(proposed(sent, "Look ahead \ud800 now.")),
    "no word": lambda sent: Answer("  "),
}


@pytest.mark.parametrize("optimizer", ["search", "gepa", "miprov2"])
@pytest.mark.parametrize("what", REFUSING)
def test_a_proposal_that_cannot_be_used_ends_nothing(tmp_path, server, what, optimizer):
    def script(sent):
        return REFUSING[what](sent) if sent.role == "proposer" else models(sent)

    compiled(server, tmp_path, script, few(), optimizer=optimizer, trials=4 if optimizer == "gepa" else 2)


# The surroundings


def test_the_embedded_model_takes_every_role_by_default(tmp_path):
    finished = AssistantCompile(corpus(), recipe=recipe(trials=1)).run(tmp_path / "out")
    assert finished.artefact.card.provenance.embedded
    assert finished.artefact.card.warnings  # one model tunes and reports
