"""The judge, tuned to people's ratings and tested on items that it has not seen."""
