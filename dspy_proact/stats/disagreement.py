from typing import Literal

import numpy as np
from numpy.typing import NDArray

Weight = Literal["none", "linear", "quadratic"]
"""How disagreement grows with the distance of two labels: any is 1, by steps, or by their square."""


def disagreement(labels: int, weight: Weight) -> NDArray[np.float64]:
    """How far each two labels disagree: shape (k, k), 0 on the diagonal, 1 between the ends.

    Args:
        labels: Number of labels in rising order, k.
        weight: Any two labels disagree by 1, by their steps, or by the steps' square.
    """
    steps = np.abs(np.subtract.outer(np.arange(labels), np.arange(labels))) / max(labels - 1, 1)
    match weight:
        case "none":
            return np.ceil(steps)
        case "linear":
            return steps
        case "quadratic":
            return steps**2
