"""What training did to a model: by whom it was rewarded, on what, and whether it is shown to be better."""
