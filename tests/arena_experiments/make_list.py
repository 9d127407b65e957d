"""Script for experiments.csv: the experiments of the arena, written down before any of them was run.

Families of data sets are dealt to the two halves in turn, in an order drawn by lot, so no family is in both. Each data
set has ten experiments (nine with three or more classes). Models are dealt in turn from a shuffled deck, and so are
numbers of calibration rows. Changing this file or its seed changes the list, so it is not to be run again.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from tests.arena_experiments.data_sets import DATA_SETS
from tests.arena_experiments.models import MODELS

LIST = Path(__file__).with_name("experiments.csv")
COLUMNS = ("kind", "dataset", "model", "train", "calibration", "test", "seed", "half")
SEED = 20260528
LEAST_TEST, MOST_TEST = 2_000, 10_000


class Deck:
    """Cards that are dealt in turn, and shuffled whenever all were dealt."""

    def __init__(self, cards: tuple[object, ...], rng: np.random.Generator) -> None:
        self.cards, self.rng, self.left = cards, rng, list[object]()

    def deal(self, fits: object = None) -> object:
        for _ in range(2):
            for card in self.left:
                if fits is None or fits(card):  # type: ignore[operator]
                    self.left.remove(card)
                    return card
            self.left += [self.cards[i] for i in self.rng.permutation(len(self.cards))]
        raise AssertionError("no card fits")


def lines() -> list[dict[str, object]]:
    rng = np.random.default_rng(SEED)
    families = sorted({each.family or each.name for each in DATA_SETS.values()})
    order = [families[i] for i in rng.permutation(len(families))]
    halves = {family: ("tuning", "held back")[i % 2] for i, family in enumerate(order)}
    models = Deck(tuple(MODELS), rng)
    sizes = {2: Deck((100, 200, 500, 1000, 2000, 5000, 20000), rng), 3: Deck((200, 500, 1000, 2000, 5000, 20000), rng)}
    found = []
    for each in DATA_SETS.values():
        kind = "binary" if each.classes == 2 else "multiclass"
        for seed in range(10 if kind == "binary" else 9):
            least = max(400, 40 * each.classes)
            most = each.rows - LEAST_TEST - least
            calibration = int(sizes[min(each.classes, 3)].deal(lambda size, most=most: size <= most))  # type: ignore[call-overload]
            train = int(rng.choice([size for size in (400, 800, 1200, 2000) if least <= size]))
            train = min(train, each.rows - LEAST_TEST - calibration)
            test = min(MOST_TEST, each.rows - train - calibration)
            values = (kind, each.name, models.deal(), train, calibration, test, seed, halves[each.family or each.name])
            found.append(dict(zip(COLUMNS, values, strict=True)))
    return found


if __name__ == "__main__":
    with LIST.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines())
