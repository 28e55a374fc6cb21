"""PROBE as a benchmark: search for what matters, identify the one bottleneck, resolve it."""
