"""Models: a litellm name becomes a `dspy.LM` behind the gate, or the embedded stand-in."""

from dspy_proact.models.budget import Cost, Limits
from dspy_proact.models.decoding import PRESETS, Preset, decoding
from dspy_proact.models.embedder import EMBEDDER, Embedder, open_embedder
from dspy_proact.models.gate import Gate
from dspy_proact.models.identity import ModelIdentity
from dspy_proact.models.model import Model, open_model
from dspy_proact.models.record import Answered, Record
from dspy_proact.models.role import Role, StandIn
from dspy_proact.models.route import Backend
from dspy_proact.models.spec import EMBEDDED, ModelSpec
from dspy_proact.models.tokens import count_tokens, o200k_tokens, tokenizer_name

__all__ = [
    "EMBEDDED",
    "EMBEDDER",
    "PRESETS",
    "Answered",
    "Backend",
    "Cost",
    "Embedder",
    "Gate",
    "Limits",
    "Model",
    "ModelIdentity",
    "ModelSpec",
    "Preset",
    "Record",
    "Role",
    "StandIn",
    "count_tokens",
    "decoding",
    "o200k_tokens",
    "open_embedder",
    "open_model",
    "tokenizer_name",
]
