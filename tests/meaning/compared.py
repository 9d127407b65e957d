"""Input of a twin, and the comparison of its results with the frame of an exhibit."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cache

import by_hand
import numpy as np
import pandas as pd
import rows

from dashboard.exhibits import EXHIBITS

TWINS = {}
"""Twin of every exhibit, by its key."""

EXACT, WEAK, WORDS = "recomputed", "by a relation", "words"


def twin(*keys):
    """Register a function that recomputes the columns of these exhibits."""

    def register(function):
        TWINS.update(dict.fromkeys(keys, function))
        return function

    return register


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as plain arrays: probabilities if there are any, claims, true classes."""

    probs: np.ndarray | None
    h: np.ndarray
    predicted: np.ndarray | None
    label: np.ndarray | None
    right: np.ndarray
    answered: np.ndarray
    names: tuple[str, ...]
    discrete: bool

    def only(self, which):
        """Return some of the rows."""
        parts = (None if part is None else part[which] for part in (self.probs, self.h, self.predicted, self.label))
        return Rows(*parts, self.right[which], self.answered[which], self.names, self.discrete)

    @property
    def kept(self):
        """Return the rows that the model answers."""
        return self.only(self.answered)

    def __len__(self):
        return len(self.h)

    def claims(self, notion):
        """Return (scores, outcomes) of each stratum of a notion, and the weights of the strata."""
        k = len(self.names)
        if notion == "event":
            return [(self.probs[:, 1], self.label == 1)], [1.0]
        if notion == "confidence":
            return [(self.h, self.right)], [1.0]
        if notion == "class-wise":
            return [(self.probs[:, c], self.label == c) for c in range(k)], [1 / k] * k
        chosen = [self.predicted == c for c in range(k)]
        strata = [(self.h[mask], self.right[mask]) for mask in chosen if mask.any()]
        return strata, [len(scores) / len(self) for scores, _ in strata]

    def error(self, notion, p=1, bins=15):
        """Return the plug-in error in a notion; bins of the confidence, or one bin per value for discrete outputs."""
        strata, weights = self.claims(notion)
        cells = [self.cells(scores, bins) for scores, _ in strata]
        found = [by_hand.lp_error(*claims, cell, p) for claims, cell in zip(strata, cells, strict=True)]
        if p == math.inf:
            return max(found)
        return sum(w * e**p for w, e in zip(weights, found, strict=True)) ** (1 / p)

    def cells(self, scores, bins=15):
        """Return the bins of these scores."""
        return by_hand.values_of(scores) if self.discrete else by_hand.cells_of(scores, by_hand.edges_of(bins))


def plain(predictions):
    """Return predictions of the library as plain arrays."""
    full = predictions.kind == "full"
    named = predictions.kind != "confidence"
    silent = np.zeros(predictions.n_rows, bool) if predictions.abstained is None else predictions.abstained
    return Rows(
        np.asarray(predictions.probs, float) if full else None,
        np.asarray(predictions.confidence, float),
        np.asarray(predictions.predicted) if named else None,
        np.asarray(predictions.labels) if named else None,
        np.asarray(predictions.correct, bool),
        ~np.asarray(silent),
        predictions.class_names or (),
        predictions.discrete,
    )


@dataclass(frozen=True, eq=False)
class Data:
    """Data on screen: every model's test rows by title, the base model's calibration rows, the file."""

    name: str
    scene: object
    models: dict
    fit: Rows
    bins: int = 15

    @property
    def base(self):
        return next(iter(self.models.values()))

    @property
    def title(self):
        return next(iter(self.models))

    @property
    def file(self):
        return rows.files(self.name).test

    @property
    def of_event(self):
        return self.name in ("risk", "year")

    @property
    def notion(self):
        """Return the default subject of every page."""
        return "event" if self.of_event else "confidence"

    def claim(self, model):
        """Return (scores, outcomes) for the default subject, of the rows that a model answers."""
        (found,), _ = model.kept.claims(self.notion)
        return found

    @property
    def alike(self):
        """Return every model over the rows that all of them answer."""
        every = np.logical_and.reduce([model.answered for model in self.models.values()])
        return {title: model.only(every) for title, model in self.models.items()}

    @property
    def columns(self):
        """Return the metadata columns."""
        return [name for name in ("site", "age") if name in self.file]

    @property
    def kinds(self):
        """Return the number of kinds of places: bins, slices, and three of classes if these are known."""
        return {"three": 5, "risk": 2, "levels": 2}[self.name]

    def slices(self, column):
        """Return the positions of the rows of each value of a column; of numbers in four ranges of about equal size."""
        values = self.file[column]
        if values.nunique() <= 20:
            return {f"{column} = {value}": np.flatnonzero(values == value) for value in sorted(values.unique())}
        e = self.cuts
        names = [f"below {e[0]}", f"{e[0]} to {e[1]}", f"{e[1]} to {e[2]}", f"{e[2]} or more"]
        ends = zip([-math.inf, *e], [*e, math.inf], strict=True)
        parts = [np.flatnonzero((values >= low) & (values < high)) for low, high in ends]
        assert all(0.2 <= len(part) / len(values) <= 0.3 for part in parts), list(map(len, parts))
        return {f"{column} {name}": part for name, part in zip(names, parts, strict=True)}

    @property
    def cuts(self):
        """Return the cut points of ages, read from the names of slices; about a quarter of the rows is in each."""
        shown = " ".join(self.scene.get(EXHIBITS.make("slice-columns").table(self.scene))["slice"])
        return sorted({int(edge) for edge in re.findall(r"age (?:below )?(\d+)", shown)})


@cache
def data_of(name, **choices):
    """Return a set of data with these choices on screen."""
    scene = rows.scene(name, **choices)
    models = {model.title: plain(scene.get(model.predictions)) for model in scene.models.shown}
    if choices.get("bins"):  # those that are chosen win over what outputs are declared to be
        models = {title: replace(model, discrete=False) for title, model in models.items()}
    fit = plain(scene.get(scene.models.shown[0].division.part("fit")))
    return Data(name, scene, models, fit, choices.get("bins", 15))


class Compared:
    """Frame with the columns that a twin has checked, and the kind of check."""

    def __init__(self, frame):
        self.frame, self.seen = frame, {}

    def same(self, name, values, rel=1e-9, least=1e-12):
        """Check that the column has these values: numbers up to rounding, all else exactly."""
        found, values = self.frame[name].tolist(), list(values)
        assert len(found) == len(values), (name, len(found), len(values))
        for i, (here, there) in enumerate(zip(found, values, strict=True)):
            if isinstance(there, str | bool | np.bool_) or there is None:
                assert here == there or (there is None and pd.isna(here)), (name, i, here, there)
            elif there != there:
                assert here is None or here != here, (name, i, here, there)
            else:
                assert abs(here - there) <= rel * abs(there) + least, (name, i, here, there)
        self.seen[name] = EXACT

    def all_same(self, table, rel=1e-9):
        """Check that the columns have the values of a table: by name, or a list of lines."""
        table = pd.DataFrame(table)
        for name in table.columns:
            self.same(name, table[name].tolist(), rel)

    def holds(self, where, *names):
        """Check a relation of these columns that swaps and slips would break."""
        assert np.all(where), (names, self.frame[list(names)][~np.broadcast_to(where, len(self.frame))])
        for name in names:
            self.seen.setdefault(name, WEAK)

    def words(self, *names):
        """Mark these columns as words about numbers in other columns."""
        for name in names:
            assert all(isinstance(text, str) or pd.isna(text) for text in self.frame[name]), name
            self.seen[name] = WORDS

    @property
    def unseen(self):
        return [name for name in self.frame.columns if name not in self.seen]
