"""What DSPy programs of ours are built of: ways to ask and adapters; `artefact` and `card` have a compiled one."""

from dspy_proact.programs.direct import Direct
from dspy_proact.programs.fenced_json import FencedJSON, ask_plainly
