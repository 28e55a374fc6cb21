"""inspect-ai in a process of its own: it patches zipfile and asyncio, and warns of what its own libraries do.

python inspect_reader.py read FOLDER OUT     what it reads of the logs in a folder, as JSON; OUT gets their bundle
python inspect_reader.py write FOLDER        a log that it writes itself
"""

import json
import socket
import sys
from pathlib import Path


def _refused(*_: object, **__: object) -> None:
    raise OSError("no network in tests")


socket.getaddrinfo = _refused  # pyright: ignore[reportAttributeAccessIssue]


def read(folder: str, out: str) -> dict[str, object]:
    from inspect_ai.analysis import evals_df, samples_df
    from inspect_ai.log import bundle_log_dir, list_eval_logs, read_eval_log, read_eval_log_sample_summaries

    logs = {}
    for info in list_eval_logs(folder):
        log, header = read_eval_log(info.name), read_eval_log(info.name, header_only=True)
        assert header.samples is None
        logs[log.eval.task] = {
            "status": header.status,
            "model": header.eval.model,
            "scores": [score.model_dump() for score in header.results.scores],
            "usage": {name: usage.model_dump() for name, usage in header.stats.model_usage.items()},
            "samples": [
                sample.model_dump(mode="json", include={"id", "epoch", "input", "target", "scores", "error"})
                for sample in log.samples
            ],
            "answers": [sample.output.completion for sample in log.samples],
            "summaries": [
                summary.model_dump(mode="json", include={"id", "epoch", "error", "scores"})
                for summary in read_eval_log_sample_summaries(info.name)
            ],
        }
    frame = samples_df(folder)
    bundle_log_dir(folder, out)
    listed = json.loads((Path(out) / "logs" / "listing.json").read_text())
    return {
        "logs": logs,
        "evals": sorted(evals_df(folder)["task_name"]),
        "rows": len(frame),
        "columns": sorted(frame.columns),
        "bundle": sorted(listed),
    }


def write(folder: str) -> dict[str, object]:
    import inspect_ai
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import match

    def output(text: str) -> ModelOutput:
        made = ModelOutput.from_content("mockllm/model", text)
        made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it fetches a tokenizer
        return made

    chat = [ChatMessageUser(content="Tea?"), ChatMessageAssistant(content="Yes."), ChatMessageUser(content="Milk?")]
    task = inspect_ai.Task(
        name="tea",
        dataset=[
            Sample(id="a", input="Say yes.", target="yes", metadata={"key": "d1__t2"}),
            Sample(id=7, input=chat, target=["no", "never"]),
        ],
        scorer=match(),
    )
    model = get_model("mockllm/model", custom_outputs=[output("yes"), output("I would")] * 2)
    (log,) = inspect_ai.eval(task, model=model, epochs=2, max_samples=1, log_dir=folder, display="none")
    return {"status": log.status, "path": log.location, "error": log.error and log.error.message}


if __name__ == "__main__":
    print(json.dumps({"read": read, "write": write}[sys.argv[1]](*sys.argv[2:])))
