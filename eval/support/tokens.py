"""Tokens of texts, by the encoding that litellm bundles."""

import os
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import litellm


def o200k_tokens(text: str) -> int:
    """Tokens of a text in the encoding of OpenAI's models from GPT-4o on."""
    return len(_encoding().encode(text, disallowed_special=()))


@cache
def _encoding() -> Any:
    import tiktoken

    # tiktoken downloads it where this names no folder that holds it.
    folder = Path(litellm.__file__).parent / "litellm_core_utils" / "tokenizers"
    with mock.patch.dict(os.environ, TIKTOKEN_CACHE_DIR=str(folder)):
        return tiktoken.get_encoding("o200k_base")
