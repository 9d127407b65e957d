"""Models on show: every file's predictions, uncalibrated and after every ticked calibrator, as calls."""

from __future__ import annotations

import dataclasses
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import Any

import calib_core as cc
from calib_core import CALIBRATORS, InputError, Predictions, Recipe
from calib_core.calibrators import Calibrator
from calib_core.evaluation.splitting import NO_MAP, Division, usual_folds
from calib_core.predictions.three_classes import largest_three, most_confused_three
from calib_core.readers import Finding
from calib_core.readers.reading import OF_SUMMARIES, Layout
from calib_core.text import begun, inside, several
from dashboard.selection import Selection, Source, read_corners, written_corners
from dashboard.session.call import Call, call
from dashboard.session.files import changes, file, findings, is_here, reading, whole_call
from dashboard.session.reading_changes import written_changes
from dashboard.session.result_cache import RESULTS

BASE = Recipe("CALIBRATORS", next(key for key in CALIBRATORS if CALIBRATORS[key].flags.output == "same"))
"""Original model: the calibrator that changes nothing."""


def in_sentence(title: str) -> str:
    """Return a model's title for the middle of a sentence.

    >>> in_sentence("Original model"), in_sentence("old.csv")
    ('the original model', 'old.csv')
    """
    return f"the {inside(title)}" if title == BASE.title else title


# -- rows ------------------------------------------------------------------------------------------------------


def split_by(source: Source) -> str:
    """Return how rows are divided: "files", "folds", "column", "share" or "" (summary); other models as the first."""
    if source.like is not None:
        return split_by(source.like)
    if source.test:
        return "files"
    if source.by == "folds":
        return "folds"
    how = reading(source.data, source.reading)
    if how.layout == "summary":
        return ""
    if source.by == "column" or (source.by == "auto" and how.split is not None):
        return "column"
    # A chosen share, as in older links, means rows divided in two.
    return "folds" if source.by == "auto" and source.share == Source().share and _few(source) else "share"


def _few(source: Source) -> bool:
    """Return True if rows are so few that all are evaluated by default; False if they cannot be read."""
    try:
        return usual_folds(RESULTS.get(whole_call(source.data, source.reading))) is not None
    except InputError:
        return False


def division(source: Source) -> Call[Division]:
    """Return the call for the calibration and test rows of a source."""
    if source.corners:
        like = None if source.like is None else dataclasses.replace(source.like, corners="")
        every = division(dataclasses.replace(source, like=like, corners=""))
        three, others = read_corners(source.corners)
        return call(cc.calls.three_corners, every, three, others, stem="rows")
    if source.within:
        return call(cc.calls.within, division(dataclasses.replace(source, within="")), source.within, stem="part")
    rows, layout = whole_call(source.data, source.reading), reading(source.data, source.reading).layout
    if source.like is not None and not split_by(source.like) and layout == "summary":
        return division(dataclasses.replace(source, like=None, within=source.like.within))
    if source.like is not None:
        return call(cc.calls.divide, rows, like=division(source.like), stem="rows")
    by = split_by(source)
    if by == "files":
        return call(cc.calls.divide, rows, test=whole_call(source.test, source.test_reading), stem="rows")
    if by == "column":
        marked = call(cc.calls.marked_rows, file(source.data), changes(source.data, source.reading))
        return call(cc.calls.divide, rows, marked=marked, stem="rows")
    if by == "folds":
        by_rule = usual_folds(RESULTS.get(rows)) if source.by == "auto" else None
        folds = min(source.folds, by_rule or source.folds)
        return call(cc.calls.divide, rows, folds=folds, random_state=source.seed, stem="rows")
    if not by:
        return call(cc.calls.divide, rows, stem="rows")
    return call(cc.calls.divide, rows, share=source.share, random_state=source.seed, stem="rows")


def is_summary(source: Source) -> bool:
    """Return True if the source is a summary of counts; False if it cannot be used."""
    try:
        return parts(source).undivided
    except InputError:
        return False


def of_kept_rows(selection: Selection, *, kept: bool = True) -> Selection:
    """Return the same choices for the rows sampled in summaries, or (``kept`` False) for their counts."""
    layout: Layout = "kept-rows" if kept else "summary"

    def read(key: str, changed: str) -> str:
        how = reading(key, changed)
        return (
            written_changes(file(key).proposal, how.replace(layout=layout)) if how.layout in OF_SUMMARIES else changed
        )

    source = selection.source
    here = dataclasses.replace(source, reading=read(source.data, source.reading), within="", by="auto")
    others = tuple((key, read(key, changed)) for key, changed in selection.others)
    return dataclasses.replace(selection, source=here, others=others, bin=None, between=None, code=None, label=None)


def parts(source: Source) -> Division:
    """Return the divided rows; InputError explains why there are none."""
    return RESULTS.get(division(source))


def shared(source: Source) -> Finding | None:
    """Return a finding on test rows that are also calibration rows, if any."""
    if source.test == source.data or split_by(source) == "folds":
        return None
    rows = division(source)
    if RESULTS.get(rows).test.grain == "counts":
        return None
    marks = reading(source.data, source.reading).split
    n = RESULTS.get(call(cc.readers.shared_rows, rows.part("fit"), rows.part("test"), split=marks))
    if not n:
        return None
    divided = RESULTS.get(rows)
    columns = cc.readers.columns_compared(divided.fit, divided.test, marks)
    equal = f"scores, label and {several(len(columns), 'columns')}" if columns else "scores and label"
    message = f"{n:,} of {divided.test.n_rows:,} test rows equal a calibration row in {equal}."
    if not _tells_cases_apart(divided.test, columns):
        few = "With so few distinct values, these can be different cases."
        return Finding("note", "shared", f"{message} {few}")
    # If this many rows of the file repeat, or scores are this coarse, equal rows in both parts are no evidence of
    # overlap.
    if any(
        finding.code in ("duplicates", "constant") and finding.severity == "warning"
        for finding in findings(source.data, source.reading)
    ):
        return Finding("note", "shared", f"{message} Scores as coarse as these often coincide.")
    return Finding("warning", "shared", f"{message} A calibrator looks better on them than it is.")


def _tells_cases_apart(rows: Predictions, columns: Sequence[str]) -> bool:
    """Return True if equal rows are one case: many numbers per row, or a column with a different value in every row."""
    many = rows.kind in ("full", "per-class") and (rows.n_classes or 0) > 2
    return many or any(rows.metadata is not None and rows.metadata[name].is_unique for name in columns)


MOST_POOLED = 10
"""Number of classes above which the triangle leaves out the rows of all but three."""


def triangle(source: Source, three: str) -> Source:
    """Return the same rows with three classes as corners: those requested, otherwise the most confused.

    The most confused classes are the three with most calibration rows confused among each other. Up to ``MOST_POOLED``
    classes the others are pooled with the third, which would otherwise hide it: then they are left out. Three classes
    stay unchanged. NotAnswerable if rows are no points of a simplex.
    """
    test = parts(source).test
    largest_three(test)
    if test.n_classes == 3:
        return source
    known = three and max(read_corners(three)[0]) < (test.n_classes or 0) and len(set(read_corners(three)[0])) == 3
    pooled = (test.n_classes or 0) <= MOST_POOLED
    proposed = written_corners(_confused(source), "pool" if pooled else "condition")
    return dataclasses.replace(source, corners=three if known else proposed)


@lru_cache(32)
def _confused(source: Source) -> tuple[int, int, int]:
    return most_confused_three(parts(source).fit)


def truth(source: Source) -> Call[Any] | None:
    """Return the true probabilities as a function of the predictions, if the file's labels were drawn from it."""
    demo = file(source.data).demo
    changed = source.test or source.reading or source.corners
    return None if demo is None or demo.truth is None or changed else call(cc.datasets.truth, demo.key, stem="truth")


# -- models ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """Line of every table and color of every diagram: a file's test rows after a calibrator.

    ``name`` identifies the file if several are compared.
    """

    source: Source
    recipe: Recipe = BASE
    name: str = field(default="", compare=False)

    @property
    def title(self) -> str:
        """Return its title on screen, unescaped; not safe for Markdown."""
        if not self.name:
            return self.recipe.title
        return self.name if self.is_base else f"{self.name}, {self.recipe.title}"

    @property
    def key(self) -> str:
        """Return its unique key among the models shown: part of widgets' keys."""
        # One calibrator may be shown several times, with different settings.
        own = f"-{zlib.crc32(self.recipe.to_json().encode()):x}" if self.recipe.params else ""
        if self.source.like is None:
            return f"{self.recipe.key}{own}"
        # A file may be shown several times, with different readings.
        read = f"-{zlib.crc32(self.source.reading.encode()):x}" if self.source.reading else ""
        return f"{self.recipe.key}{own}.{self.source.data[-8:]}{read}"

    @property
    def base(self) -> Model:
        """Return the same file's model before recalibration."""
        return dataclasses.replace(self, recipe=BASE)

    @property
    def is_base(self) -> bool:
        """Return True if no calibrator is applied."""
        return self.recipe == BASE

    @property
    def unfit(self) -> str:
        """Return why its declared requirements exclude rows like its file's; empty if they do not."""
        divided = RESULTS.get(self.division)
        if divided.undivided:
            return NO_MAP
        why: str = CALIBRATORS[self.recipe.key].flags.unfit(divided.fit.kind, divided.fit.n_classes)
        return why

    @property
    def whole(self) -> Call[Predictions]:
        """Return the call for all rows of its file, before they are divided."""
        return whole_call(self.source.data, self.source.reading)

    @cached_property
    def division(self) -> Call[Division]:
        """Return the call for its file's divided rows."""
        return division(self.source)

    @cached_property
    def fitted(self) -> Call[Calibrator]:
        """Return the call for its calibrator, fitted on the calibration rows; with cross-fitting, on all rows."""
        # On all calibration rows, so that one fit serves every slice of the test rows.
        every = division(self.source.everywhere)
        fresh = call(cc.calls.fitted, every, self.recipe.fitting, stem=self.recipe.key)
        late = self.recipe.late
        return call(cc.calibrators.with_options, fresh, stem=self.recipe.key, **late) if late else fresh

    @cached_property
    def predictions(self) -> Call[Predictions]:
        """Return the call for its predictions of the test rows."""
        if self.is_base:
            return self.division.part("test")
        rows, stem = self.division, f"{self.recipe.key} test"
        if not (self.source.within and split_by(self.source) == "folds"):
            return call(cc.calls.recalibrated, rows, self.fitted, stem=stem)
        # Every fold's fit serves all slices, too.
        every = call(cc.calls.recalibrated, division(self.source.everywhere), self.fitted, stem=stem)
        return call(cc.slices.part, every, self.source.within, stem=f"part {stem}")

    @cached_property
    def calibration(self) -> Call[Predictions]:
        """Return the call for its predictions of the calibration rows; not answerable if these are evaluated, too."""
        if self.is_base:
            return self.division.part("apart")
        return call(cc.calls.recalibrated, self.division, self.fitted, "fit", stem=f"{self.recipe.key} fit")


@dataclass(frozen=True)
class Models:
    """Models on screen, the base model first, and those that cannot be shown, with the reason."""

    shown: tuple[Model, ...]
    refused: tuple[tuple[Model, str], ...] = ()

    @property
    def recalibrated(self) -> tuple[Model, ...]:
        """Return the shown models with a calibrator."""
        return tuple(model for model in self.shown if not model.is_base)

    @property
    def failed(self) -> tuple[tuple[Model, str], ...]:
        """Return refused models whose calibrator suits rows like these, and unusable files."""
        return tuple((model, why) for model, why in self.refused if model.is_base or not model.unfit)

    def titled(self, title: str) -> Model:
        """Return the shown model with this title, the base model if there is none."""
        return next((model for model in self.shown if model.title == title), self.shown[0])


def models(selection: Selection) -> Models:
    """Return every current file, uncalibrated and after every ticked calibrator, with reasons for those that fail."""
    return _made(_wanted(selection))


def _made(wanted: Iterable[Model]) -> Models:
    shown: list[Model] = []
    refused: list[tuple[Model, str]] = []
    for model in wanted:
        if any(model.source == lost.source and lost.is_base for lost, _ in refused):
            continue  # its file cannot be used: reported once
        try:
            RESULTS.get(model.predictions)
            shown.append(model)
        except InputError as why:
            refused.append((model, str(why)))
    return Models(tuple(shown), tuple(refused))


def unmade(selection: Selection) -> Iterator[Model]:
    """Yield the models still to be computed whose calibrator suits their rows, file by file."""
    for model in _wanted(selection):
        try:
            if model.is_base or RESULTS.knows(model.predictions) or model.unfit:
                continue
            RESULTS.get(model.base.predictions)
        except InputError:
            continue  # its file cannot be used: reported with the models
        yield model


def unfitted(selection: Selection) -> str:
    """Return a sentence on why no calibrator is fitted on the current rows; empty if one can be, or without rows.

    So it is of a summary, and not of rows that one calibrator or another is not for.
    """
    try:
        return f"{begun(NO_MAP)}." if parts(selection.source).undivided else ""
    except InputError:
        return ""


def usable(selection: Selection, keys: Iterable[str]) -> tuple[str, ...]:
    """Return those of these calibrators whose declared requirements fit the current rows."""
    try:
        fit = parts(selection.source).fit
    except InputError:
        return tuple(keys)
    return tuple(key for key in keys if not CALIBRATORS[key].flags.unfit(fit.kind, fit.n_classes))


def over(models: Models, source: Source) -> Models:
    """Return the first file's models for other rows, or other classes, of it."""
    first = models.shown[0].source
    every = [*models.shown, *(model for model, _ in models.refused)]
    return _made(dataclasses.replace(model, source=source) for model in every if model.source == first)


def _wanted(selection: Selection) -> Iterator[Model]:
    names = short_names(selection) if selection.others else [""]
    for source, name in zip(selection.sources, names, strict=True):
        for recipe in dict.fromkeys((BASE, *selection.calibrators)):
            yield Model(source, recipe, name)


def told_apart(titles: list[str]) -> list[str]:
    """Return titles without their common first words.

    >>> told_apart(["Digits, naive Bayes", "Digits, naive forest"]), told_apart(["a.csv", "ab.csv"])
    (['Bayes', 'forest'], ['a.csv', 'ab.csv'])
    """
    words = [re.split("(?<=[ _-])", title) for title in titles]
    shared = len(list(takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False))))
    rest = ["".join(line[shared:]) for line in words]
    return rest if all(rest) else titles


def file_names(selection: Selection) -> list[str]:
    """Return the titles of the files compared, the current one first; equal titles are numbered."""
    titles = [title_read(key, changed) for key, changed in selection.readings]
    return [t if titles.count(t) == 1 else f"{t} ({titles[: i + 1].count(t)})" for i, t in enumerate(titles)]


def short_names(selection: Selection) -> list[str]:
    """Return short distinct names of the models compared: their names in a shared file, otherwise words of titles."""
    if len(set(selection.files)) == 1 and is_here(selection.source.data):
        models = [_model_read(key, changed) for key, changed in selection.readings]
        if all(models) and len(set(models)) == len(models):
            return models
    return told_apart(file_names(selection))


def title_read(key: str, changed: str) -> str:
    """Return the title of a file, with the model whose rows are read if it contains several."""
    if not is_here(key):
        return "A file that is not here"
    model = _model_read(key, changed)
    return f"{file(key).title}, {model}" if model else file(key).title


def _model_read(key: str, changed: str) -> str:
    """Return the model whose rows are read; empty if no column names models, or the file cannot be read this way."""
    try:
        return reading(key, changed).model or ""
    except InputError:
        return ""
