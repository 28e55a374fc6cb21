from collections.abc import Mapping

from dspy_proact.report.proactbench.check import Check, weighted


def check_lines(check: Check) -> list[str]:
    """The faults in sentences, the gravest first."""
    dropped = check.dropped
    if dropped.by_phase is None:
        lines = [f"dropped triggers: cannot be known ({dropped.reason})."]
    else:
        phases = ", ".join(f"{phase} {count}" for phase, count in dropped.by_phase.items() if count)
        lines = [f"dropped triggers: {dropped.total}{f' ({phases})' if phases else ''}, {dropped.reason}."]
    strays = ", ".join(f"{label!r} {count}" for label, count in check.stray.items())
    named = (
        ("labels that the official evaluator loses", sum(check.stray.values()), strays),
        ("PASS or PARTIAL whose evidence is not in the response", len(check.unfound), _first(check.unfound)),
        ("PASS or PARTIAL without evidence", len(check.unquoted), _first(check.unquoted)),
        ("no response", len(check.missing), _first(check.missing)),
        ("empty response", len(check.empty), _first(check.empty)),
        ("response that ends within a sentence, so perhaps cut", len(check.cut), _first(check.cut)),
        ("response without a trigger", len(check.orphans), _first(check.orphans)),
    )
    lines += [f"{what}: {count}{f' ({which})' if which else ''}." for what, count, which in named]
    if check.misstated:
        lines.append(f"counts stated in the rows: {_told(check.stated)}; by their own labels: {_told(check.counted)}.")
    else:
        lines.append("counts stated in the rows agree with their labels.")
    if check.stated_triggers != check.triggers:
        lines.append(f"triggers stated in the rows: {check.stated_triggers}; there are {check.triggers}.")
    stated = ", ".join(f"{phase} {_percent(weighted(counts))}" for phase, counts in check.stated.items())
    recomputed = ", ".join(f"{phase} {_percent(score)}" for phase, score in check.recomputed.items())
    return [*lines, f"weighted score by the stated counts: {stated or 'none'}; recomputed: {recomputed}."]


def _told(counts: Mapping[str, Mapping[str, int]]) -> str:
    nonzero = {phase: [f"{label} {n}" for label, n in of.items() if n] for phase, of in counts.items()}
    return ", ".join(f"{phase} {'/'.join(told)}" for phase, told in nonzero.items() if told) or "none"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _first(keys: tuple[str, ...]) -> str:
    """The first of some keys, and how many more there are."""
    return f"{keys[0]}{f' and {len(keys) - 1} more' if len(keys) > 1 else ''}" if keys else ""
