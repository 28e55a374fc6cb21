"""The making of corpora: stages of one program over a log of calls, whatever the benchmark."""
