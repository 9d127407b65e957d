"""Scores of a rare event that rank rows by chance are distinguished from a useful model with few events."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy

from calib_core.readers import Reading
from calib_core.readers.checks.shuffled_labels import no_better_than_chance, ranking
from calib_core.readers.checks.subject import Subject
from calib_core.readers.table import Table


def rare(events: int, area: float, seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Return risks of a rare event, all below one half, with this area under the ROC curve."""
    rng = np.random.default_rng(seed)
    z, y = rng.normal(size=n), np.zeros(n, dtype=int)
    y[:events] = 1
    z[:events] += np.sqrt(2) * scipy.stats.norm.ppf(area)
    return scipy.special.expit(z - 6).round(6), y


@pytest.mark.parametrize(("events", "area"), [(5, 0.78), (20, 0.75), (60, 0.72)])
def test_a_useful_model_of_a_rare_event_is_no_better_than_chance_in_one_draw_of_a_hundred_at_most(
    events: int, area: float
) -> None:
    n = 200
    doubted = sum(doubtful(*rare(events, area, seed)) for seed in range(n))
    assert doubted <= scipy.stats.binom.ppf(0.999, n, 0.01)


def test_shuffled_labels_of_an_event_are_seen_where_events_are_enough() -> None:
    rng = np.random.default_rng(0)
    seen = 0
    for seed in range(100):
        p, y = rare(60, 0.75, seed)
        seen += doubtful(p, rng.permutation(y))
    assert seen >= 90


def doubtful(p: np.ndarray, y: np.ndarray) -> bool:
    table = Table("a.csv", "csv", {"p": p, "y": y})
    reading = Reading(scores=("p",), label=("y",), classes=("0", "1"))
    return bool(list(no_better_than_chance(Subject(table, reading))))


def test_a_share_of_pairs_in_order_is_counted_by_hand() -> None:
    scores, outcomes = np.array([0.1, 0.4, 0.4, 0.4, 0.9, 0.9]), np.array([0, 1, 0, 0, 1, 0], dtype=bool)
    found = ranking(scores, outcomes)
    assert found is not None
    pairs = [(a > b) + (a == b) / 2 for a in scores[outcomes] for b in scores[~outcomes]]
    assert found.area == pytest.approx(np.mean(pairs))
    orders = [(scores[list(two)], np.delete(scores, two)) for two in itertools.combinations(range(6), 2)]
    areas = [np.mean([(a > b) + (a == b) / 2 for a in two for b in rest]) for two, rest in orders]
    assert found.spread == pytest.approx(np.std(areas))
