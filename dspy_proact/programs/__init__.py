"""What DSPy programs of ours are built of: ways to ask, adapters, cards."""

from dspy_proact.programs.card import Card, CardRow, CardUsage, DataSource, Provenance, tokens_ratio
from dspy_proact.programs.direct import Direct
from dspy_proact.programs.fenced_json import FencedJSON, ask_plainly
