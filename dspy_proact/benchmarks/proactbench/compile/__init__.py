"""What ProactBench compiles: the assistant and the judge."""
