"""A package, so that its tests share one browser, which is closed before any other test."""
