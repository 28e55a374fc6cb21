"""What a token costs, from litellm's bundled price map. Nothing is looked up over the network.

A run is priced once, from its usage totals.
"""

from dspy.clients.model_metadata import model_info

from dspy_proact.calls import Price
from dspy_proact.models.route import Route

EMBEDDED_PRICE = Price(prompt=0.0, completion=0.0, reason="the embedded model costs nothing")


def find_price(route: Route) -> Price:
    """The list price of a model, as the bundled map has it."""
    known = model_info(route.provider, route.model.partition("/")[2] or route.model)
    prompt, completion = known.get("input_cost_per_token"), known.get("output_cost_per_token")
    if prompt is None or completion is None:
        return Price(reason=f"litellm's bundled map has no price for {route.model}")
    cached = known.get("cache_read_input_token_cost")
    return Price(prompt=prompt, completion=completion, cached=cached, reason="list price in litellm's bundled map")
