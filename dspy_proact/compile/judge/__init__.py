"""The judge, tuned to people's labels and tested on labels that it has not seen."""
