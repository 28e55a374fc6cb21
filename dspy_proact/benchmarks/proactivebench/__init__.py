"""ProactiveBench: images that do not show what is asked, and what helps to see it."""
