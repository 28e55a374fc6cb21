"""What people thought of responses: the published study, the sample's author ratings, and studies of one's own.

All come as `Ratings`: items, rated or not, and ratings that fit them. A judge's grade of an item stands beside them
where it is known; nothing here says who is right.
"""

from dspy_proact.corpus.ratings.bundled import published_ratings
from dspy_proact.corpus.ratings.github import GitHub
from dspy_proact.corpus.ratings.items_file import read_rated_items
from dspy_proact.corpus.ratings.rated_item import RatedItem, scenario_of
from dspy_proact.corpus.ratings.rating import ASSUMED_CONFIDENCE, TimedRating
from dspy_proact.corpus.ratings.ratings import Coverage, Ratings
from dspy_proact.corpus.ratings.sheet import rating_template
from dspy_proact.corpus.ratings.source import RatingsSource
from dspy_proact.corpus.ratings.spec import load_ratings

__all__ = [
    "ASSUMED_CONFIDENCE",
    "Coverage",
    "GitHub",
    "RatedItem",
    "Ratings",
    "RatingsSource",
    "TimedRating",
    "load_ratings",
    "published_ratings",
    "rating_template",
    "read_rated_items",
    "scenario_of",
]
