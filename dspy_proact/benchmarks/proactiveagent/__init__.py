"""ProactiveAgent: traces of events, agents that propose help, a judge of proposals, and people's votes."""
