"""Logs of Inspect as files: what is read of them, and what is refused in a sentence."""

import json
import struct
import zipfile
import zlib

import pyarrow
import pytest

from dspy_proact.errors import CorpusError
from dspy_proact.files import inspect_log
from dspy_proact.files.inspect_log import header_of, samples_in
from dspy_proact.kept import Kind, content_of

HEADER = {
    "version": 2,
    "status": "success",
    "eval": {"task": "coffee", "model": "openai/x", "created": "2026-11-29T09:30:05+00:00", "dataset": {}},
}
SAMPLE = {
    "id": "a",
    "epoch": 1,
    "input": "Any tea?",
    "target": ["yes", "indeed"],
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Any tea?", "id": "m1"},
        {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "Yes."}]},
    ],
    "output": {
        "model": "openai/x",
        "completion": "Yes.",
        "choices": [{"message": {"role": "assistant", "content": "Yes."}, "stop_reason": "stop"}],
    },
    "scores": {"match": {"value": "C", "answer": "Yes", "explanation": "It says so.", "metadata": {"by": "rule"}}},
    "metadata": {"key": "d1__t2"},
    "events": [{"event": "model", "depth": float("inf")}],
    "a field of a later version": 1,
}


def logged(path, *samples, header=HEADER, how=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", how) as archive:
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        if header:
            archive.writestr("header.json", json.dumps(header))
    return path


def refusal(path):
    with pytest.raises(CorpusError) as refused:
        list(samples_in(path))
    return str(refused.value).replace(str(path), "LOG")


def test_a_sample_has_its_conversation_answer_scores_and_metadata(tmp_path):
    (sample,) = samples_in(logged(tmp_path / "x.eval", SAMPLE))
    assert (sample.id, sample.epoch, sample.output, sample.target) == ("a", 1, "Yes.", ("yes", "indeed"))
    assert sample.input == ({"role": "user", "content": "Any tea?"},)
    assert [(message["role"], message["content"]) for message in sample.messages] == [
        ("system", "Be brief."),
        ("user", "Any tea?"),
        ("assistant", "Yes."),  # without the thoughts
    ]
    score = sample.scores["match"]
    assert (score.value, score.answer, score.explanation, score.metadata) == ("C", "Yes", "It says so.", {"by": "rule"})
    assert sample.metadata == {"key": "d1__t2"}
    assert sample.error is None
    header = header_of(tmp_path / "x.eval")
    assert (header.status, header.task, header.model) == ("success", "coffee", "openai/x")


def test_tool_calls_images_and_attachments_take_the_form_of_openai(tmp_path):
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Look."}, {"type": "image", "image": "attachment://f0"}]},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "function": "zoom", "arguments": {"by": 2}, "type": "function"}],
        },
        {"role": "tool", "content": "attachment://f1", "tool_call_id": "c1", "function": "zoom"},
        {"role": "assistant", "content": [{"type": "audio", "audio": "data:...", "format": "wav"}]},
    ]
    attachments = {"f0": "data:image/png;base64,AAAA", "f1": "done"}
    changed = SAMPLE | {
        "id": 7,
        "input": messages[:1],
        "messages": messages,
        "attachments": attachments,
        "scores": None,
    }
    (sample,) = samples_in(logged(tmp_path / "x.eval", changed))
    assert sample.id == "7"
    assert sample.messages == (
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look."},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ],
        },
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "zoom", "arguments": '{"by": 2}'}}],
        },
        {"role": "tool", "content": "done", "tool_call_id": "c1", "name": "zoom"},
        {"role": "assistant", "content": [{"type": "audio"}]},
    )


def test_a_sample_that_failed_has_its_error_and_no_answer(tmp_path):
    failed = {"output": {"choices": [], "completion": ""}, "error": {"message": "timeout", "traceback": "..."}}
    (sample,) = samples_in(logged(tmp_path / "x.eval", SAMPLE | failed | {"messages": [], "scores": None}))
    assert (sample.output, sample.error) == (None, "timeout")
    assert sample.messages == sample.input


def test_a_score_that_is_no_number_has_no_value(tmp_path):
    unscored = {"scores": {"judge": {"value": float("nan"), "explanation": "not read"}}}
    (sample,) = samples_in(logged(tmp_path / "x.eval", SAMPLE | unscored))
    assert sample.scores["judge"].value is None


def test_a_log_in_one_json_file_reads_like_the_zip_and_one_that_has_not_ended_as_far_as_it_is(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(HEADER | {"samples": [SAMPLE, SAMPLE | {"epoch": 2}]}))
    zipped = logged(tmp_path / "x.eval", SAMPLE, SAMPLE | {"epoch": 2}, header=None)
    of_file = {"source": "", "member": "", "size": 0}
    here, there = ([one.model_copy(update=of_file) for one in samples_in(log)] for log in (path, zipped))
    assert here == there
    assert [sample.epoch for sample in here] == [1, 2]
    assert header_of(path) == header_of(logged(tmp_path / "y.eval", SAMPLE))
    assert [content_of(log).kind for log in (path, zipped)] == [Kind.LOG, Kind.LOG]
    (tmp_path / "other.json").write_text("[]")
    (tmp_path / "x.jsonl").write_text("{}")
    assert {content_of(tmp_path / name).kind for name in ("other.json", "x.jsonl")} == {Kind.FILE}


def zstandard(path, name, data, crc=None, size=None):
    """A zip of one file in two Zstandard frames, as Inspect writes, made by hand since zipfile cannot."""
    half = len(data) // 2
    packed = b"".join(pyarrow.compress(part, "zstd", asbytes=True) for part in (data[:half], data[half:]))
    sizes = struct.pack("<III", zlib.crc32(data) if crc is None else crc, len(packed), size or len(data))
    fields = b"\0\0\x5d\0" + b"\0" * 4 + sizes + struct.pack("<HH", len(name), 0)
    local = b"PK\x03\x04\x3f\0" + fields + name.encode() + packed
    central = b"PK\x01\x02\x3f\0\x3f\0" + fields + b"\0" * 14 + name.encode()
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    path.write_bytes(local + central + end)
    return path


def test_zstandard_is_read_in_several_frames_and_checked(tmp_path):
    data = json.dumps(SAMPLE).encode()
    (sample,) = samples_in(zstandard(tmp_path / "x.eval", "samples/a_epoch_1.json", data))
    assert sample.output == "Yes."
    damaged = zstandard(tmp_path / "y.eval", "samples/a_epoch_1.json", data, crc=1)
    assert "LOG, samples/a_epoch_1.json: cannot be unpacked: Bad CRC-32" in refusal(damaged)
    bomb = zstandard(tmp_path / "z.eval", "samples/a_epoch_1.json", bytes(64 << 20), size=1000)
    before = pyarrow.default_memory_pool().max_memory()
    assert "LOG, samples/a_epoch_1.json: cannot be unpacked: Bad CRC-32" in refusal(bomb)
    assert pyarrow.default_memory_pool().max_memory() - before < 4 << 20, "one that lies about its size is not unpacked"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"epoch": 0}, "field 'epoch': input should be greater than or equal to 1, not 0"),
        ({"input": 3}, "field 'input.str': input should be a valid string, not 3"),
        ({"messages": [{"role": "robot", "content": ""}]}, "field 'messages[0].role': "),
        ({"metadata": {"a": "\0"}}, "field 'metadata.a': holds a NUL character, at character 1"),
        ({"output": None}, "field 'output': input should be an object, not null"),
    ],
)
def test_a_field_that_does_not_fit_is_named_with_its_sample(tmp_path, change, problem):
    path = logged(tmp_path / "x.eval", SAMPLE | change)
    assert refusal(path).startswith(f"LOG, samples/a_epoch_{change.get('epoch', 1)}.json, {problem}")


def test_what_is_no_log_is_refused(tmp_path):
    assert "no log of Inspect: neither header.json nor samples" in refusal(logged(tmp_path / "x.eval", header=None))
    assert refusal(logged(tmp_path / "x.eval")) == "LOG: the log has no samples; run Inspect so that it logs them"
    (tmp_path / "x.json").write_text('{"version": 2}')
    assert refusal(tmp_path / "x.json") == "LOG: no log of Inspect: it has no field 'eval'"
    (tmp_path / "x.json").write_text("{")
    assert refusal(tmp_path / "x.json").startswith("LOG, line 1: not JSON: ")
    assert refusal(tmp_path / "none.eval") == "LOG: there is no such file; give a log of Inspect, `.eval` or `.json`"
    twice = tmp_path / "twice.eval"
    with zipfile.ZipFile(twice, "w") as archive:
        for name in "ab":
            archive.writestr(f"samples/{name}.json", json.dumps(SAMPLE))
    assert refusal(twice) == "LOG, samples/b.json, field 'id': the sample 'a' is in the log twice in epoch 1"


def test_a_log_is_read_in_bounded_memory(tmp_path, monkeypatch):
    path = logged(tmp_path / "x.eval", SAMPLE, SAMPLE | {"id": "b"})
    size = len(json.dumps(SAMPLE))
    monkeypatch.setattr(inspect_log, "_LARGEST_SAMPLE", size - 1)
    assert refusal(path) == f"LOG, samples/a_epoch_1.json: larger than {size - 1:,} bytes when unpacked"
    monkeypatch.setattr(inspect_log, "_LARGEST_LOG", 2 * size - 1)
    assert refusal(path) == "LOG: its samples have more than 0 MiB when unpacked"
