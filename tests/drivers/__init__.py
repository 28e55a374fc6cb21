"""What tests drive the package with: processes, a terminal, a browser, clients of a model, raters."""
