"""The programs that work a task of PROBE.

agent       calls                     looks by
single      1                         everything at once: the published setting
stages      3                         search, identify, resolve
react       up to turns + 1           tools, one by one
reflexion   up to turns + 2 a trial   the same, judging itself and trying again
rewoo       2, 1 a question           tools and questions to itself, all planned beforehand
"""

from dspy_proact.benchmarks.probe.agents.programs import AGENTS
