"""A step of TRL's trainers on exported rows, with a model of a few thousand random weights, on the CPU."""

import asyncio
import copy

import datasets
import pytest
from fakes.server import Answer, verdict

from dspy_proact import Evaluation, Gate, ModelSpec, Rejudging, Responses, RunFolder, Scope, reward, summarize
from dspy_proact.exchange.training_rows import export_dpo, export_rl, export_sft
from dspy_proact.runs import CONTROL

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.usefixtures("proactbench"),
    # Of trainers and what they import.
    pytest.mark.filterwarnings("default"),
    pytest.mark.timeout(600),
]
torch = pytest.importorskip("torch", reason="needs the extra `train`")
trl = pytest.importorskip("trl", reason="needs the extra `train`")
TEMPLATE = (
    "{% for message in messages %}{{ message['role'] + ' : ' + message['content'] + ' <end> ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant :' }}{% endif %}"
)
SPOKEN = ["You", "could", "label", "the", "boxes", "today", "and", "then", "rest", "."]
WORDS = ["<pad>", "<end>", "<unknown>", "user", "assistant", "system", ":", *SPOKEN]


@pytest.fixture
def policy():
    """A model of 4,000 weights that says random words, and its tokenizer."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unknown>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<end>", unk_token="<unknown>", chat_template=TEMPLATE
    )
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=len(WORDS), pad_token_id=0, eos_token_id=1, tie_word_embeddings=True, **sizes)
    model = LlamaForCausalLM(config)
    assert sum(weight.numel() for weight in model.parameters()) < 10_000
    return model, tokenizer


@pytest.fixture
def rows(tmp_path):
    """The folder with runs of the sample, and rows of them."""
    Evaluation("sample").run(tmp_path / "bare", Scope(controls=True))
    keys = reward("proactbench", split=None).cases
    table = [{"key": key, "response": "That is done."} for key in keys]
    Rejudging(Responses.of_rows(table, "terse")).run(tmp_path / "terse", Scope(controls=True))
    runs = [summarize(tmp_path / name) for name in ("bare", "terse")]
    export_rl(runs, tmp_path / "prompts.jsonl")
    export_dpo(runs, tmp_path / "pairs.jsonl", 0.5)
    export_sft(runs, tmp_path / "passed.jsonl")
    return tmp_path


def read(path):
    cache = str(path.with_name("cache"))
    return datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=cache)


def options(folder, **more):
    common = {"output_dir": str(folder / "out"), "max_steps": 1, "report_to": [], "use_cpu": True, "bf16": False}
    return {**common, "per_device_train_batch_size": 4, "logging_steps": 1, "save_strategy": "no", "seed": 0, **more}


def weights(model):
    return torch.cat([weight.detach().flatten().clone() for weight in model.parameters()])


def test_a_step_of_grpo_by_the_reward_changes_the_model_and_a_repeated_one_is_graded_from_the_log(server, rows, policy):
    def judged(sent):
        # As good as the text is long, to the digit: completions differ.
        return Answer(verdict(["PASS", "PARTIAL", "FAIL"][len(sent.messages[-1]["content"]) % 3]))

    server.script = judged
    judge = ModelSpec(name="openai/j", api_base=server.judge)
    rewarding = reward("proactbench", judge, out=rows / "rewards", gate=Gate(retries=0, backoff=0.0))
    prompts = read(rows / "prompts.jsonl")
    prompts = prompts.filter(lambda row: row["split"] == "train" and row["stratum"] != CONTROL)
    model, tokenizer = policy
    start = {name: value.clone() for name, value in model.state_dict().items()}

    def step():
        model.load_state_dict(start)
        before = weights(model)
        settings = trl.GRPOConfig(
            **options(rows, learning_rate=0.1, num_generations=4, max_completion_length=12, temperature=1.0, beta=0.0)
        )
        trainer = trl.GRPOTrainer(
            model, reward_funcs=rewarding, args=settings, train_dataset=prompts, processing_class=tokenizer
        )
        trainer.train()
        (logged,) = [log for log in trainer.state.log_history if "reward" in log]
        return logged, float((weights(model) - before).abs().max())

    logged, change = step()
    assert change > 0
    scored = [event for event in RunFolder(rewarding.out).events() if event.grade]
    requests = len(server.sent)
    assert requests >= len(scored) > 0
    worth = [event.grade.score for event in scored]
    assert min(worth) <= logged["reward"] <= max(worth)
    again, _ = step()
    assert again["reward"] == logged["reward"]
    assert len(server.sent) == requests, "the same completions are graded once"
    rewarding.close()


def test_what_has_no_grade_moves_nothing(server, rows, policy):
    """TRL leaves a None out of the mean of its group, and gives it no advantage."""
    server.script = lambda sent: Answer("no verdict")
    judge = ModelSpec(name="openai/j", api_base=server.judge)
    rewarding = reward("proactbench", judge, out=rows / "rewards", gate=Gate(retries=0, backoff=0.0))
    key = next(iter(rewarding.cases))
    assert asyncio.run(rewarding(None, ["You could rest ."], [key])) == [None]
    prompts = read(rows / "prompts.jsonl").filter(lambda row: row["key"] == key)
    model, tokenizer = policy
    before = weights(model)
    settings = trl.GRPOConfig(**options(rows, learning_rate=0.1, num_generations=4, max_completion_length=4, beta=0.0))
    trainer = trl.GRPOTrainer(
        model, reward_funcs=rewarding, args=settings, train_dataset=prompts, processing_class=tokenizer
    )
    trainer.train()
    assert torch.equal(weights(model), before)
    rewarding.close()


@pytest.mark.parametrize("kind", ["DPO", "SFT"])
def test_a_step_on_answers_changes_the_model(kind, rows, policy):
    model, tokenizer = policy
    before = weights(model)
    settings = getattr(trl, f"{kind}Config")(**options(rows, learning_rate=0.1, max_length=None))
    data = read(rows / ("pairs.jsonl" if kind == "DPO" else "passed.jsonl"))
    reference = {"ref_model": copy.deepcopy(model)} if kind == "DPO" else {}
    kinds = {"args": settings, "train_dataset": data, "processing_class": tokenizer, **reference}
    trainer = getattr(trl, f"{kind}Trainer")(model, **kinds)
    trainer.train()
    assert float((weights(model) - before).abs().max()) > 0
    assert any("loss" in log for log in trainer.state.log_history)
