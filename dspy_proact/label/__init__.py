"""Human labels, collected in the browser: what is rated, who rates it, the log of ratings, and the pages.

`items` makes what is rated from runs, `store` keeps every rating, `assignment` decides who rates what, and `app` serves
the pages. Nothing here knows a benchmark: the form is made from its declaration.
"""
