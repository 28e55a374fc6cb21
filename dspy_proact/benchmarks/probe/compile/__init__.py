"""PROBE's agents, tuned on tasks of some people and tested on those of others."""
