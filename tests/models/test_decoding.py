import pytest

from dspy_proact.models import PRESETS, decoding
from dspy_proact.models.spec import takes_completion_limit

# The table of DESIGN.md, protocol 5: what the assistant is sent, what the judge is sent, and for which names.
REASONING = (
    {"temperature": 1.0, "max_tokens": 32768},
    {"temperature": 1.0, "max_tokens": 32768, "reasoning_effort": "medium"},
)
NEW_CLAUDE = ({"max_tokens": 8192}, {"max_tokens": 32768})
CLAUDE = ({"temperature": 0.7, "max_tokens": 8192}, {"temperature": 0.7, "max_tokens": 32768})
OTHER = (
    {"temperature": 0.7, "top_p": 1.0, "max_tokens": 8192},
    {"temperature": 0.7, "top_p": 1.0, "max_tokens": 32768},
)

ROWS = {
    "reasoning": (
        REASONING,
        [
            "gpt-5",
            "gpt-5.4",
            "gpt-5-mini-2025-08-07",
            "gpt-5.5-chat-latest",
            "GPT-5.4",
            "o1",
            "o1-preview",
            "o3",
            "o3-mini",
            "o4-mini-2025-04-16",
            "gemini-2.5-pro",
            "gemini-2.5-pro-preview-06-05",
        ],
    ),
    "claude from 4.7 on": (
        NEW_CLAUDE,
        [
            "claude-opus-4-7",
            "claude-opus-4.7",
            "claude-opus-4-7-20260115",
            "claude-opus-4.7-20260115",
            "claude-sonnet-4-8",
            "claude-opus-4-10",
            "claude-4-7-opus",
            "claude-sonnet-5",
            "claude-sonnet-5-20260801",
            "claude-haiku-5-1",
            "claude-haiku-5-1-20260801",
            "claude-opus-5.2",
            "claude-5-sonnet-20260801",
            "claude-opus-10",
            "Claude-Opus-4.7",
        ],
    ),
    "claude before 4.7": (
        CLAUDE,
        [
            "claude-2.1",
            "claude-instant-1.2",
            "claude-3-haiku-20240307",
            "claude-3-5-sonnet-20241022",
            "claude-3-7-sonnet-20250219",
            "claude-3.7-sonnet",
            "claude-3-7-sonnet-latest",
            "claude-opus-4-20250514",
            "claude-sonnet-4@20250514",
            "claude-4-opus-20250514",
            "claude-opus-4-1-20250805",
            "claude-sonnet-4-5",
            "claude-sonnet-4-5-20250929",
            "claude-sonnet-4.5",
            "claude-opus-4-6",
            "claude-opus-4-6-20260205",
        ],
    ),
    "all others": (
        OTHER,
        [
            "gpt-4o",
            "gpt-4.1-mini",
            "gpt-oss-120b",
            "gemini-2.5-flash",
            "gemini-2.0-pro",
            "llama-3.1-70b-instruct",
            "Qwen2.5-72B",
            "my-claude-sonnet-4-7",
            "not-gpt-5",
            "phi-o1",
            "any",
            "",
        ],
    ),
}
PREFIXES = ["", "openai/", "hosted_vllm/", "openrouter/vendor/", "vertex_ai/", "azure/", "a/b/c/"]


def test_every_row_of_the_table_has_its_names_here():
    assert len(PRESETS) == len(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_the_name_after_any_router_prefix_decides(row):
    sent, names = ROWS[row]
    for name in names:
        for prefix in PREFIXES:
            assert (decoding(prefix + name, "response"), decoding(prefix + name, "verdict")) == sent, prefix + name


@pytest.mark.parametrize(
    "name",
    ["bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock/us.anthropic.claude-3-7-sonnet-20250219-v1:0"],
)
def test_bedrocks_names_of_claude_are_claude(name):
    assert decoding(name, "response") == CLAUDE[0]  # top_p beside temperature would be refused


@pytest.mark.parametrize("suffix", [":free", ":beta", ":0", "@latest"])
def test_what_a_router_puts_behind_a_name_changes_nothing(suffix):
    assert decoding(f"openrouter/anthropic/claude-opus-4.7{suffix}", "verdict") == NEW_CLAUDE[1]
    assert decoding(f"openrouter/openai/o3{suffix}", "verdict") == REASONING[1]


def test_a_prefix_that_looks_like_a_model_decides_nothing():
    assert decoding("claude-proxy/gpt-4o", "response") == OTHER[0]
    assert decoding("o1/any", "response") == OTHER[0]


def test_overrides_replace_and_add():
    sent = decoding("any", "response", {"temperature": 0.0, "seed": 7})
    assert sent == {"temperature": 0.0, "top_p": 1.0, "max_tokens": 8192, "seed": 7}


def test_none_leaves_a_parameter_out():
    assert decoding("any", "verdict", {"temperature": None, "max_tokens": None}) == {"top_p": 1.0}
    assert decoding("any", "verdict", {"top_k": None}) == OTHER[1]


@pytest.mark.parametrize("value", [0, 0.0, False, "", []])
def test_a_value_that_is_merely_false_is_sent(value):
    assert decoding("any", "verdict", {"temperature": value})["temperature"] == value


def test_overrides_leave_the_table_as_it_was():
    decoding("gpt-5", "verdict", {"temperature": 0.1, "reasoning_effort": None})
    assert decoding("gpt-5", "verdict") == REASONING[1]


@pytest.mark.parametrize("name", ["gpt-5", "gpt-5.4-mini", "o1", "o3", "o4-mini", "GPT-5"])
def test_openais_reasoning_models_take_the_limit_as_completion_tokens(name):
    for prefix in PREFIXES:
        assert takes_completion_limit(prefix + name), prefix


@pytest.mark.parametrize(
    "name", ["gpt-4o", "gpt-oss-120b", "gemini-2.5-pro", "claude-opus-4-7", "o2", "any", "gpt-5/any"]
)
def test_all_others_take_max_tokens(name):
    assert not takes_completion_limit(name)
