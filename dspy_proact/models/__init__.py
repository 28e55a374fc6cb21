"""Models: a litellm name becomes a `dspy.LM` behind the gate, or the embedded stand-in."""

from dspy_proact.models.allowed import AllowedModels
from dspy_proact.models.embedder import EMBEDDER, Embedder, open_embedder
from dspy_proact.models.engine import one_by_one, wait_for
from dspy_proact.models.gate import Cost, Gate, Limits
from dspy_proact.models.image_tokens import image_tokens
from dspy_proact.models.model import AnyModel, Model, open_model
from dspy_proact.models.prices import count_tokens, tokenizer_name
from dspy_proact.models.spec import EMBEDDED, PRESETS, ModelSpec, Role, decoding, without_secrets
