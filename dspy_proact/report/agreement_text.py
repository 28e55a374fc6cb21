from dspy_proact.report.agreement import Agreement
from dspy_proact.report.numbers import coefficient, counted, percent, points


def agreement_lines(agreement: Agreement) -> list[str]:
    """Two gradings of the same responses, in sentences; neither is the truth."""
    first, second = agreement.first, agreement.second
    if not agreement.responses:
        return [f"{first} and {second}: no response was graded by both."]
    labels = list(agreement.table)
    flips = [(a, b, agreement.table[a][b]) for a in labels for b in labels if a != b and agreement.table[a][b]]
    flipped = ", ".join(f"{a} -> {b} {count}" for a, b, count in flips) or "none"
    quotes = [f"{e.verified} of {e.checked}" for e in agreement.evidence]
    return [
        f"{first} and {second} on {counted(agreement.responses, 'response')}: same grade {percent(agreement.exact)} %, "
        f"quadratic kappa {coefficient(agreement.kappa)}.",
        f"flips from the first to the second: {flipped}. Mean score of the second minus the first: "
        f"{points(agreement.shift)} points.",
        f"verdicts with a quote that stands in the response: {quotes[0]} and {quotes[1]}.",
    ]
