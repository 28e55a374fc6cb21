"""Tokens of texts, by the encoding that litellm bundles."""

import litellm


def o200k_tokens(text: str) -> int:
    """Tokens of a text in the encoding of OpenAI's models from GPT-4o on."""
    litellm.token_counter(model="gpt-4o", text="")  # after which tiktoken reads litellm's copy
    import tiktoken

    return len(tiktoken.get_encoding("o200k_base").encode(text, disallowed_special=()))
