"""What a program answered before in a chain: asked once for each program and chain, however many cases need it."""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from dspy_proact.evaluation.participant import fingerprint_of
from dspy_proact.runs import Case


def in_turns(cases: Sequence[Case]) -> list[Case]:
    """The first cases of all chains, with those of none, then the second ones, and so on: few wait for others."""
    turns = Counter[str]()

    def turn(case: Case) -> int:
        turns[case.chain] += bool(case.chain)
        return turns[case.chain]

    return sorted(cases, key=turn)


class ChainAnswers:
    """The answers of programs to the cases of chains, which are in the order of the benchmark.

    Several threads may ask at once: of one program and chain, one of them answers and the others wait.
    """

    def __init__(self, cases: Sequence[Case]):
        self._cases = defaultdict[str, list[Case]](list)
        for case in cases:
            if case.chain:
                self._cases[case.chain].append(case)
        self._turn = threading.Lock()
        self._known = dict[tuple[int, str, str], tuple[Any, threading.Lock, list[Any]]]()

    def before(
        self, program: Any, case: Case, answer: Callable[[Case, Sequence[Any]], Any | None]
    ) -> tuple[Any | None, ...]:
        """A program's answers to the cases before one in its chain; `answer` gives one after those before it."""
        cases = self._cases.get(case.chain, [case])
        count = [other.key for other in cases].index(case.key)
        if not count:
            return ()
        key = (id(program), fingerprint_of(program), case.chain)  # an optimizer may change a program in place
        with self._turn:
            _, turn, known = self._known.setdefault(key, (program, threading.Lock(), []))
        with turn:
            for other in cases[len(known) : count]:
                known.append(answer(other, tuple(known)))
            return tuple(known[:count])
