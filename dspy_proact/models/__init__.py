"""Models: a litellm name becomes a `dspy.LM` behind the gate, or the embedded stand-in.

a name, its parameters and endpoint     spec, endpoint, server, prices, allowed
a model that can be called              model, embedder
the way of a call                       logged, engine, gate (budget, slots, pacing, health), clients
many requests as one batch              batch/
the form of its request                 request_form, prompt_cache, tokens
an answer                               replies, thoughts
a failure                               faults, error_body, too_long, redaction
what is relied on in DSPy               dspy_internals
"""

from dspy_proact.models.allowed import AllowedModels
from dspy_proact.models.batch import Batching
from dspy_proact.models.budget import Cost, Limits
from dspy_proact.models.embedder import EMBEDDER, Embedder, open_embedder
from dspy_proact.models.engine import one_by_one, wait_for
from dspy_proact.models.gate import Gate
from dspy_proact.models.model import AnyModel, Model, open_model
from dspy_proact.models.spec import EMBEDDED, PRESETS, ModelSpec, Role, decoding, without_secrets
from dspy_proact.models.tokens import count_tokens, image_tokens, tokenizer_name
