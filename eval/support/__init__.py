"""What several programs here share: simulators, and a provider that fails like real ones."""
