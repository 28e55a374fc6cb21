"""Models: a litellm name becomes a `dspy.LM` behind the gate, or the embedded stand-in."""

from dspy_proact.models.allowed import AllowedModels
from dspy_proact.models.budget import Cost, Limits
from dspy_proact.models.embedder import EMBEDDER, Embedder, open_embedder
from dspy_proact.models.engine import one_by_one, wait_for
from dspy_proact.models.gate import Gate
from dspy_proact.models.model import AnyModel, Model, open_model
from dspy_proact.models.spec import EMBEDDED, PRESETS, ModelSpec, Role, decoding, without_secrets
from dspy_proact.models.tokens import count_tokens, image_tokens, tokenizer_name
