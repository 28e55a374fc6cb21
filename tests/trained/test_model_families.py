"""The family of a model by its name: providers' prefixes, fine-tunes, distilled models, and names of nobody's."""

import pytest

from dspy_proact.trained.families import families_of


@pytest.mark.parametrize(
    ("names", "families"),
    [
        (
            ("anthropic/claude-opus-4-7", "openrouter/anthropic/claude-3.5-haiku", "vertex_ai/claude-3@20240229"),
            "anthropic",
        ),
        (("bedrock/us.anthropic.claude-3-5-sonnet-20240620-v1:0", "anthropic/a-name-of-next-year"), "anthropic"),
        (
            ("gpt-5.4", "azure/our-gpt4o", "openai/o3-mini", "openrouter/openai/gpt-oss-120b", "chatgpt-4o-latest"),
            "openai",
        ),
        (("gemini/gemini-2.5-pro", "ollama/gemma3:4b"), "google"),
        (("hosted_vllm/Qwen/Qwen3-0.6B", "ollama/qwen3:8b", "Qwen/QwQ-32B"), "qwen"),
        (("groq/llama-3.3-70b", "meta-llama/Meta-Llama-3-8B"), "meta"),
        (("mistral/open-mixtral-8x7b", "mistral/magistral-medium"), "mistral"),
        (("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B",), "deepseek qwen"),
    ],
)
def test_a_family_is_known_whatever_the_provider(names, families):
    assert {families_of(name) for name in names} == {frozenset(families.split())}


def test_of_a_fine_tune_the_model_counts_and_not_what_somebody_called_it():
    assert families_of("ft:gpt-4o-mini-2024-07-18:acme:claude-like:9x") == {"openai"}
    assert families_of("openai/ft:gpt-4o:acme::9x") == {"openai"}


def test_an_unknown_name_is_a_family_by_its_first_word():
    assert families_of("openai/judge-7") == families_of("hosted_vllm/acme/Judge_8") == {"judge"}
    # Whoever serves a model of its own by OpenAI's protocol does not make it OpenAI's.
    assert families_of("openai/policy").isdisjoint(families_of("openai/gpt-5"))
    assert families_of("embedded") == {"embedded"}


@pytest.mark.parametrize("name", ["", ":", "123", "a/", "ft:"])
def test_a_name_without_a_word_is_a_family_of_its_own(name):
    assert len(families_of(name)) == 1
