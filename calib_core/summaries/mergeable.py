"""Summary: mergeable exact counts for predictions of any size, plus a sample of rows.

The sample consists of the rows with the smallest keys, so that parts and their union choose the same rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib_core._base.arrays import Codes, Float64s, Floats, FloatType, ReadOnly, frozen
from calib_core._base.notebook_display import OneLine
from calib_core._base.pandas_input import coded_texts
from calib_core.claims.binary_claims import ColumnClaims
from calib_core.defaults import SEED
from calib_core.predictions.predictions import (
    InputError,
    Kind,
    NotAnswerable,
    Predictions,
    check_same_rows,
)
from calib_core.reductions.base import scope
from calib_core.summaries.cells import CELLS, Cells, PairCells
from calib_core.summaries.counted_claims import (
    NEEDS_ROWS,
    NORMAL,
    CountedClaims,
    CountedRows,
    LossSums,
    claim_losses,
    counted_losses,
    loss_sums,
)
from calib_core.text import count

_VALUES, _ROWS = 1_000_000, 10_000
"""Maximum number of values and of rows in a sample."""


def sample_size(n_classes: int) -> int:
    """Number of sampled rows: 10,000, or fewer for wide rows.

    >>> sample_size(10), sample_size(1000)
    (10000, 1000)
    """
    return max(100, min(_ROWS, _VALUES // max(n_classes, 1)))


@dataclass(frozen=True, eq=False, repr=False)
class Sample(ReadOnly, OneLine):
    """The ``size`` rows with the smallest keys, ascending: keys (m,), scores (m, K), labels (m,), predicted or empty.

    A key is a hash of (seed, source, row number), so the sample depends neither on the rows' values nor on chunks.
    """

    size: int
    keys: NDArray[np.uint64]
    scores: Floats
    labels: Codes
    predicted: Codes

    @classmethod
    def of(cls, predictions: Predictions, size: int, seed: int, source: str, first_row: int) -> Sample:
        """Return the sample of these rows, numbered from ``first_row`` in their source."""
        keys = row_keys(seed, source, first_row, predictions.n_rows)
        # No two rows have the same key, so the smallest ones are sorted alone.
        kept = np.argpartition(keys, size)[:size] if size < len(keys) else np.arange(len(keys))
        kept = kept[np.argsort(keys[kept])]
        rows = predictions.take(kept)
        matrix = rows.kind in ("full", "per-class")
        scores = np.asarray(rows.probs if matrix else rows.confidence[:, None])
        labels = rows.correct.astype(np.intp) if rows.kind == "confidence" else rows.true_labels
        predicted = rows.predicted if rows.kind == "top-label" else np.zeros(0, dtype=np.intp)
        return cls(
            size, frozen(keys[kept]), frozen(np.array(scores)), frozen(np.array(labels)), frozen(np.array(predicted))
        )

    @classmethod
    def together(cls, several: Sequence[Sample]) -> Sample:
        """Return the sample of the union, independent of the order."""
        fields = ("keys", "scores", "labels", "predicted")
        every = {name: np.concatenate([getattr(each, name) for each in several]) for name in fields}
        keys, size = every["keys"], min(each.size for each in several)
        ways: tuple[Any, ...] = (keys,)
        if len(np.unique(keys)) < len(keys):  # a repeated row number: the rows' values decide
            ways = (*every["scores"].T[::-1], every["labels"], keys)
        kept = np.lexsort(ways)[:size]
        return cls(size, *(frozen(a[kept] if len(a) else a) for a in every.values()))

    def predictions(self, kind: Kind, class_names: tuple[str, ...] | None) -> Predictions:
        """Return the rows as predictions of their kind."""
        if kind == "full":
            return Predictions(self.scores, self.labels, class_names=class_names)
        if kind == "per-class":
            return Predictions.from_scores(self.scores, self.labels, class_names=class_names)
        h = self.scores[:, 0]
        if kind == "confidence":
            return Predictions.from_confidence(h, self.labels.astype(bool))
        return Predictions.from_confidence(h, predicted=self.predicted, labels=self.labels, class_names=class_names)

    def _line(self) -> str:
        return f"{len(self.keys):,} rows of at most {self.size:,}"


def row_keys(seed: int, source: str, first_row: int, n_rows: int) -> NDArray[np.uint64]:
    """Pseudorandom number for each row, independent of chunks.

    >>> row_keys(0, "a", 0, 3)[1:].tolist() == row_keys(0, "a", 1, 2).tolist()
    True
    """
    start = int.from_bytes(hashlib.sha256(f"{seed}\0{source}".encode()).digest()[:8], "little")
    x = np.arange(first_row, first_row + n_rows, dtype=np.uint64)
    # The finalizer of SplitMix64 (Steele, Lea and Flood 2014) is a bijection, so rows of a source never tie.
    x = x * np.uint64(0x9E3779B97F4A7C15) + np.uint64(start)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def kept_together(summaries: Mapping[str, Predictions | Summary]) -> dict[str, Predictions]:
    """Return the rows that all summaries sampled, in the same order, so that models can be compared in pairs.

    ``summaries``: two or more, by name. Rows are considered the same if their number in a source of the same name and
    the seed agree (``row_keys``), and labels do, too. NotAnswerable if they do not, or if something is not a summary.
    What can mislead: bare confidences have no labels, so different rows from files of the same name would not be
    noticed.

    >>> from calib_core.summaries import Summary
    >>> rows = Predictions([[0.7, 0.3]] * 3, [0, 1, 0]), Predictions([[0.6, 0.4]] * 3, [0, 1, 0])
    >>> one, two = (Summary.of(p, source="test") for p in rows)
    >>> {name: p.n_rows for name, p in kept_together({"one": one, "two": two}).items()}
    {'one': 3, 'two': 3}
    """
    known = {name: each for name, each in summaries.items() if isinstance(each, Summary)}
    if len(known) < len(summaries):
        raise NotAnswerable("only summaries have sampled rows, but some of these models are not summaries")
    samples = [each.kept_rows for each in known.values()]
    size = min(len(sample.keys) for sample in samples)
    if not size or any((sample.keys[:size] != samples[0].keys[:size]).any() for sample in samples):
        raise NotAnswerable(
            "these summaries have samples of different rows, so no row is known for all models. Create each with the "
            "same name for its rows (calib summarise --rows-of NAME)"
        )
    rows = {name: each.sample.take(np.arange(size)) for name, each in known.items()}
    first = next(iter(rows.values()))
    for other in rows.values():
        try:
            check_same_rows(first, other)
        except InputError as why:
            raise NotAnswerable(
                f"the sampled rows of these summaries have the same numbers but are different rows: {why}"
            ) from why
    return rows


MOST_CLASS_CELLS = 250_000
"""Claims about every class are counted up to this number of classes times grid cells."""
MOST_VALUES = 200
"""Maximum number of slice values of a column."""


@dataclass(frozen=True, eq=False, repr=False)
class Summary(CountedRows, OneLine):
    """Exact counts on a fine grid, and a sample of rows, for predictions of any size.

    It replaces predictions in most functions: ``estimate(summary, "top-label", "ece", bins=15)``. Binned results on
    edges of the grid (1 to 25, 30, 50, 100 or 1,000 bins of equal width, and coarser ones) equal those of the rows to
    the last bit. Log loss, Brier score and accuracy are exact to 2^-41 per row. Analyses that need rows raise
    NotAnswerable.

    Parts of the rows can be summarized separately, in any order and on any machine. ``merge`` is associative and
    commutative to the last bit, because every number is rounded once, to a multiple of 2^-40, and sums are integers.

    What can mislead: it contains no rows except its ``sample``. Bins between the grid's edges are refused, and so are
    groups of related rows and row weights, which counts would lose.

    >>> p = Predictions([[0.7, 0.3], [0.2, 0.8], [0.6, 0.4]], [0, 1, 1])
    >>> whole = Summary.of(p)
    >>> parts = Summary.of(p.take([0, 1])).merge(Summary.of(p.take([2]), first_row=2))
    >>> whole.n_rows, round(whole.accuracy, 3), whole.same_as(parts)
    (3, 0.667, True)
    """

    kind: Kind
    class_names: tuple[str, ...] | None
    dtype: FloatType
    top_cells: Cells
    class_cells: Cells | None
    label_counts: Codes | None
    losses: Mapping[str, LossSums]
    slices: Mapping[str, Mapping[str, Cells]]
    kept_rows: Sample
    notes: tuple[str, ...] = ()
    class_pairs: PairCells | None = None
    outcome: str = ""

    # -- construction --------------------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        predictions: Predictions,
        columns: Sequence[str] = (),
        *,
        seed: int = SEED,
        source: str = "",
        first_row: int = 0,
    ) -> Summary:
        """Summarize these rows.

        Parameters
        ----------
        predictions : independent rows of equal weight (whole-number weights count as copies).
        columns : metadata columns whose values become slices, each of at most 200 values.
        seed, source, first_row : a hash of (seed, source, row number) determines the sampled rows. They are numbered
            from ``first_row``, so parts of one source need their positions in it.

        >>> Summary.of(Predictions([[0.7, 0.3]], [0])).n_rows
        1
        """
        rows = summable(predictions)
        k = rows.n_classes
        known = rows.kind != "confidence"
        h, right = rows.confidence, rows.correct
        every = rows.kind in ("full", "per-class") and (k or 0) * CELLS <= MOST_CLASS_CELLS
        whole = rows.kind == "full"
        return cls(
            rows.kind,
            rows.class_names,
            h.dtype,
            Cells.of(h, right, rows.predicted if known else None, k or 1),
            _cells_of_classes(rows, k or 1) if every else None,
            frozen(np.bincount(rows.true_labels, minlength=k or 0)) if known else None,
            {key: loss_sums(rows, key) for key in ("brier", "log-loss")}
            if whole
            else {"brier": claim_losses(h, right)},
            {column: _sliced(rows, column) for column in columns},
            Sample.of(predictions if rows is predictions else rows, sample_size(k or 1), seed, source, first_row),
            tuple(dict.fromkeys(rows.notes)),
            PairCells.of(_about_every_class(rows)) if every else None,
            rows.outcome,
        )

    def add(
        self, predictions: Predictions, *, seed: int = SEED, source: str = "", first_row: int | None = None
    ) -> Summary:
        """Return the summary with additional rows, by default those that follow in the same source."""
        start = self.n_rows if first_row is None else first_row
        part = type(self).of(predictions, tuple(self.slices), seed=seed, source=source, first_row=start)
        return self.merge(part)

    def merge(self, *others: Summary) -> Summary:
        """Return the summary of all rows; InputError if kinds, classes, slices or precisions differ."""
        return merged([self, *others])

    # -- the interface of predictions ----------------------------------------------------------------------

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.top_cells.n_claims

    @cached_property
    def top_sums(self) -> Float64s:
        """Number, score sum and outcome sum of the top-label claims, (3,)."""
        over = self.top_cells.over_strata().over(1)
        return np.array([over.count[0, 0], over.score[0, 0], over.outcome[0, 0]])

    @property
    def accuracy(self) -> float:
        """Share of rows whose predicted class is right."""
        return float(self.top_sums[2] / self.n_rows)

    @property
    def mean_confidence(self) -> float:
        """Mean confidence."""
        return float(self.top_sums[1] / self.n_rows)

    @property
    def sample(self) -> Predictions:
        """Sampled rows, chosen by a hash of their number: at most 10,000, or fewer for many classes.

        NotAnswerable for a slice, which has no sample.
        """
        if not len(self.kept_rows.keys):
            raise NotAnswerable("slices of a summary have no sampled rows; remove the filter")
        return self.kept_rows.predictions(self.kind, self.class_names)

    def mean_loss(self, score: str) -> float:
        """Return the mean "brier" score or "log-loss" of whole predictions; NotAnswerable if these are unknown."""
        return self.whole_losses(score).mean("seen")

    def whole_losses(self, score: str) -> LossSums:
        """Return the exact sums of a score of whole predictions."""
        if self.kind != "full" or score not in self.losses:
            raise NotAnswerable(
                "this summary contains only claims about predicted classes, or rows that need not sum to 1, so the "
                "score of whole predictions is unknown. Use the original rows"
            )
        return self.losses[score]

    @property
    def of_event(self) -> Summary:
        """The same counts with the losses of the risk of two classes' event: of the Brier score half of the sum.

        NotAnswerable where the losses of whole predictions are not known.
        """
        halved = self.whole_losses("brier").halved()
        return replace(self, losses={**self.losses, "brier": halved})

    def calibrated_scores(self, score: str, rng: np.random.Generator, draws: int) -> Float64s:
        """Simulate ``draws`` values of a score for perfectly calibrated rows with these claims.

        Accuracy: outcomes are binomial in each cell at its mean score, slightly more variable than with individual
        scores. Scores "brier" and "log-loss": normal distribution, if the Berry-Esseen ratio is at most ``NORMAL``;
        else NotAnswerable.
        """
        if score == "accuracy":
            cells = self.top_cells.over_strata()
            share = np.clip(cells.sums.value[0] / cells.count, 0.0, 1.0)
            return np.asarray(rng.binomial(cells.count, share, (draws, len(share))).sum(axis=1) / self.n_rows)
        sums = self.whole_losses(score)
        spread = np.sqrt(sums.mean("variance"))
        if sums.mean("third") > NORMAL * spread**3 * np.sqrt(sums.rows):
            raise NotAnswerable(NEEDS_ROWS.format("the noise floor of few or nearly certain rows"))
        return np.asarray(sums.mean("expected") + spread / np.sqrt(sums.rows) * rng.standard_normal(draws))

    # -- claims by notion ----------------------------------------------------------------------------------

    def claims(self, notion: Any) -> CountedClaims:
        """Return the claims of the rows in a notion; NotAnswerable for notions that need rows."""
        of, names = scope(notion), self.class_names or ()
        if of.of == "classes":
            cells, shares = self._every_class(), notion.shares(self)
            return CountedClaims(cells, names, shares, self.dtype, same_rows=True, pairs=self.class_pairs)
        if of.of in ("class", "event"):
            cls = int(notion.cls if of.of == "class" else self.event or 0)
            cells = self._every_class().stratum(cls)
            return CountedClaims(cells, names[cls : cls + 1], np.ones(1), self.dtype)
        if of.of != "top":
            raise NotAnswerable(NEEDS_ROWS.format("this notion"))
        if not of.by_class:
            return CountedClaims(self.top_cells.over_strata(), ("all rows",), np.ones(1), self.dtype)
        if not names:
            raise NotAnswerable(
                "this summary has only (confidence, correct), so predicted classes are unknown; use the rows"
            )
        counts = self.top_cells.over(len(names)).count[:, 0]
        return CountedClaims(self.top_cells, names, np.asarray(counts / counts.sum()), self.dtype)

    def of_single_claims(self, cells: Cells) -> Summary:
        """Return a summary of (confidence, correct) with these cells: no classes, slices or rows are known."""
        nothing = np.zeros(0, dtype=np.intp)
        sample = replace(
            self.kept_rows,
            keys=nothing.astype(np.uint64),
            scores=np.zeros((0, 1), dtype=self.dtype),
            labels=nothing,
            predicted=nothing,
        )
        return replace(
            self,
            kind="confidence",
            class_names=None,
            top_cells=cells,
            class_cells=None,
            class_pairs=None,
            label_counts=None,
            losses={"brier": counted_losses(cells)},
            slices={},
            kept_rows=sample,
        )

    @property
    def rows_of_classes(self) -> Codes:
        """Number of rows by true class, (K,)."""
        if self.label_counts is None:
            raise NotAnswerable("this summary has only (confidence, correct), so labels are unknown; use the rows")
        return self.label_counts

    @property
    def label_shares(self) -> Float64s:
        """Share of rows by true class, (K,)."""
        return np.asarray(self.rows_of_classes / self.n_rows)

    def slice_claims(self, column: str, value: str) -> CountedClaims:
        """Return the top-label claims of the rows with one value of a slice column.

        >>> import pandas as pd
        >>> p = Predictions([[0.7, 0.3]] * 2, [0, 1], metadata=pd.DataFrame({"site": ["a", "b"]}))
        >>> Summary.of(p, ["site"]).slice_claims("site", "a").cells.n_claims
        1
        """
        values = self.slices.get(column)
        if values is None or value not in values:
            known = ", ".join(f"{name} ({', '.join(list(v)[:5])})" for name, v in self.slices.items()) or "none"
            raise NotAnswerable(f"this summary has no slice {column} = {value}; its slices: {known}")
        return CountedClaims(values[value], (f"{column} = {value}",), np.ones(1), self.dtype)

    def _every_class(self) -> Cells:
        if self.class_cells is not None:
            return self.class_cells
        if self.kind not in ("full", "per-class"):
            raise NotAnswerable(
                "this summary has only the predicted class and its confidence, so probabilities of other classes are "
                "unknown. Use the original rows"
            )
        raise NotAnswerable(
            f"a summary counts claims about every class only up to {MOST_CLASS_CELLS // CELLS} classes, not "
            f"{count(self.n_classes or 0)}; use the original rows"
        )

    def same_as(self, other: Summary) -> bool:
        """True if both have the same numbers, to the last bit."""
        return _numbers(self) == _numbers(other)

    def _line(self) -> str:
        classes = "" if self.n_classes is None else f", {self.n_classes} classes"
        return f"{self.kind}, {self.n_rows:,} rows{classes}, accuracy {self.accuracy:.4f}"


def merged(summaries: Sequence[Summary]) -> Summary:
    """Merge summaries: the result is the same to the bit for any order and any partition of the rows.

    >>> a, b = (Summary.of(Predictions([[0.7, 0.3]], [y]), first_row=y) for y in (0, 1))
    >>> merged([a, b]).same_as(merged([b, a]))
    True
    """
    first = summaries[0]
    for other in summaries[1:]:
        _check_alike(first, other)
    if len(summaries) == 1:
        return first
    slices = {
        column: {
            value: Cells.together([s.slices[column][value] for s in summaries if value in s.slices[column]])
            for value in sorted({value for s in summaries for value in s.slices[column]})
        }
        for column in first.slices
    }
    for column, values in slices.items():
        _check_few(column, len(values))
    counts = [s.label_counts for s in summaries if s.label_counts is not None]
    classes = [s.class_cells for s in summaries if s.class_cells is not None]
    return replace(
        first,
        top_cells=Cells.together([s.top_cells for s in summaries]),
        class_cells=Cells.together(classes) if classes else None,
        label_counts=frozen(np.sum(counts, axis=0)) if counts else None,
        losses={key: LossSums.together([s.losses[key] for s in summaries]) for key in first.losses},
        slices=slices,
        kept_rows=Sample.together([s.kept_rows for s in summaries]),
        notes=tuple(sorted({note for s in summaries for note in s.notes})),
        class_pairs=PairCells.together([s.class_pairs for s in summaries]),
        outcome=first.outcome if {s.outcome for s in summaries} == {first.outcome} else "",
    )


def summable(predictions: Predictions) -> Predictions:
    """Return the rows to count, integer weights expanded to copies; NotAnswerable if counts would lose information."""
    if predictions.row_groups is not None:
        raise NotAnswerable(
            f"these rows are in {predictions.row_groups.words}, and counts would lose the groups. Remove the group "
            "only if the rows are independent"
        )
    if predictions.abstained is not None:
        raise NotAnswerable(
            "the model abstained in some rows, but a summary counts every row; summarize only the answered ones"
        )
    if predictions.discrete:
        raise NotAnswerable(
            "these outputs have few values and use one bin per value, which a grid cannot represent. Summarize the "
            "original predictions, or call as_discrete(False) first"
        )
    rows = predictions.written_out()
    if rows.weights is not None:
        raise NotAnswerable("a summary counts rows, but these weights are not counts of copies; leave out the weights")
    return rows


def _cells_of_classes(rows: Predictions, n_classes: int) -> Cells:
    """Return the claims about every class, column by column."""
    labels = rows.true_labels
    return Cells.side_by_side([Cells.of(rows.rows.column(j), labels == j) for j in range(n_classes)])


def _about_every_class(rows: Predictions) -> ColumnClaims:
    names = rows.class_names or ()
    return ColumnClaims(rows.rows, rows.true_labels, names, np.full(len(names), 1.0 / len(names)))


def _sliced(rows: Predictions, column: str) -> dict[str, Cells]:
    """Return the top-label claims for each value of a metadata column, as text; "" for missing values."""
    if rows.metadata is None or column not in rows.metadata:
        known = "none" if rows.metadata is None else ", ".join(map(str, rows.metadata.columns))
        raise InputError(f"the rows have no column {column!r} for slices; their metadata columns: {known}")
    codes, values = coded_texts(rows.metadata[column])
    _check_few(column, len(values))
    places = {value: codes == i for value, i in sorted([*zip(values, range(len(values)), strict=True), ("", -1)])}
    return {value: Cells.of(rows.confidence[mine], rows.correct[mine]) for value, mine in places.items() if mine.any()}


def _check_few(column: str, values: int) -> None:
    if values > MOST_VALUES:
        raise InputError(
            f"column {column!r} has at least {count(values)} values; a summary can have slices for {MOST_VALUES} at "
            "most. Choose a column of groups, or leave it out"
        )


def _check_alike(first: Summary, other: Summary) -> None:
    for what, a, b in (
        ("kinds of predictions", first.kind, other.kind),
        ("classes", first.class_names, other.class_names),
        ("precisions of scores", first.dtype.name, other.dtype.name),
        ("columns of slices", tuple(first.slices), tuple(other.slices)),
    ):
        if a != b:
            raise InputError(
                f"summaries of different {what} cannot be merged ({str(a)[:80]} and {str(b)[:80]}); create them alike"
            )


def _numbers(summary: Summary) -> list[Any]:
    """Return all numbers of a summary except its notes, in comparable form."""
    cells = [summary.top_cells, summary.class_cells, *(c for v in summary.slices.values() for c in v.values())]
    arrays: list[Any] = [summary.label_counts, *vars(summary.kept_rows).values()]
    arrays += [a for c in cells if c is not None for a in vars(c).values()]
    arrays += [a for each in summary.losses.values() for a in vars(each).values()]
    if (pairs := summary.class_pairs) is not None:
        sums = pairs.sums
        arrays += [pairs.numbers, sums.rows, sums.most]
        arrays += [a for exact in (sums.residual, sums.claimed, sums.sizes) for a in (exact.whole, exact.part)]
    names = [summary.kind, summary.class_names, summary.dtype.name, {c: list(v) for c, v in summary.slices.items()}]
    return [names, *((a.shape, a.tobytes()) if isinstance(a, np.ndarray) else a for a in arrays)]
