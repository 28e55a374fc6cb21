"""A benchmark in plain DSPy: a program that answers, and a metric that asks a judge, by `dspy.Evaluate`.

    python eval/support/plain_dspy.py ROWS ADDRESS WIDTH

Each row has a conversation and a rubric. Nothing of this package is imported.
"""

import json
import sys
from pathlib import Path

import dspy

ANSWERS = {
    "plain-assistant": "[[ ## response ## ]]\n{response}\n\n[[ ## completed ## ]]",
    "plain-judge": "[[ ## reasoning ## ]]\n{reasoning}\n\n[[ ## grade ## ]]\nPASS\n\n[[ ## completed ## ]]",
}
"""What a server answers to the program and to the metric, in DSPy's form."""


def main(rows: str, address: str, width: str) -> None:
    """Score every row, and print the mean."""
    assistant, judge = (
        dspy.LM("openai/gpt-4o", api_base=f"{address}/{role}/v1", api_key="none", cache=False, max_tokens=8192)
        for role in ANSWERS
    )
    grade = dspy.ChainOfThought("conversation, rubric, response -> grade: str")
    grade.set_lm(judge)
    examples = [dspy.Example(**row).with_inputs("conversation") for row in json.loads(Path(rows).read_text("utf-8"))]

    def metric(example: dspy.Example, prediction: dspy.Prediction, _: object = None) -> bool:
        inputs = {"conversation": example.conversation, "rubric": example.rubric, "response": prediction.response}
        return grade(**inputs).grade == "PASS"

    dspy.configure(lm=assistant)
    evaluate = dspy.Evaluate(devset=examples, metric=metric, num_threads=int(width), display_progress=False)
    print(evaluate(dspy.Predict("conversation -> response")).score)


if __name__ == "__main__":
    main(*sys.argv[1:])
