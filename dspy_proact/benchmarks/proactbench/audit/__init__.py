"""What an audit sees of ProactBench's corpora, and what it checks in them."""
