"""Requests answered in batches: collected into files, submitted, polled and resolved one by one.

how requests are collected              batching
the engine that collects them           batcher, wire
the protocols of providers              openai_batches, anthropic_batches, batch_client

Above it nothing knows of batches: each request is a task of its own that waits for its reply. The body of a request and
the reading of its reply are those of a plain call, because what stands here is the transport under the provider's own
client: it takes an HTTP request, and returns an HTTP response.
"""

from dspy_proact.models.batch.batching import Batching

__all__ = ["Batching"]
