"""What agents of PROBE find items with, and how far each result goes."""

from dspy_proact.benchmarks.probe.tools.database import COLUMNS, Database
from dspy_proact.benchmarks.probe.tools.observation import Observation, cut
from dspy_proact.benchmarks.probe.tools.ranking import Embed, MeaningRanking, Ranking, WordRanking, ranked
from dspy_proact.benchmarks.probe.tools.record import Record
from dspy_proact.benchmarks.probe.tools.toolbox import Tool, Toolbox

__all__ = [
    "COLUMNS",
    "Database",
    "Embed",
    "MeaningRanking",
    "Observation",
    "Ranking",
    "Record",
    "Tool",
    "Toolbox",
    "WordRanking",
    "cut",
    "ranked",
]
