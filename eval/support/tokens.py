"""Tokens of texts, by the encoding that litellm bundles."""

import os
from functools import cache
from importlib.metadata import distribution
from typing import Any
from unittest import mock


def o200k_tokens(text: str) -> int:
    """Tokens of a text in the encoding of OpenAI's models from GPT-4o on."""
    return len(_encoding().encode(text, disallowed_special=()))


@cache
def _encoding() -> Any:
    import tiktoken

    # tiktoken downloads it where this names no folder that holds it.
    # litellm itself, imported before the package, would ask the network for prices.
    folder = distribution("litellm").locate_file("litellm/litellm_core_utils/tokenizers")
    with mock.patch.dict(os.environ, TIKTOKEN_CACHE_DIR=str(folder)):
        return tiktoken.get_encoding("o200k_base")
