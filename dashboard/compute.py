"""The only caching: files by content hash, and everything derived from them by (hash, recipe).

Nothing here lets Streamlit hash data: it looks at a sample of large arrays only, so that two uploads can meet.
Keys are hashes of whole files together with frozen choices; two shelves, for files and for what is derived from
them, forget the least recently used things when they grow past their budget.
"""

from __future__ import annotations

import dataclasses
import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from calib_core import (
    BINNINGS,
    CALIBRATORS,
    ESTIMATORS,
    Estimate,
    InputError,
    NotAnswerable,
    Predictions,
    Recipe,
    diagrams,
    study,
)
from calib_core import estimate as cc_estimate
from calib_core.binning import tabulate
from calib_core.calibrators import Calibrator, Reduced
from calib_core.datasets import DEMOS, Demo, demo
from calib_core.inference import TestOfCalibration, kuiper, spiegelhalter
from calib_core.inference.counted import of_counts as counted
from calib_core.predictions import check_same_rows
from calib_core.readers import (
    Finding,
    Reading,
    Table,
    examine,
    predictions,
    propose,
    read_table,
    shared_rows,
    split_rows,
)
from calib_core.readers.labels import coded_labels
from calib_core.reductions import as_reduction
from calib_core.study import summaries
from dashboard.selection import BINS, Selection, Source, with_changes

T = TypeVar("T")

FILES_BUDGET = 2 << 30
DERIVED_BUDGET = 1 << 30


class Missing(InputError):
    """Data a link names that is not here."""


class Shelf:
    """Values by key, made once however many sessions ask at the same time, least recently used forgotten first."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._held: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Any | None:
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key][0]

    def put(self, key: Hashable, value: Any, size: int) -> None:
        with self._lock:
            self._held[key] = (value, size)
            self._held.move_to_end(key)
            while len(self._held) > 1 and sum(s for _, s in self._held.values()) > self._budget:
                self._held.popitem(last=False)

    def made(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """The value under key, made by the first who asks; the others wait for it."""
        with self._lock:
            turn = self._making.setdefault(key, threading.Lock())
        try:
            with turn:
                held = self.get(key)
                value: T = make() if held is None else held
                if held is None:
                    self.put(key, value, size(value))
        finally:
            with self._lock:
                self._making.pop(key, None)
        return value


@st.cache_resource(show_spinner=False)
def _files() -> Shelf:
    return Shelf(FILES_BUDGET)


@st.cache_resource(show_spinner=False)
def _derived() -> Shelf:
    return Shelf(DERIVED_BUDGET)


# -- files ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class File:
    """A file that was read: its identity, its table, how it is read by proposal, and where it came from.

    ``proposal`` is None where the table leaves a choice; ``question`` then says which.
    """

    key: str
    table: Table
    digest: str
    proposal: Reading | None
    question: str = ""
    demo: Demo | None = None

    @property
    def title(self) -> str:
        return self.demo.title if self.demo else self.table.name


def hold(data: bytes, name: str) -> File:
    """Read an upload and keep it under the hash of its content; InputError leaves everything as it was."""
    key = "sha256:" + hashlib.sha256(data).hexdigest()
    return _files().made(key, lambda: _read(key, data, name, None), _table_bytes)


def file(key: str) -> File:
    """The file a key names: a demo, or an upload that is still held."""
    if key.startswith("demo:"):
        return _files().made(key, lambda: _read_demo(key), _table_bytes)
    held: File | None = _files().get(key)
    if held is None:
        raise Missing(
            "The link is about an uploaded file that is not here (its content hash begins with "
            f"{key.removeprefix('sha256:')[:8]!r}): upload the same file again and the picture returns."
        )
    return held


def _read_demo(key: str) -> File:
    for one in DEMOS:
        if key == f"demo:{one.key}":
            data, name = demo(one.key)
            return _read(key, data, name, one)
    raise Missing(f"There is no demo data set {key[:80]!r}: choose one in the Data view.")


def _read(key: str, data: bytes, name: str, one: Demo | None) -> File:
    table = read_table(data, name)
    digest = key.removeprefix("sha256:") if one is None else hashlib.sha256(data).hexdigest()
    try:
        return File(key, table, digest, propose(table), demo=one)
    except InputError as why:
        return File(key, table, digest, None, str(why), one)


def _table_bytes(held: File) -> int:
    return sum(a.nbytes for a in (*held.table.columns.values(), *held.table.matrices.values())) or 1


def reading(key: str, changed: str) -> Reading:
    """How a file is read: as proposed, unless the user changed it."""
    held = file(key)
    if held.proposal is None and not changed:
        raise InputError(held.question)
    return with_changes(held.proposal, changed)


def proposed(key: str, chosen: Mapping[str, Any]) -> Reading:
    """How a file is read when some fields of the reading are given: the others follow them."""
    return propose(file(key).table, **chosen)


def label_counts(key: str, how: Reading) -> tuple[tuple[int, ...], int, int]:
    """Rows of each class, rows whose label is no class, and rows without a label."""
    return _memo(("label_counts", key, how.to_json()), lambda: _label_counts(file(key).table, how))


def _label_counts(table: Table, how: Reading) -> tuple[tuple[int, ...], int, int]:
    found = coded_labels(table, how)
    held = np.bincount(found.codes[found.codes >= 0], minlength=len(how.classes))
    return tuple(held.tolist()), int(found.unknown.sum()), int(found.missing.sum())


def findings(key: str, changed: str) -> tuple[Finding, ...]:
    """What is worth knowing about a file before anything is computed."""
    how = reading(key, changed)
    return _memo(("findings", key, how.to_json()), lambda: examine(file(key).table, how))


def whole(key: str, changed: str) -> Predictions:
    """All rows of a file as predictions; InputError in one sentence when it cannot be read like that."""
    how = reading(key, changed)
    # Keyed by the reading itself: a change that equals the proposal is the same thing.
    return _memo(("predictions", key, how.to_json()), lambda: predictions(file(key).table, how))


# -- rows -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Parts:
    """Calibration rows and test rows, where they came from, and in which rows of their file they stand."""

    fit: Predictions
    test: Predictions
    fit_rows: NDArray[np.intp]
    test_rows: NDArray[np.intp]
    said: str


def parts(source: Source) -> Parts:
    """The calibration and test rows of a source."""
    return _memo(("parts", source), lambda: _parts(source))


def shared(source: Source) -> int:
    """Number of test rows that are also calibration rows, score for score and label for label."""
    return _memo(("shared", source), lambda: shared_rows(parts(source).fit, parts(source).test))


def split_by(source: Source) -> str:
    """How the rows are divided: "files", "column" or "share"."""
    if source.test:
        return "files"
    has_column = reading(source.data, source.reading).split is not None
    return "column" if source.by == "column" or (source.by == "auto" and has_column) else "share"


def _parts(source: Source) -> Parts:
    first = whole(source.data, source.reading)
    if source.like is not None:
        return _parts_like(source, first)
    by = split_by(source)
    if by == "files":
        second = whole(source.test, source.test_reading)
        _same_classes(first, second)
        said = f"calibrated on all rows of {file(source.data).title}, judged on all rows of {file(source.test).title}"
        return Parts(first, second, np.arange(first.n_rows), np.arange(second.n_rows), said)
    if by == "column":
        how = reading(source.data, source.reading)
        fit_rows, test_rows = split_rows(file(source.data).table, how)
        said = f"split by the column {how.split}"
        return Parts(first.take(fit_rows), first.take(test_rows), fit_rows, test_rows, said)
    chosen = first.first_part(source.share, random_state=source.seed)
    fit_rows, test_rows = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    return Parts(first.take(fit_rows), first.take(test_rows), fit_rows, test_rows, "split at random, class by class")


def _parts_like(source: Source, first: Predictions) -> Parts:
    """The rows of another model's file, divided as those of the file it is compared with."""
    assert source.like is not None
    if split_by(source.like) == "files":
        raise NotAnswerable("models are compared on rows of one file each: divide the rows by share or by a column")
    main = parts(source.like)
    check_same_rows(whole(source.like.data, source.like.reading), first)
    said = f"divided as {file(source.like.data).title}"
    return Parts(first.take(main.fit_rows), first.take(main.test_rows), main.fit_rows, main.test_rows, said)


def _same_classes(first: Predictions, second: Predictions) -> None:
    if first.class_names != second.class_names:
        raise InputError(
            "The two files do not have the same classes in the same order "
            f"({first.n_classes} and {second.n_classes}): choose files of one model, or change how they are read."
        )


# -- models ---------------------------------------------------------------------------------------------------


BASE = Recipe("CALIBRATORS", next(key for key in CALIBRATORS if CALIBRATORS[key].flags.output == "same"))
"""The base model: the calibrator that changes nothing."""


@dataclass(frozen=True)
class Model:
    """One line of every table and one colour of every diagram: a file's predictions after a calibrator.

    ``name`` tells files apart where several are compared.
    """

    source: Source
    recipe: Recipe = BASE
    name: str = field(default="", compare=False)

    @property
    def title(self) -> str:
        """What it is called on screen, as it is; not safe where Markdown is read."""
        if not self.name:
            return self.recipe.title
        return self.name if self.recipe == BASE else f"{self.name}, {self.recipe.title}"

    @property
    def key(self) -> str:
        """What tells it apart from the other models shown: part of widgets' keys."""
        return f"{self.recipe.key}.{self.source.data[-8:]}" if self.source.like else self.recipe.key

    @property
    def base(self) -> Model:
        """The same file's predictions before recalibration."""
        return dataclasses.replace(self, recipe=BASE)


@dataclass(frozen=True, eq=False)
class Fit:
    """A calibrator fitted on the calibration rows, the test rows after it, and what both took."""

    calibrator: Calibrator
    judged: Predictions
    fit_seconds: float
    apply_seconds: float


def fit(model: Model) -> Fit:
    """A model fitted on the calibration rows and applied to the test rows; NotAnswerable says why it cannot be."""
    made = _memo(("fit", model), lambda: _fit(model))
    if isinstance(made, str):
        raise NotAnswerable(made)
    return made


def _fit(model: Model) -> Fit | str:
    rows = parts(model.source)
    start = time.perf_counter()
    try:
        calibrator: Calibrator = model.recipe.build().fit_on(rows.fit)
        middle = time.perf_counter()
        after = calibrator.apply(rows.test)
    except InputError as why:
        return str(why)
    return Fit(calibrator, after, middle - start, time.perf_counter() - middle)


def judged(model: Model) -> Predictions:
    """The test rows after a calibrator fitted on the calibration rows."""
    return fit(model).judged


def fitted(model: Model) -> Calibrator:
    """The calibrator fitted on the calibration rows."""
    return fit(model).calibrator


def reliability(model: Model, scheme: Recipe) -> diagrams.ReliabilityDiagram:
    """The reliability diagram of a model on the test rows."""
    key = ("reliability", model, scheme)
    return _memo(key, lambda: diagrams.reliability(judged(model), scheme.build()))


def zoom(model: Model, scheme: Recipe, b: int) -> diagrams.BinZoom:
    """One bin of a model's reliability diagram, class by class."""
    key = ("zoom", model, scheme, b)
    return _memo(key, lambda: diagrams.zoom(judged(model), reliability(model, scheme), b))


def bin_rows(model: Model, scheme: Recipe, b: int) -> NDArray[np.intp]:
    """Positions of a bin's rows among the test rows."""
    return reliability(model, scheme).rows(judged(model), b)


def measures(model: Model, scheme: Recipe) -> pd.DataFrame:
    """The summary numbers of a model, computed for every number of bins of the slider in one pass."""
    low, high = BINS
    every = [BINNINGS.described(scheme.key, bins=b) for b in range(low, high + 1)]
    key = ("measures", model, scheme.key)
    frames = _memo(key, lambda: summaries(judged(model), [one.build() for one in every]))
    return frames[every.index(scheme)]


def every_measure(model: Model, scheme: Recipe) -> pd.DataFrame:
    """ECE and MCE in every notion, and the proper scores, of a model."""
    key = ("every_measure", model, scheme)
    measures = study.every_measure()
    return _memo(key, lambda: summaries(judged(model), [scheme.build()], measures)[0])


def side_effects(model: Model) -> study.SideEffects:
    """What a calibrator does to the decisions on the test rows."""
    return study.side_effects(parts(model.source).test, judged(model))


def binary_map(model: Model, stratum: int) -> diagrams.BinaryMap:
    """The map of a multiclass-to-binary calibrator in one stratum, over the test rows' scores."""
    calibrator = fitted(model)
    if not isinstance(calibrator, Reduced):
        raise NotAnswerable("this calibrator looks at whole rows: it has no map from one score to one score")
    key = ("binary_map", model, stratum)
    return _memo(key, lambda: diagrams.binary_map(calibrator, parts(model.source).test, stratum))


REPEATS = 40
"""Splits over which a calibrator that controls a rate is tried."""


def constraint(model: Model, *, only_if_held: bool = False) -> diagrams.ConstraintDiagram | None:
    """Attained against wanted rate over repeated splits of the calibration and test rows' file."""
    key = ("constraint", model)
    if only_if_held:
        return _derived().get(key)
    return _memo(key, lambda: _constraint(model))


def _constraint(model: Model) -> diagrams.ConstraintDiagram:
    rows = whole(model.source.data, model.source.reading)
    floor = rows.accuracy
    rates = {"miscoverage": (0.01, 0.02, 0.05, 0.1, 0.2), "accuracy": tuple(floor + (1 - floor) * s for s in _STEPS)}
    return diagrams.constraint(rows, model.recipe, rates[fitted(model).wanted], REPEATS)


_STEPS = (0.2, 0.4, 0.6, 0.8, 0.9)


def estimate(model: Model, notion: str, estimator: str, scheme: Recipe) -> Estimate:
    """One estimate; its interval and noise floor are made when asked, once, and kept with it."""
    binned = any(p.name == "binning" for p in ESTIMATORS[estimator].params)
    key = ("estimate", model, notion, estimator, scheme if binned else None)
    made = _memo(key, lambda: _estimate(judged(model), notion, estimator, scheme if binned else None))
    if isinstance(made, str):
        raise NotAnswerable(made)
    return made


def _estimate(predictions: Predictions, notion: str, estimator: str, scheme: Recipe | None) -> Estimate | str:
    try:
        return cc_estimate(predictions, notion, estimator, None if scheme is None else scheme.build())
    except InputError as why:
        return str(why)


def sharpen(made: Estimate) -> None:
    """Make an estimate's interval and noise floor."""
    made.interval()
    made.noise_floor  # noqa: B018  asking makes it


def sharpened(made: Estimate) -> bool:
    """Whether both are made already."""
    return made.knows("interval") and made.knows("floor")


def bands(model: Model, scheme: Recipe) -> diagrams.ReliabilityBands:
    """Wilson intervals and consistency bands of a model's confidence."""
    key = ("bands", model, scheme)
    return _memo(key, lambda: diagrams.reliability_bands(judged(model), scheme.build()))


def corp(model: Model) -> diagrams.CorpCurve:
    """The isotonic reliability curve of a model's confidence."""
    return _memo(("corp", model), lambda: diagrams.corp(judged(model)))


def kernel_curve(model: Model) -> diagrams.KernelCurve:
    """The kernel reliability curve of a model's confidence, with its band."""
    return _memo(("kernel", model), lambda: diagrams.kernel_curve(judged(model)))


def class_curves(model: Model, notion: str, classes: tuple[int, ...]) -> list[diagrams.KernelCurve]:
    """Kernel reliability curves of chosen classes, without bands."""
    key = ("class_curves", model, notion, classes)
    test = judged(model)
    return _memo(key, lambda: [diagrams.kernel_curve(test, notion, c, resamples=0) for c in classes])


def error_sweep(models: tuple[Model, ...]) -> diagrams.ErrorSweep:
    """Confidence and top-label ECE of the models for every number of bins, with the base model's noise floor."""
    known = all(judged(model).kind != "confidence" for model in models)
    notions = ("confidence", "top-label") if known else ("confidence",)
    named = {model.title: judged(model) for model in models}
    return _memo(("sweep", models), lambda: diagrams.error_sweep(named, notions))


def validity(model: Model, notion: str, scheme: Recipe) -> diagrams.ValidityPlot:
    """V(eps) of a model in one notion, on these bins."""
    key = ("validity", model, notion, scheme)
    made = _memo(key, lambda: _validity(judged(model), notion, scheme))
    if isinstance(made, str):
        raise NotAnswerable(made)
    return made


def _validity(predictions: Predictions, notion: str, scheme: Recipe) -> diagrams.ValidityPlot | str:
    try:
        return diagrams.validity(tabulate(as_reduction(notion).split(predictions), [scheme.build()])[0])
    except NotAnswerable as why:
        return str(why)


def tests_without_bins(model: Model) -> list[TestOfCalibration | str]:
    """Kuiper's and Spiegelhalter's tests of a model, or why one of them cannot be made."""
    return _memo(("tests", model), lambda: _tests(judged(model)))


def _tests(predictions: Predictions) -> list[TestOfCalibration | str]:
    asked: list[Callable[[], TestOfCalibration]] = [
        lambda: kuiper(predictions),
        lambda: spiegelhalter(predictions),
        lambda: spiegelhalter(predictions, "log-loss"),
    ]
    made: list[TestOfCalibration | str] = []
    for ask in asked:
        try:
            made.append(ask())
        except NotAnswerable as why:
            made.append(str(why))
    return made


def validity_pair(model: Model, notion: str, scheme: Recipe) -> diagrams.ValidityPair:
    """Base model and a recalibrated one on the same bins: the recalibrated one's values where they are few."""
    made = _memo(("validity pair", model, notion, scheme), lambda: _pair(model, notion, scheme))
    if isinstance(made, str):
        raise NotAnswerable(made)
    return made


def _pair(model: Model, notion: str, scheme: Recipe) -> diagrams.ValidityPair | str:
    after = judged(model)
    few = len(np.unique(after.confidence)) <= after.n_rows / 10
    try:
        return diagrams.validity_pair(parts(model.source).test, after, notion, "distinct" if few else scheme.build())
    except NotAnswerable as why:
        return str(why)


def of_counts(made: Estimate) -> bool:
    """Whether a resample of this estimate costs the counts of its bins only."""
    asked = made.question
    return asked is not None and asked.reduction is not None and counted(asked.estimator, asked.claims) is not None


def class_table(model: Model, notion: str, scheme: Recipe) -> diagrams.ClassTable:
    """All classes of a model with their rows, share and error."""
    key = ("class_table", model, notion, scheme)
    return _memo(key, lambda: diagrams.class_table(judged(model), notion, scheme.build()))


def class_panels(model: Model, notion: str, scheme: Recipe, classes: tuple[int, ...]) -> diagrams.ClassPanels:
    """Small diagrams of chosen classes of a model."""
    key = ("class_panels", model, notion, scheme, classes)
    return _memo(key, lambda: diagrams.class_panels(judged(model), classes, notion, scheme.build()))


def _memo(key: Hashable, make: Callable[[], T]) -> T:
    value: T = _derived().made(key, make, _size)
    return value


def _size(value: Any) -> int:
    """What a derived value holds beyond what it shares, roughly."""
    if isinstance(value, Predictions) and value.kind in ("full", "per-class"):
        rows = value.rows
        return rows.base.nbytes if rows.index is None else 100 * value.n_rows
    if isinstance(value, Fit):
        return _size(value.judged)
    if isinstance(value, Parts):
        return 200 * (value.fit.n_rows + value.test.n_rows)
    if isinstance(value, Predictions):
        return 100 * value.n_rows
    return 1 << 16


# -- what is shown --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Models:
    """The models on screen, the base model first, and those that cannot be shown, with the reason."""

    shown: tuple[Model, ...]
    refused: tuple[tuple[Model, str], ...]

    @property
    def recalibrated(self) -> tuple[Model, ...]:
        """Those shown that a calibrator was applied to."""
        return tuple(model for model in self.shown if model != model.base)

    def titled(self, title: str) -> Model:
        """The shown model with this title, the base model when there is none."""
        return next((model for model in self.shown if model.title == title), self.shown[0])


def models(selection: Selection) -> Models:
    """Every file in use as it is and after every ticked calibrator; what cannot be made says why."""
    shown: list[Model] = []
    refused: list[tuple[Model, str]] = []
    for model in _asked(selection):
        if any(model.source == lost.source and lost == lost.base for lost, _ in refused):
            continue  # its file cannot be used: said once
        try:
            judged(model)
            shown.append(model)
        except InputError as why:
            refused.append((model, str(why)))
    return Models(tuple(shown), tuple(refused))


def _asked(selection: Selection) -> Iterator[Model]:
    names = file_names(selection) if selection.others else [""]
    for source, name in zip(selection.sources, names, strict=True):
        for recipe in (BASE, *selection.calibrators):
            yield Model(source, recipe, name)


def file_names(selection: Selection) -> list[str]:
    """Titles of the files compared, the one in use first; those that are alike are numbered."""
    titles = [file(key).title if is_here(key) else "A file that is not here" for key in selection.files]
    return [t if titles.count(t) == 1 else f"{t} ({titles[: i + 1].count(t)})" for i, t in enumerate(titles)]


def is_here(key: str) -> bool:
    """Tell whether a file is held."""
    try:
        file(key)
    except InputError:
        return False
    return True
