"""A corpus is made over HTTP: what comes out is a function of the answers, whatever happens on the way."""

import asyncio
import json
import os
import random
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from builders.notes import files, making
from support.notes_corpus import AGAIN, NotesBench, NotesBrief, NotesMaker, NotesScript, read_brief
from support.provider import Received, Scripted, SimulatedProvider, refusal

from dspy_proact import Gate, Generation, Limits, ModelSpec
from dspy_proact.errors import Interrupted, LimitReached, ProviderDown, RunError, SetupFault, UsageError
from dspy_proact.evaluation.benchmark import CorpusFacts
from dspy_proact.generation.maker import ItemRecord, Making
from dspy_proact.generation.progress import CorpusObserver
from dspy_proact.report.made import Repair, repair_rows

CALLS = 10
"""For one note: topic, three lines, three checks and three readings."""


def without_times(content: dict[str, bytes]) -> dict[str, bytes]:
    claim = json.loads(content["corpus.json"])
    claim.pop("created")
    return {**content, "corpus.json": json.dumps(claim).encode()}


def items(folder: Path) -> list[ItemRecord]:
    lines = (folder / "items.jsonl").read_text().splitlines()
    return [ItemRecord.model_validate_json(line) for line in lines]


def json_of(**fields: object) -> str:
    return json.dumps(fields)


# A function of the answers


def test_the_same_call_goes_on_without_a_call_and_writes_nothing_anew(tmp_path):
    with SimulatedProvider(NotesScript()) as provider:
        first = making(provider).run(tmp_path / "out")
        written = files(tmp_path / "out")
        before = {path: path.stat().st_mtime_ns for path in map((tmp_path / "out").joinpath, written)}
        again = making(provider).run(tmp_path / "out")
        assert (first.paid, again.paid, provider.received.total()) == (4 * CALLS, 0, 4 * CALLS)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (tmp_path / "out" / "about.txt").read_text() == "4 of 4 notes.\n"
    assert again.made == first.made


def test_no_order_of_arrival_decides_anything(tmp_path):
    """Answers that break rules among them, and a slot that is begun anew."""

    def faults(kind: str, text: str) -> str | None:
        if kind == "topic" and text == "3.1":
            return json_of(topic="Topic, 1.1 " + " ".join(f"word1.1{letter}" for letter in "abcdefgh"))
        if kind == "line" and "2.1" in text and AGAIN not in text:
            return json_of(line="forbidden")
        return json_of(sound=False) if kind == "check" and "line 2 topic 4.1" in text else None

    folders = list[dict[str, bytes]]()
    for seed in range(3):
        draw = random.Random(seed)

        def delay(_: Received, draw: random.Random = draw, seed: int = seed) -> float:
            return draw.random() * 0.05 * seed

        with SimulatedProvider(NotesScript(faults, delay)) as provider:
            gate = Gate(concurrency=1 if seed == 2 else 32)
            making(provider, gate=gate).run(tmp_path / f"out-{seed}")
        folders.append(without_times(files(tmp_path / f"out-{seed}")).copy())
        claim = json.loads(folders[-1]["corpus.json"])
        for models in claim["identity"]["models"].values():
            models[0].pop("endpoint")  # the provider's port
        folders[-1]["corpus.json"] = json.dumps(claim).encode()
    assert folders[0] == folders[1] == folders[2]
    assert [(record.attempt, len(record.failed)) for record in items(tmp_path / "out-0")] == [
        *((1, 0), (1, 0), (2, 1), (2, 1))
    ]


def test_more_of_a_corpus_keeps_what_there_is_to_the_byte(tmp_path):
    with SimulatedProvider(NotesScript()) as provider:
        making(provider, items=3).run(tmp_path / "out")
        few = files(tmp_path / "out")
        grown = making(provider, items=5).run(tmp_path / "out")
        assert grown.paid == 2 * CALLS
        making(provider, items=5).run(tmp_path / "at-once")
    many = files(tmp_path / "out")
    assert many["notes.jsonl"].startswith(few["notes.jsonl"])
    assert many["items.jsonl"].startswith(few["items.jsonl"])
    assert without_times(many) == without_times(files(tmp_path / "at-once"))


def test_a_folder_grows_in_size_and_proof_and_is_not_cut_down(tmp_path):
    with SimulatedProvider(NotesScript()) as provider:
        assert making(provider, proof="none").run(tmp_path).paid == 4 * 7
        assert making(provider, proof="full").run(tmp_path).paid == 4 * 3
        for less in ({"items": 3}, {"proof": "light"}):
            with pytest.raises(RunError, match="holds 4 notes with `proof=full`, and it may only grow"):
                making(provider, **less).run(tmp_path)
        for other, field in (({"seed": 1}, "seed"), ({"brief": "ships"}, "brief.about"), ({"language": "nl"}, "lang")):
            with pytest.raises(RunError, match=f"holds another corpus, which differs in .*{field}"):
                making(provider, **other).run(tmp_path)


class WithoutMaking(NotesBench):
    corpus = CorpusFacts()


def test_equal_requests_are_no_copies_of_one_another(tmp_path):
    """Three readings of one note have answers of their own, here by the number of the request."""

    def script(received: Received) -> Scripted:
        text = received.body["messages"][-1]["content"]
        reading = "[[ ## lines ## ]]" in text
        return Scripted(json_of(stars=received.number)) if reading else NotesScript()(received)

    with SimulatedProvider(script) as provider:
        made = making(provider, items=1).run(tmp_path).made
        again = making(provider, items=1).run(tmp_path).made
    assert len(set(made.kept[0].item.stars)) == 3
    assert again == made


# Repairs


def test_what_breaks_a_rule_is_repeated_then_mended_then_tried_anew_then_dropped_and_all_of_it_is_counted(tmp_path):
    def faults(kind: str, text: str) -> str | None:
        if kind == "line" and text.startswith("1 topic 1.1") and AGAIN not in text:
            return json_of(line="forbidden")  # slot 1: once
        if kind == "check" and "line 2 topic 2.1" in text and "mended" not in text:
            return json_of(sound=False)  # slot 2: mended by the line before
        if kind == "check" and "line 3 topic 3.1" in text:
            return json_of(sound=False)  # slot 3: a new attempt
        return "no JSON" if kind == "line" and "topic 4." in text else None  # slot 4: dropped

    with SimulatedProvider(NotesScript(faults)) as provider:
        result = making(provider).run(tmp_path)
    made, records = result.made, items(tmp_path)
    assert (made.missing, [kept.slot for kept in made.kept]) == (1, [1, 2, 3])
    assert (tmp_path / "about.txt").read_text() == "3 of 4 notes.\n"
    one, two, three, four = records
    assert [author.broken for author in one.authors if author.stage == "line" and author.turn == 1] == [
        ("It holds 'forbidden', a forbidden word; leave that out.",),
        (),
    ]
    assert [mend.stage for mend in two.mends] == ["check"]
    assert (three.key, three.attempt, [failed.stage for failed in three.failed]) == ("note-3-2", 2, ["check"])
    assert (four.key, four.attempt, [failed.stage for failed in four.failed]) == (None, None, ["line"] * 3)
    assert four.failed[0].reasons == (
        "It could not be used (unreadable: one JSON object was asked for, none found). "
        "Answer with one JSON object that has every field.",
    )
    rows = repair_rows(made.kept, made.dropped)
    # Slot 2 three times; slot 3 three times before its mend, and three times after it.
    assert Repair("check", "The line is not sound; check it again.", repeated=9, mended=2, dropped=1) in rows
    assert Repair("line", "It holds …, a forbidden word; leave that out.", repeated=1, mended=0, dropped=0) in rows
    authors = [author for attempt in (*made.kept, *made.dropped) for author in attempt.authors]
    assert sum(author.calls for author in authors) == provider.received.total() == result.paid
    assert sum(author.usd or 0.0 for author in authors) == pytest.approx(provider.tokens * 1e-6)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Scripted(json_of(line="a" * 1_000_000)), "It has 1,000,012 characters; write a shorter one, of 60,000"),
        (Scripted(json_of(line="a"), finish_reason="length"), "It was cut at the token limit; write a shorter one"),
    ],
    ids=["too long", "cut"],
)
def test_an_answer_that_is_too_long_or_cut_is_asked_for_again_and_not_repeated_to_the_model(tmp_path, answer, reason):
    notes, bodies = NotesScript(), list[str]()

    def script(received: Received) -> Scripted:
        text = str(received.body["messages"])
        bodies.append(text)
        return answer if "Write a line" in text and "failed before" not in text else notes(received)

    with SimulatedProvider(script) as provider:
        result = making(provider, items=1).run(tmp_path)
    assert result.made.missing == 0
    assert [author.broken[0].startswith(reason) for author in items(tmp_path)[0].authors if author.broken] == [True] * 3
    assert max(map(len, bodies)) < 10_000


def topic_of(number: str) -> str:
    return json_of(topic=f"Topic {number}: " + " ".join(f"Wörd{number}{letter}" for letter in "abcdefgh"))


def test_what_is_too_like_a_slot_below_is_begun_anew_and_dropped_after_three(tmp_path):
    like = {"2.1": topic_of("1.1").replace("ö", "o"), **{f"4.{number}": topic_of("1.1") for number in (1, 2, 3)}}

    def faults(kind: str, text: str) -> str | None:
        return like.get(text, topic_of(text)) if kind == "topic" else None

    with SimulatedProvider(NotesScript(faults)) as provider:
        made = making(provider).run(tmp_path).made
        assert provider.received.total() == 3 * CALLS + 1 + 3  # nothing else is asked of what is too alike
    assert [(kept.slot, kept.attempt) for kept in made.kept] == [(1, 1), (2, 2), (3, 1)]
    assert [(dropped.slot, dropped.stage) for dropped in made.dropped] == [(2, "likeness"), *[(4, "likeness")] * 3]


def test_what_is_too_like_a_later_attempt_of_a_slot_below_is_found_at_the_end(tmp_path):
    """Slot 1 is begun anew like slot 2, which was finished by then; slot 3 is like what slot 1 had before."""

    def faults(kind: str, text: str) -> str | None:
        if kind == "topic":
            return topic_of({"1.2": "2.1", "3.1": "9.9"}.get(text, text))
        return json_of(sound=False) if kind == "check" and "Topic 1.1" in text else None

    with SimulatedProvider(NotesScript(faults)) as provider:
        made = making(provider, items=3).run(tmp_path).made
    assert [(kept.slot, kept.attempt) for kept in made.kept] == [(1, 2), (2, 2), (3, 1)]
    assert [(dropped.slot, dropped.attempt, dropped.stage) for dropped in made.dropped] == [
        (1, 1, "check"),
        (2, 1, "likeness"),
    ]


# Ends


def test_a_provider_that_fails_drops_nothing_and_the_others_go_on(tmp_path):
    well = NotesScript()

    def failing(received: Received) -> Scripted:
        text = received.body["messages"][-1]["content"]
        return refusal(500) if "topic 2.1" in text or "\n3.1" in text else well(received)

    with SimulatedProvider(failing) as provider:
        with pytest.raises(ProviderDown, match=r"2 of 4 items wait, .*; repeat the command to go on"):
            making(provider).run(tmp_path / "out")
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["calls.jsonl", "corpus.json", "lock"]
        assert provider.received.total() == 2 * CALLS + 1 + 1 + 1  # the topic of 2, and what failed of 2 and 3
        provider.script = well
        assert making(provider).run(tmp_path / "out").paid == 2 * CALLS - 1
        making(provider).run(tmp_path / "smoothly")
    assert without_times(files(tmp_path / "out")) == without_times(files(tmp_path / "smoothly"))


def test_a_limit_ends_all_is_kept_and_the_same_call_goes_on(tmp_path):
    with SimulatedProvider(NotesScript()) as provider:
        before = 0
        for _ in range(2):
            with pytest.raises(LimitReached, match=r"`limits\.calls=15` is reached"):
                making(provider, gate=Gate(limits=Limits(calls=15))).run(tmp_path)
            assert provider.received.total() == (before := before + 15)
        assert making(provider, gate=Gate(limits=Limits(calls=15))).run(tmp_path).paid == 4 * CALLS - 30


def test_a_key_that_is_refused_leaves_the_folder_as_it_was(tmp_path):
    with SimulatedProvider(lambda _: refusal(401)) as provider, pytest.raises(SetupFault):
        making(provider).run(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_fault_of_the_maker_is_raised_and_what_was_paid_is_kept(tmp_path):
    with SimulatedProvider(NotesScript()) as provider:
        task = making(provider)
        task.maker.text = lambda made: {}[made.topic]
        with pytest.raises(KeyError):
            task.run(tmp_path)
        paid = provider.received.total()
        assert making(provider).run(tmp_path).paid == 4 * CALLS - paid


class Impatient(CorpusObserver):
    """Presses Ctrl-C again when the first was heard, so many times in all."""

    def __init__(self, times: int):
        self.left = times - 1

    def interrupted(self) -> None:
        if self.left:
            self.left -= 1
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_lets_what_is_in_flight_end_and_the_second_drops_it(tmp_path, times):
    well = NotesScript()

    def script(received: Received) -> Scripted:
        if received.number == 12:
            os.kill(os.getpid(), signal.SIGINT)
        return replace(well(received), delay=0.2, stall=times == 2 and received.number >= 12)

    with SimulatedProvider(script) as provider:
        with pytest.raises(Interrupted):
            making(provider).run(tmp_path, Impatient(times))
        sent, kept = provider.received.total(), (tmp_path / "calls.jsonl").read_bytes().count(b"\n")
        assert sent < 4 * CALLS
        assert kept == sent if times == 1 else kept <= 12 < sent
        provider.script = well
        assert making(provider).run(tmp_path).paid == 4 * CALLS - kept


def test_a_cancelled_one_drops_what_is_in_flight_and_goes_on_later(tmp_path):
    well = NotesScript()

    async def cancelled(task: Generation) -> None:
        running = asyncio.create_task(task.arun(tmp_path))
        while provider.received.total() < 12:
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    with SimulatedProvider(lambda received: replace(well(received), delay=0.05)) as provider:
        asyncio.run(cancelled(making(provider)))
        provider.script = well
        assert 0 < making(provider).run(tmp_path).paid < 4 * CALLS


# Models


def test_of_several_models_one_writes_an_attempt_and_a_named_role_has_its_own(tmp_path):
    with SimulatedProvider(NotesScript()) as provider:
        base = provider.base("any")
        first, second, third = (ModelSpec(name=f"openai/{name}", api_base=base) for name in ("one", "two", "three"))
        roles = {"checker": third}
        made = making(provider, model=[second, first], roles=roles, items=12).run(tmp_path).made
        again = making(provider, model=[first, second], roles=roles, items=12)
        assert again.run(tmp_path).paid == 0
        assert again.forecast().usd is None  # no price is known
    writers = [{author.model for author in kept.authors if author.role == "writer"} for kept in made.kept]
    assert set(map(len, writers)) == {1}
    assert {*writers[0], *writers[1]} <= {"openai/one", "openai/two"} == set.union(*writers)
    others = {author.model for kept in made.kept for author in kept.authors if author.role != "writer"}
    assert others == {"openai/three"}, "the reader is usually the checker's model"


def test_a_role_that_is_not_there_and_a_model_that_is_named_twice_are_refused():
    with pytest.raises(UsageError, match=r"`roles.singer`: no such role; notes has writer, checker, reader"):
        Generation(benchmark=NotesBench(), roles={"singer": "embedded"})
    with pytest.raises(UsageError, match="`model`: name each model once"):
        Generation(benchmark=NotesBench(), model=["embedded", "embedded"])
    with pytest.raises(UsageError, match="no corpora can be made"):
        Generation(benchmark=WithoutMaking())


def test_fields_of_a_brief_are_set_by_name_and_are_part_of_what_the_corpus_is():
    def notes(**settings):
        return Generation(benchmark=NotesBench(), settings=settings)

    assert notes(about="ships").brief == NotesBrief(about="ships")
    assert notes(about="ships").identity != notes().identity
    with pytest.raises(
        UsageError, match=r"^`settings` abou: there is no such field; did you mean about\? There are abo"
    ):
        notes(abou="ships")
    with pytest.raises(UsageError, match=r"^`settings` about: input should be a valid string, not 7$"):
        notes(about=7)


def test_a_benchmark_says_how_many_are_made_by_default_and_what_the_stand_in_cannot_follow():
    sized = Making(
        read_brief, NotesMaker, number=9, number_of_stand_in=2, beyond_stand_in=lambda brief: brief.about[9:]
    )

    class Sized(NotesBench):
        corpus = CorpusFacts(making=lambda: sized)

    real = ModelSpec(name="openai/any", api_base="http://localhost:1")
    assert [Generation(benchmark=Sized()).items, Generation(model=real, benchmark=Sized()).items] == [2, 9]
    with pytest.raises(UsageError, match=r"^the stand-in cannot write from this brief, whose 'x.y' is not that of"):
        Generation("whatever x.y", benchmark=Sized())
    assert Generation("whatever x.y", real, benchmark=Sized()).items == 9


# Forecast and progress


class Watcher(CorpusObserver):
    def __init__(self):
        self.stands = []

    def changed(self, stand):
        self.stands.append(stand)


def test_the_forecast_is_near_what_is_paid_and_whoever_watches_sees_every_call(tmp_path):
    def faults(kind: str, text: str) -> str | None:
        return json_of(sound=False) if kind == "check" and "line 1 topic 1.1" in text else None

    with SimulatedProvider(NotesScript(faults)) as provider:
        task, watcher = making(provider), Watcher()
        forecast = task.forecast()
        result = task.run(tmp_path, watcher)
        assert forecast.calls == 4 * CALLS
        assert forecast.in_a_row == 8  # readings are side by side
        assert forecast.usd == pytest.approx((forecast.prompt_tokens + forecast.completion_tokens) * 1e-6)
    last = watcher.stands[-1]
    # The failed attempt: a topic, a line and three checks, a line and three checks.
    assert (last.kept, last.dropped, last.failed) == (4, 0, 1)
    assert (last.paid, last.usd) == (result.paid, pytest.approx(provider.tokens * 1e-6))
    assert [stand.paid for stand in watcher.stands] == sorted(stand.paid for stand in watcher.stands)
