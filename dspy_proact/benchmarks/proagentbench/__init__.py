"""ProAgentBench: when a person at a computer seeks help, and with what."""
