"""Models: a litellm name becomes a `dspy.LM` behind the gate, or the embedded stand-in."""

from dspy_proact.models.decoding import PRESETS, Preset, decoding
from dspy_proact.models.gate import Gate
from dspy_proact.models.model import Model, open_model
from dspy_proact.models.price import Price
from dspy_proact.models.route import Backend

__all__ = ["PRESETS", "Backend", "Gate", "Model", "Preset", "Price", "decoding", "open_model"]
