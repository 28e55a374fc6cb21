"""The words of the judge and of the detector of offers, first version and the present one: tokens on the sample.

    python eval/judge_words.py

Prints two Markdown tables. The first has tokens (o200k_base) of a request, on average over the sample: of all of it; of
ours alone, which is a request whose texts are empty; of the texts as they are; and of what their form adds: marks,
margins, escapes, names of turns. Nobody is asked anything. The second has the worked cases of the judge's rules.
The first version stands in eval/first_words/ as it was sent.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from support.tokens import o200k_tokens

from dspy_proact import load_corpus, load_ratings
from dspy_proact.benchmarks.proactbench.cases import controls_of
from dspy_proact.benchmarks.proactbench.corpus.bundled import judge_cases, sample_control_responses
from dspy_proact.benchmarks.proactbench.programs import Judge, OfferDetector
from dspy_proact.benchmarks.proactbench.types import ControlView, JudgeView, Phase, Rubric, Turn

FIRST = Path(__file__).parent / "first_words"
View = JudgeView | ControlView
EMPTY = (Turn(user="", assistant=None),)


@dataclass(frozen=True)
class Request:
    view: View
    response: str


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    graded = [
        Request(item.view, item.text or "") for item in load_ratings("sample").items if isinstance(item.view, JudgeView)
    ]
    turns = {case.key: ControlView.model_validate(case.view) for case in controls_of(load_corpus("sample"))}
    seen = [Request(turns[response.case], response.text) for response in sample_control_responses()]
    print("| who | version | requests | tokens | ours | texts | form |\n| --- | --- | --- | --- | --- | --- | --- |")
    for phase in Phase:
        of_phase = [item for item in graded if isinstance(item.view, JudgeView) and item.view.rubric.phase is phase]
        rubric = Rubric(phase=phase, pass_criteria="", partial_criteria="", fail_criteria="")
        empty = Request(JudgeView(conversation=EMPTY, turn=1, rubric=rubric), "")
        print(*rows(f"judge, {phase}", empty, of_phase), sep="\n")
    empty = Request(ControlView(conversation=EMPTY, turn=1), "")
    print(*rows("detector of offers", empty, seen), sep="\n")
    print("\n| rule | case | grade | why |\n| --- | --- | --- | --- |")
    for case in judge_cases():
        print(f"| {case.rule} | {case.name} | {case.label} | {case.why} |")


def rows(who: str, empty: Request, requests: Sequence[Request]) -> Iterator[str]:
    """A row a version."""
    texts = fmean(sum(map(o200k_tokens, texts_of(request))) for request in requests)
    versions: dict[str, Callable[[Request], str]] = {"first": first, "now": now}
    for version, words in versions.items():
        total, ours = fmean(o200k_tokens(words(request)) for request in requests), o200k_tokens(words(empty))
        numbers = " | ".join(f"{number:,.0f}" for number in (total, ours, texts, total - ours - texts))
        yield f"| {who} | {version} | {len(requests)} | {numbers} |"


def first(request: Request) -> str:
    """What the first version sent."""
    view, name = request.view, "judge" if isinstance(request.view, JudgeView) else "offers"
    system, user = (FIRST.joinpath(f"{name}_{part}.txt").read_text("utf-8") for part in ("system", "user"))
    shown = {
        "conversation": json.dumps([turn.model_dump() for turn in view.conversation], ensure_ascii=False),
        "turn": str(view.turn),
        "rubric": json.dumps(view.rubric.model_dump(), ensure_ascii=False) if isinstance(view, JudgeView) else "",
        "response": "\n".join(f"| {line}" for line in request.response.splitlines()),
    }
    for field, text in shown.items():
        user = user.replace(f"## {field} ## ]]\n{{{field}}}", f"## {field} ## ]]\n{text}")
    return system + user


def now(request: Request) -> str:
    """What is sent now where a model takes no schema, which is the most."""
    view = request.view
    sent = (
        Judge().messages(view.inputs(request.response))
        if isinstance(view, JudgeView)
        else OfferDetector().messages(view.inputs(request.response))
    )
    return "\n".join(message["content"] for message in sent)


def texts_of(request: Request) -> list[str]:
    texts = [text for turn in request.view.conversation for text in (turn.user, turn.assistant or "")]
    rubric = request.view.rubric.model_dump(exclude={"phase"}) if isinstance(request.view, JudgeView) else {}
    return [*texts, *rubric.values(), request.response]


if __name__ == "__main__":
    main()
