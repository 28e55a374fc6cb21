import numpy as np
from dspy_proact.stats.disagreement import disagreement

from dspy_proact.stats import Weight, kappa

WEIGHTS: list[Weight] = ["none", "linear", "quadratic"]


def test_three_labels_by_hand():
    assert disagreement(3, "none").tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert disagreement(3, "linear").tolist() == [[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]]
    assert disagreement(3, "quadratic").tolist() == [[0, 0.25, 1], [0.25, 0, 0.25], [1, 0.25, 0]]


def test_one_label_cannot_disagree():
    assert all(disagreement(1, weight).tolist() == [[0]] for weight in WEIGHTS)


def test_it_is_what_kappa_weighs_with():
    table = np.array([[4, 1, 2, 0], [0, 3, 1, 1], [2, 0, 5, 1], [1, 1, 0, 6]])
    for weight in WEIGHTS:
        weights = disagreement(4, weight)
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        assert np.isclose(kappa(table, weight) or 0, 1 - np.sum(weights * table) / np.sum(weights * expected))
