"""Stand-ins for what the package talks to: model servers, a data hub, the official package."""
