"""Human labels, collected in the browser: what is rated, who rates it, the log of ratings, and the pages.

`study` has what is rated of runs and what raters give, `store` keeps it, and `assignment` decides who rates what.
`serving` begins a study and serves it, `app` has the pages and the writes, `access` says which requests are let in, and
`quality` says how a study stands. `exchange` gives its ratings to what reads ratings and adds those of other files, and
`offline` has a page for a rater without a network. `reviews` keeps what people say of the items of a corpus, and
`review` has the pages on which they do. Nothing here knows a benchmark: the form is made from its declaration.
"""
