"""Compiling: programs tuned on some units and tested on others, with a card of gains and costs."""
