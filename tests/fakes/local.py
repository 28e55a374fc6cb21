"""Stand-ins of the servers that people run themselves, as their sources and users quote them, on the local server.

Each says of itself what that server says, refuses in its words, and else answers as a healthy model would. A token is
four characters, and what a judge is asked is a verdict.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fakes.server import Answer, Sent, Server, healthy

Refusal = Callable[[int, int, int], str | dict[str, Any] | None]
"""The body of a refusal for tokens of the prompt, the answer's limit and the context; None where there is room."""


def _error(message: str, code: int = 400, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, "code": code, **fields}}


def _of_llama_cpp(prompt: int, _: int, context: int) -> dict[str, Any] | None:
    message = f"request ({prompt} tokens) exceeds the available context size ({context} tokens), try increasing it"
    numbers = {"type": "exceed_context_size_error", "n_prompt_tokens": prompt, "n_ctx": context}
    return _error(message, **numbers) if prompt > context else None


def _of_lm_studio(prompt: int, _: int, context: int) -> dict[str, Any] | None:
    message = (
        f"Trying to keep the first {prompt} tokens when context the overflows. However, the model is loaded with "
        f"context length of only {context} tokens, which is not enough. Try to load the model with a larger context "
        "length, or provide a shorter input"
    )
    return {"error": message} if prompt > context else None


def _of_vllm(prompt: int, limit: int, context: int) -> dict[str, Any] | None:
    message = (
        f"'max_tokens' or 'max_completion_tokens' is too large: {limit}. This model's maximum context length is "
        f"{context} tokens and your request has {prompt} input tokens ({limit} > {context} - {prompt})."
    )
    return _error(message, type="BadRequestError", param="max_tokens") if prompt + limit > context else None


def _of_old_vllm(prompt: int, limit: int, context: int) -> dict[str, Any] | None:
    message = (
        f"This model's maximum context length is {context} tokens. However, you requested {prompt + limit} tokens "
        f"({prompt} in the messages, {limit} in the completion). Please reduce the length of the messages or "
        "completion."
    )
    flat = {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400}
    return flat if prompt + limit > context else None


def _of_tgi(prompt: int, limit: int, context: int) -> dict[str, Any] | None:
    message = (
        f"Input validation error: `inputs` tokens + `max_new_tokens` must be <= {context}. "
        f"Given: {prompt} `inputs` tokens and {limit} `max_new_tokens`"
    )
    return {"error": message, "error_type": "validation"} if prompt + limit > context else None


@dataclass(frozen=True)
class LocalServer:
    """A kind of server, and how it is run."""

    refusal: Refusal | None
    """Of what is too long; None where prompts are cut in silence."""
    no_schema: tuple[int, str | dict[str, Any]]
    """Status and body where it refuses a schema."""
    too_long: int = 400
    """Status of a refusal for length."""
    context: int = 8192
    slots: int = 1
    refuses_schema: bool = False
    thinks: bool = False
    """Whether thoughts stand in the text of an answer."""
    counts: bool = True
    """Whether usage is sent."""
    says_context: Callable[["LocalServer"], dict[str, Any]] = lambda _: {}
    """What GETs find, by path."""

    def play(self, server: Server) -> None:
        """Let the local server be this one."""
        server.documents = self.says_context(self)
        server.script = self.answer

    def answer(self, sent: Sent) -> Answer:
        """What is answered to a request."""
        prompt, limit = len(json.dumps(sent.messages)) // 4, sent.body["max_tokens"]
        if (sent.body.get("response_format") or {}).get("type") == "json_schema" and self.refuses_schema:
            return _refused(*self.no_schema)
        if self.refusal and (body := self.refusal(prompt, limit, self.context)):
            return _refused(self.too_long, body)
        answer = healthy(
            replace(sent, role="judge" if "'grade'" in str(sent.body) or '"grade"' in str(sent.body) else "assistant")
        )
        usage = {"prompt_tokens": min(prompt, self.context), "completion_tokens": len(answer.content or "") // 4}
        text = f"<think>Label the lamp first?</think>\n{answer.content}" if self.thinks else answer.content
        return replace(answer, content=text, usage=usage if self.counts else None)


def _refused(status: int, body: str | dict[str, Any]) -> Answer:
    return Answer(status=status, raw=(body if isinstance(body, str) else json.dumps(body)).encode())


def _listed(**fields: Any) -> dict[str, Any]:
    return {"/v1/models": {"object": "list", "data": [{"id": "NAME", "object": "model", **fields}]}}


LLAMA_CPP = LocalServer(
    _of_llama_cpp,
    (500, _error("failed to parse grammar", 500, type="server_error")),
    says_context=lambda server: {
        **_listed(owned_by="llamacpp", meta={"n_ctx_train": 131_072}),
        "/props": {"default_generation_settings": {"n_ctx": server.context}, "total_slots": server.slots},
    },
)
OLLAMA = LocalServer(None, (400, _error('invalid format: expected "json" or a JSON schema in response_format')))
LM_STUDIO = LocalServer(
    _of_lm_studio,
    (400, {"error": "'response_format.type' must be 'text'"}),
    says_context=lambda _: _listed(owned_by="organization_owner"),
)
VLLM = LocalServer(
    _of_vllm,
    (400, _error("structured outputs backend is not available for this model", type="BadRequestError")),
    says_context=lambda server: _listed(owned_by="vllm", max_model_len=server.context),
)
OLD_VLLM = replace(
    VLLM,
    refusal=_of_old_vllm,
    no_schema=(400, {"object": "error", "message": "guided_json is not supported", "code": 400}),
)
TGI = LocalServer(
    _of_tgi,
    (
        422,
        "Failed to deserialize the JSON body into the target type: response_format.type: unknown variant "
        "`json_schema`, expected one of `json_object`, `json`, `regex` at line 1 column 301",
    ),
    too_long=422,
    says_context=lambda server: _listed() | {"/info": {"model_id": "NAME", "max_total_tokens": server.context}},
)
LOCAL_SERVERS = {
    "llama.cpp": LLAMA_CPP,
    "Ollama": OLLAMA,
    "LM Studio": LM_STUDIO,
    "vLLM": VLLM,
    "an older vLLM": OLD_VLLM,
    "TGI": TGI,
}
