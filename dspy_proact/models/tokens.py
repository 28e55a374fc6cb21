"""How many tokens a prompt has, by litellm's bundled tokenizers. Nothing is downloaded."""

from typing import Any

from dspy_proact.models.route import import_litellm
from dspy_proact.models.spec import EMBEDDED

FALLBACK = "tiktoken, a fallback: exact for OpenAI's models only"
_CHARACTERS_A_TOKEN = 4


def count_tokens(model: str, messages: list[dict[str, Any]]) -> int:
    """Tokens of the messages, as `litellm.token_counter` counts them; four characters each for the embedded model."""
    if model == EMBEDDED:
        return sum(len(message["content"]) for message in messages) // _CHARACTERS_A_TOKEN
    litellm = import_litellm()
    litellm.disable_hf_tokenizer_download = True
    return litellm.token_counter(model=model, messages=messages)


def o200k_tokens(text: str) -> int:
    """Tokens of a text in the encoding of OpenAI's models from GPT-4o on."""
    import_litellm().token_counter(model="gpt-4o", text="")  # after which tiktoken reads litellm's copy
    import tiktoken

    return len(tiktoken.get_encoding("o200k_base").encode(text, disallowed_special=()))


def tokenizer_name(model: str) -> str:
    """Whose tokenizer counts the prompts of a model."""
    if model == EMBEDDED:
        return "four characters a token"
    return "tiktoken" if model.startswith("openai/") else FALLBACK
