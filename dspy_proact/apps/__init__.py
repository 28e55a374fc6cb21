"""An application of one's own as the assistant under test: a function, a module with models of its own, a service."""
