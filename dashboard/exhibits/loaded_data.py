"""The loaded data: files, rows, and scores of whole predictions."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core.evaluation.cross_fitting import COLUMN_UNUSED
from calib_core.evaluation.study import SCORES
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call, changes, division, file, reading, shared, split_by, title_read


@EXHIBITS.register("file", "The files and how they were read")
@dataclass(frozen=True)
class FileExhibit(Exhibit):
    """Every loaded file: its digest, rows, classes and contents, and how it was read."""

    reads = "counts"

    meanings = of.Meanings(
        {
            "file": "name of the file",
            "property": "name of the property",
            "value": "value of the property",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if not scene.sources:
            raise cc.NotAnswerable(
                "no file can be read with these settings; change how it is read, or which rows are included"
            )
        chosen = [(source.data, source.reading) for source in scene.sources]
        chosen += [(source.test, source.test_reading) for source in scene.sources if source.test]
        found = {each: (file(each[0]), changes(*each)) for each in chosen}
        titles = [title_read(*each) for each in found]
        numbered = [t if titles.count(t) == 1 else f"{t} ({titles[: i + 1].count(t)})" for i, t in enumerate(titles)]
        facts = [call(cc.calls.described, each, changed, each.digest) for each, changed in found.values()]
        return call(cc.calls.stacked, dict(zip(numbered, facts, strict=True)), "file")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        several = [of.text("file")] if frame["file"].nunique() > 1 else []
        return (*several, of.text("property"), of.text("value"))

    def words(self, scene: Scene) -> Words:
        demos = dict.fromkeys(file(source.data).demo for source in scene.sources)
        return Words("Contents of each file and how it was read.").also(
            *(f"Demo data: {demo.source}." for demo in demos if demo)
        )


@EXHIBITS.register("rows", "Calibration rows and test rows")
@dataclass(frozen=True)
class RowsExhibit(Exhibit):
    """Number of calibration rows and of test rows, with accuracy and mean confidence."""

    reads = "counts"

    meanings = of.Meanings(
        {
            "part": "calibration or test rows",
            "rows": "number of those rows",
            "accuracy": "accuracy of these rows",
            "confidence": "mean confidence of these rows",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, {model.title: model.division for model in scene.bases})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        several = [of.text("model")] if frame["model"].nunique() > 1 else []
        counts = of.text("rows", "part"), of.whole("number", "rows")
        return (*several, *counts, of.share("accuracy"), of.share("mean confidence", "confidence"))

    def words(self, scene: Scene) -> Words:
        source = scene.sources[0]
        rows = division(source)
        divided, repeated = scene.get(rows), shared(source)
        if divided.undivided:
            return Words(f"All rows are evaluated ({divided.rule}).")
        how = {
            "share": f", with a share of {source.share:g} as calibration rows, seed {source.seed}",
            "folds": f", seed {source.seed}",
        }.get(split_by(source), "")
        judged = f"{scene.judged_rows} with {divided.where}" if divided.where else scene.judged_rows
        column = reading(source.data, source.reading).split if scene.cross_fitted else None
        rule = f"Division of the rows: {divided.rule}{how}. Calibrators are fitted on calibration rows; every"
        if divided.note:
            rule = f"All rows are judged. Only calibrators are {divided.rule}{how}. Every"
        return Words(f"{rule} number is for {judged}.").also(
            divided.note,
            repeated.message if repeated else "",
            divided.warning,
            COLUMN_UNUSED.format(column) if column else "",
        )


@EXHIBITS.register("scores", "Scores")
@dataclass(frozen=True)
class Scores(Exhibit):
    """Accuracy, log loss and Brier score of the whole predictions of every model, with intervals and noise floors."""

    reads = "counts"
    costly = True
    terms = ("log-loss", "brier-score")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        notion = "event" if scene.claims == "event" and not scene.undivided else None
        questions = tuple((notion if key == "brier" else None, key) for key in SCORES)
        found = call(cc.inference.estimates, scene.over_same_rows(), questions, by_model=False)
        return call(cc.inference.estimate_lines, found)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return of.text("score", "title"), of.text("model"), *line_words.columns(frame, "p (worse than calibrated)")

    def words(self, scene: Scene) -> Words:
        caption = (
            "Accuracy (higher is better) and proper scores (lower is better) of whole predictions on "
            f"{scene.judged_rows}; these are not calibration errors: they also depend on accuracy. "
            f"{line_words.READING} {line_words.OF_SCORES}"
        )
        return Words(caption).also(scene.rows_counted, *line_words.notes(scene.get(self.table(scene))))
