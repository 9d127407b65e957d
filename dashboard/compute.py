"""The only caching: files by content hash, and everything derived from them by (hash, recipe).

Nothing here lets Streamlit hash data: it looks at a sample of large arrays only, so that two uploads can meet.
Keys are hashes of whole files together with frozen choices; two shelves, for files and for what is derived from
them, forget the least recently used things when they grow past their budget.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, takewhile
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
    exporting,
    study,
)
from calib_core import estimate as cc_estimate
from calib_core.binning import BinningScheme, bins_of, tabulate
from calib_core.binning import bins_said as in_words
from calib_core.calibrators import Calibrator
from calib_core.datasets import DEMOS, Demo, demo
from calib_core.defaults import BINS
from calib_core.estimators import takes_bins
from calib_core.inference import (
    EstimateLine,
    PairedDifference,
    PrimaryLine,
    TestOfCalibration,
    estimate_line,
    kuiper,
    paired_difference,
    per_class_tests,
    spiegelhalter,
)
from calib_core.inference import primary as _primary
from calib_core.inference.counted import of_counts as counted
from calib_core.inference.primary import ESTIMATOR as PRIMARY
from calib_core.predictions import check_same_rows, other_classes
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
from calib_core.reductions import claims_of
from calib_core.study import summaries
from calib_core.three_classes import OTHERS, corners, largest_three
from dashboard.lines import without_bins
from dashboard.selection import (
    FEWEST,
    MOST,
    Selection,
    Source,
    differences,
    read_corners,
    scheme_of,
    with_changes,
    written_corners,
)

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
    """Read an upload and keep it under the hash of its content; InputError leaves everything as it was.

    The same bytes under another name are not read again: the file goes by the name it was last given.
    """
    key = "sha256:" + hashlib.sha256(data).hexdigest()
    held = _files().made(key, lambda: _read(key, data, name, None), _table_bytes)
    if held.table.name != name:
        held = dataclasses.replace(held, table=dataclasses.replace(held.table, name=name))
        _files().put(key, held, _table_bytes(held))
    return held


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


def is_odd(key: str, changed: str) -> bool:
    """Whether proposing with the changes gives another reading than the one in use."""
    held, how = file(key), reading(key, changed)
    if held.proposal is None:
        return True
    given = differences(held.proposal, how)
    return bool(given) and _memo(("odd", key, changed), lambda: propose(held.table, **given) != how)


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
    """Calibration rows and test rows, where they came from, and in which rows of their file they stand.

    ``of_corners`` says what became of the test rows' classes, where three of them are corners of a triangle.
    """

    fit: Predictions
    test: Predictions
    fit_rows: NDArray[np.intp]
    test_rows: NDArray[np.intp]
    said: str
    of_corners: str = ""


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
    if source.corners:
        return _parts_of_three(source)
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


def _parts_of_three(source: Source) -> Parts:
    """Calibration and test rows with three classes as corners of a triangle."""
    like = None if source.like is None else dataclasses.replace(source.like, corners="")
    whole_rows = parts(dataclasses.replace(source, like=like, corners=""))
    fit, test = (corners(rows, *read_corners(source.corners)) for rows in (whole_rows.fit, whole_rows.test))
    rows = (whole_rows.fit_rows[fit.rows], whole_rows.test_rows[test.rows])
    said = f"{whole_rows.said}; of the test rows: {test.said}"
    return Parts(fit.predictions, test.predictions, *rows, said, test.said)


def triangle(source: Source, three: str) -> Source:
    """The same rows with three classes as corners: those asked for where they exist, else the three largest, pooled.

    Three classes stay as they are. NotAnswerable where rows are no points of a simplex.
    """
    test = parts(source).test
    largest = _asked_once(("largest three", source), lambda: largest_three(test))
    if test.n_classes == 3:
        return source
    known = three and max(read_corners(three)[0]) < (test.n_classes or 0) and len(set(read_corners(three)[0])) == 3
    return dataclasses.replace(source, corners=three if known else written_corners(largest, OTHERS[0]))


def _or_why(make: Callable[[], T]) -> T | str:
    """What is made, or the sentence that says why it cannot be; a file that is not here may come back."""
    try:
        return make()
    except Missing:
        raise
    except InputError as why:
        return str(why)


def _same_classes(first: Predictions, second: Predictions) -> None:
    if first.class_names != second.class_names:
        raise InputError(
            "The two files do not have the same classes in the same order "
            f"({other_classes(first, second)}): choose files of one model, or change how they are read."
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
        # One calibrator may be shown several times, with different settings.
        own = f"-{zlib.crc32(self.recipe.to_json().encode()):x}" if self.recipe.params else ""
        return f"{self.recipe.key}{own}" + (f".{self.source.data[-8:]}" if self.source.like else "")

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
    rows = parts(model.source)
    return _asked_once(("fit", model), lambda: _fit(model, rows))


def _fit(model: Model, rows: Parts) -> Fit:
    start = time.perf_counter()
    calibrator: Calibrator = model.recipe.build().fit_on(rows.fit)
    middle = time.perf_counter()
    after = calibrator.apply(rows.test)
    return Fit(calibrator, after, middle - start, time.perf_counter() - middle)


def judged(model: Model) -> Predictions:
    """The test rows after a calibrator fitted on the calibration rows."""
    return fit(model).judged


def fitted(model: Model) -> Calibrator:
    """The calibrator fitted on the calibration rows."""
    return fit(model).calibrator


def no_export(model: Model) -> str:
    """Why the fitted calibrator cannot be written for places without this library; empty where it can."""
    return _memo(("no-export", model), lambda: _no_export(fitted(model)))


def _no_export(calibrator: Calibrator) -> str:
    try:
        exporting.program(calibrator)
    except NotAnswerable as why:
        return str(why)
    return ""


AUTO_SAID = f"one bin a value where a calibrator's outputs are discrete, else {BINS} of equal width"
"""The rule where no bins are chosen, in words."""


def bins_said(scheme: Recipe | None) -> str:
    """The bins of a choice, for the middle of a sentence."""
    return AUTO_SAID if scheme is None else in_words(scheme.build())


def bins_of_measures(frame: pd.DataFrame) -> str:
    """The bins of a model's measures in a few words, the rule most of them follow first."""
    rules: dict[str, list[str]] = {}
    for name, text in zip(frame["measure"], frame["bins"], strict=True):
        if text:
            rules.setdefault(text.partition(" (")[0], []).append(name)
    first, *rest = sorted(rules, key=lambda rule: -len(rules[rule])) or [""]
    return "; ".join([first, *(f"{', '.join(rules[rule])}: {rule}" for rule in rest)])


def built(scheme: Recipe | None) -> BinningScheme | None:
    """The bins of a choice; None where each model is judged as its outputs are declared."""
    return None if scheme is None else scheme.build()


def reliability(model: Model, scheme: Recipe | None) -> diagrams.ReliabilityDiagram:
    """The reliability diagram of a model on the test rows."""
    key = ("reliability", model, scheme)
    return _memo(key, lambda: diagrams.reliability(judged(model), built(scheme)))


def zoom(model: Model, scheme: Recipe | None, b: int) -> diagrams.BinZoom:
    """One bin of a model's reliability diagram, class by class."""
    key = ("zoom", model, scheme, b)
    return _memo(key, lambda: diagrams.zoom(judged(model), reliability(model, scheme), b))


def bin_rows(model: Model, scheme: Recipe | None, b: int) -> NDArray[np.intp]:
    """Positions of a bin's rows among the test rows."""
    return reliability(model, scheme).rows(judged(model), b)


def summary(model: Model, selection: Selection, models: Models) -> pd.DataFrame:
    """The numbers beside a reliability diagram, over the rows a table of these models is over.

    They are computed for every number of bins of the slider in one pass.
    """
    rows, abstaining = _counted(selection, models)
    key = ("summary", model, abstaining, _numbered(selection.scheme))
    every = _slider(selection.scheme)
    frames = _memo(key, lambda: summaries(rows[model], [built(one) for one in every]))
    return frames[every.index(selection.scheme)]


def every_measure(model: Model, selection: Selection, models: Models) -> pd.DataFrame:
    """ECE and MCE in every notion, and the proper scores, over the rows a table of these models is over."""
    rows, abstaining = _counted(selection, models)
    key = ("every_measure", model, abstaining, selection.scheme)
    return _asked_once(key, lambda: summaries(rows[model], [built(selection.scheme)], study.every_measure())[0])


def same_rows(selection: Selection, models: Models) -> dict[Model, Predictions]:
    """The models' test rows as a table of them counts them; NotAnswerable where no row is answered by all."""
    return _counted(selection, models)[0]


def rows_said(selection: Selection, models: Models) -> str:
    """Which rows such a table is over, in a sentence; empty where every model answers all."""
    counting: study.Counting = "all" if selection.counting == "all" else "answered"
    return study.rows_said([judged(model) for model in models.shown], counting)


def abstaining(models: Models) -> tuple[Model, ...]:
    """The models that do not answer every row."""
    return tuple(model for model in models.shown if judged(model).abstained is not None)


def _counted(selection: Selection, models: Models) -> tuple[dict[Model, Predictions], Hashable]:
    """The rows of every model, and what tells them apart from other rows of it."""
    silent = abstaining(models)
    if not silent:
        return {model: judged(model) for model in models.shown}, ()
    counting: study.Counting = "all" if selection.counting == "all" else "answered"
    key = ("same rows", models.shown, counting)
    rows = _asked_once(key, lambda: study.over_same_rows([judged(model) for model in models.shown], counting))
    return dict(zip(models.shown, rows, strict=True)), (counting, silent)


def _numbered(scheme: Recipe | None) -> Hashable:
    """A scheme without its number of bins."""
    return _slider(scheme)[0]


def _slider(scheme: Recipe | None) -> list[Recipe | None]:
    """The scheme with every number of bins of the slider, where it takes one."""
    if scheme is None or not any(p.name == "bins" for p in BINNINGS[scheme.key].params):
        return [scheme]
    return [scheme_of(scheme.key, bins=b) for b in range(FEWEST, MOST + 1)]


def side_effects(model: Model) -> study.SideEffects:
    """What a calibrator does to the decisions on the test rows."""
    return study.side_effects(parts(model.source).test, judged(model))


def binary_map(model: Model, stratum: int) -> diagrams.BinaryMap:
    """The map of a multiclass-to-binary calibrator in one stratum, over the test rows' scores."""
    calibrator = fitted(model)
    if not calibrator.binary_maps:
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


def estimate(model: Model, notion: str | None, estimator: str, scheme: Recipe | None) -> Estimate:
    """One estimate, of the whole prediction where notion is None.

    Its interval and noise floor are made when asked, once, and kept with it.
    """
    test, bins = judged(model), scheme if takes_bins(estimator) else None
    key = ("estimate", model, notion, estimator, bins)
    return _asked_once(key, lambda: cc_estimate(test, notion, estimator, built(bins)))


def ranked(selection: Selection, models: Models, model: Model, notion: str | None, estimator: str) -> Estimate:
    """One estimate as a line of a table of these models, which are all judged on the same rows."""
    rows, abstaining = _counted(selection, models)
    if not abstaining:
        return estimate(model, notion, estimator, selection.scheme)
    bins = selection.scheme if takes_bins(estimator) else None
    key = ("ranked", model, abstaining, notion, estimator, bins)
    return _asked_once(key, lambda: cc_estimate(rows[model], notion, estimator, built(bins)))


def line(made: Estimate, selection: Selection) -> EstimateLine:
    """An estimate as a line, judged by the tolerance chosen."""
    return estimate_line(made, selection.eps)


def primary(model: Model, selection: Selection) -> PrimaryLine:
    """The line a verdict on a model rests on, in the base model's notion; NotAnswerable says why there is none."""
    scheme, base = selection.scheme, models(selection).shown[0]
    beside = None if model == base else primary(base, selection)
    asked = ("primary", model, scheme, beside and beside.notion)
    first = _asked_once(asked, lambda: _primary(judged(model), bins=built(scheme), beside=beside))
    key = (*asked, selection.eps)
    made = estimate(model, first.notion, PRIMARY, scheme)
    return _memo(key, lambda: dataclasses.replace(first, estimate=made, eps=selection.eps))


def unbinned(model: Model, selection: Selection) -> tuple[str, ...]:
    """Bounds on the error without bins, in the notion of the primary line; NotAnswerable where there are none."""
    notion = primary(model, selection).notion
    return _asked_once(("unbinned", model, notion), lambda: without_bins(judged(model), notion))


def sharpened(made: Estimate) -> bool:
    """Whether an estimate's interval and noise floor are made already."""
    return made.knows("interval") and made.knows("floor")


def bands(model: Model, scheme: Recipe | None) -> diagrams.ReliabilityBands:
    """Wilson intervals and consistency bands of a model's confidence."""
    key = ("bands", model, scheme)
    return _memo(key, lambda: diagrams.reliability_bands(judged(model), built(scheme)))


def corp(model: Model) -> diagrams.CorpCurve:
    """The isotonic reliability curve of a model's confidence."""
    return _memo(("corp", model), lambda: diagrams.corp(judged(model)))


def corp_band(model: Model, band: str) -> diagrams.CorpBand | str:
    """The band around the isotonic curve; why there is none, or nothing where none was asked for."""
    if band == "none":
        return ""
    try:
        return _asked_once(("corp_band", model, band), lambda: diagrams.corp_band(judged(model), band=band))
    except NotAnswerable as why:
        return f"No band: {why}."


def kernel_curve(model: Model, kernel: Recipe, band: str) -> diagrams.KernelCurve:
    """The kernel reliability curve of a model's confidence, with its band."""
    key = ("kernel", model, kernel, band)
    return _memo(key, lambda: diagrams.kernel_curve(judged(model), method=kernel.build(), band=band))


def class_curve(model: Model, notion: str, c: int, kernel: Recipe, band: str) -> diagrams.KernelCurve:
    """The kernel reliability curve of one class, with its band."""
    key = ("class_curve", model, notion, c, kernel, band)
    return _memo(key, lambda: diagrams.kernel_curve(judged(model), notion, c, kernel.build(), band))


def class_curves(model: Model, notion: str, classes: tuple[int, ...], kernel: Recipe) -> list[diagrams.KernelCurve]:
    """Kernel reliability curves of chosen classes, without bands."""
    return [class_curve(model, notion, c, kernel, "none") for c in classes]


def class_tests(model: Model, notion: str, scheme: Recipe | None) -> pd.DataFrame:
    """A test of calibration for every class, corrected for their number; NotAnswerable for weighted rows."""
    key = ("class_tests", model, notion, scheme)
    return _asked_once(key, lambda: per_class_tests(judged(model), notion, built(scheme)))


def class_pairs(
    model: Model, notion: str, scheme: Recipe | None, classes: tuple[int, ...]
) -> list[diagrams.ValidityPair]:
    """Base model and a recalibrated one on the same bins, class by class."""
    key = ("class_pairs", model, notion, scheme, classes)
    return _asked_once(key, lambda: [_paired(model, notion, scheme, c) for c in classes])


def trade_off(model: Model, notion: str) -> diagrams.TradeOff:
    """What finer bins cost and bring, over repeated splits of the base model's test rows."""
    rows = parts(model.source).test
    key = ("trade_off", model.base, notion)
    return _asked_once(key, lambda: diagrams.trade_off(rows, reduction=notion, repeats=TRIES))


TRIES = 5
"""Splits over which calibrators that bin are compared."""


def error_sweep(models: tuple[Model, ...]) -> diagrams.ErrorSweep:
    """Confidence and top-label ECE of the models for every number of bins, with the base model's noise floor."""
    known = all(judged(model).kind != "confidence" for model in models)
    notions = ("confidence", "top-label") if known else ("confidence",)
    named = {model.title: judged(model) for model in models}
    return _memo(("sweep", tuple(named), models), lambda: diagrams.error_sweep(named, notions))


def validity(model: Model, notion: str, scheme: Recipe | None) -> diagrams.ValidityPlot:
    """V(eps) of a model in one notion, on these bins."""
    return _asked_once(("validity", model, notion, scheme), lambda: _validity(judged(model), notion, scheme))


def _validity(predictions: Predictions, notion: str, scheme: Recipe | None) -> diagrams.ValidityPlot:
    bins = bins_of(predictions, built(scheme))
    return diagrams.validity(tabulate(claims_of(predictions, notion), [bins])[0])


def tests_without_bins(model: Model) -> dict[str, TestOfCalibration | str]:
    """Kuiper's and Spiegelhalter's tests of a model by their calls, or why one of them cannot be made."""
    return _memo(("tests", model), lambda: _tests(judged(model)))


def _tests(predictions: Predictions) -> dict[str, TestOfCalibration | str]:
    asked: dict[str, Callable[[], TestOfCalibration]] = {
        "kuiper({})": lambda: kuiper(predictions),
        "spiegelhalter({})": lambda: spiegelhalter(predictions),
        "spiegelhalter({}, 'log-loss')": lambda: spiegelhalter(predictions, "log-loss"),
    }
    return {call: _or_why(ask) for call, ask in asked.items()}


def validity_pair(model: Model, notion: str, scheme: Recipe | None) -> diagrams.ValidityPair:
    """Base model and a recalibrated one on the same bins: the recalibrated one's values where it is discrete."""
    return _asked_once(("validity pair", model, notion, scheme), lambda: _paired(model, notion, scheme, None))


def _paired(model: Model, notion: str, scheme: Recipe | None, stratum: int | None) -> diagrams.ValidityPair:
    return diagrams.validity_pair(parts(model.source).test, judged(model), notion, built(scheme), stratum)


# -- the triangle ---------------------------------------------------------------------------------------------


def recalibration(model: Model, scheme: Recipe) -> diagrams.RecalibrationDiagram:
    """A model's test rows in the cells of a partition, and what the calibration rows say of each cell."""
    return _asked_once(("recalibration", model, scheme), lambda: _recalibration(model, scheme))


def _recalibration(model: Model, scheme: Recipe) -> diagrams.RecalibrationDiagram:
    calibration_rows = fitted(model).apply(parts(model.source).fit)
    return diagrams.recalibration(scheme.build(), calibration_rows, judged(model))


def canonical_validity(model: Model, scheme: Recipe) -> diagrams.ValidityPair:
    """V(eps) of a model and of the model recalibrated cell by cell, on the same cells."""
    return _asked_once(("canonical validity", model, scheme), lambda: _canonical_validity(model, scheme))


def _canonical_validity(model: Model, scheme: Recipe) -> diagrams.ValidityPair:
    calibration_rows = fitted(model).apply(parts(model.source).fit)
    after = by_cell(scheme).build().fit_on(calibration_rows)
    before = judged(model)
    return diagrams.canonical_validity(before, after.apply(before), scheme.build(), calibration_rows)


def by_cell(scheme: Recipe) -> Recipe:
    """The calibrator that recalibrates cell by cell of a partition."""
    return CALIBRATORS.described(scheme.key, **dict(scheme.params))


def calibration_map(model: Model) -> diagrams.CalibrationMap:
    """Where a model's calibrator sends the points of the triangle; NotAnswerable says why it has no such map."""
    return _asked_once(("calibration map", model, model.title), lambda: _calibration_map(model))


def _calibration_map(model: Model) -> diagrams.CalibrationMap:
    names = parts(model.source).fit.class_names or ()
    return diagrams.calibration_map(fitted(model), title=model.title, class_names=names)


def true_map(source: Source) -> diagrams.CalibrationMap | None:
    """The true map of data whose truth is known."""
    held = file(source.data)
    truth = held.demo.truth if held.demo else None
    if truth is None or source.test or source.reading or source.corners:
        return None
    return diagrams.true_map(truth, class_names=parts(source).test.class_names or ())


def _asked_once(key: Hashable, make: Callable[[], T]) -> T:
    """A value made once; NotAnswerable with the same sentence every time where it cannot be made."""
    made = _memo(key, lambda: _or_why(make))
    if isinstance(made, str):
        raise NotAnswerable(made)
    return made


def of_counts(made: Estimate) -> bool:
    """Whether a resample of this estimate costs the counts of its bins only."""
    asked = made.question
    try:
        return asked is not None and asked.reduction is not None and counted(asked.estimator, asked.claims) is not None
    except NotAnswerable:
        return False


def paired(a: Model, b: Model, notion: str | None, estimator: str, scheme: Recipe | None) -> PairedDifference:
    """How much larger one model's error is than another's on the same test rows; NotAnswerable says why not."""
    key = ("paired", a, b, notion, estimator, scheme)
    return _asked_once(key, lambda: _difference(judged(a), judged(b), notion, estimator, scheme))


def pairs(selection: Selection, models: Models) -> Iterator[tuple[Model, Model, PairedDifference | str]]:
    """Every pair of models with the difference asked for, or why it has none."""
    for a, b in combinations(models.shown, 2):
        try:
            yield a, b, paired(a, b, selection.compared, selection.differ, selection.scheme)
        except NotAnswerable as why:
            yield a, b, str(why)


def _difference(
    a: Predictions, b: Predictions, notion: str | None, estimator: str, scheme: Recipe | None
) -> PairedDifference:
    by_rows = notion is None and "predictions" not in ESTIMATORS[estimator].flags.takes
    if by_rows:
        raise NotAnswerable("whole predictions are compared by scores only: choose a score, or a notion")
    bins = built(scheme) if takes_bins(estimator) else None
    return paired_difference(a, b, notion, estimator, bins)


def class_table(model: Model, notion: str, scheme: Recipe | None) -> diagrams.ClassTable:
    """All classes of a model with their rows, share and error."""
    key = ("class_table", model, notion, scheme)
    return _memo(key, lambda: diagrams.class_table(judged(model), notion, built(scheme)))


def class_panels(model: Model, notion: str, scheme: Recipe | None, classes: tuple[int, ...]) -> diagrams.ClassPanels:
    """Small diagrams of chosen classes of a model."""
    key = ("class_panels", model, notion, scheme, classes)
    return _memo(key, lambda: diagrams.class_panels(judged(model), classes, notion, built(scheme)))


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
    names = told_apart(file_names(selection)) if selection.others else [""]
    for source, name in zip(selection.sources, names, strict=True):
        for recipe in (BASE, *selection.calibrators):
            yield Model(source, recipe, name)


def told_apart(titles: list[str]) -> list[str]:
    """Titles without the words all of them begin with.

    >>> told_apart(["Digits, naive Bayes", "Digits, naive forest"]), told_apart(["a.csv", "ab.csv"])
    (['Bayes', 'forest'], ['a.csv', 'ab.csv'])
    """
    words = [re.split("(?<=[ _-])", title) for title in titles]
    shared = len(list(takewhile(lambda said: len(set(said)) == 1, zip(*words, strict=False))))
    rest = ["".join(said[shared:]) for said in words]
    return rest if all(rest) else titles


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
