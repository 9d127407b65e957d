"""One class: its bins for every model, its rows, its confusions, and its smooth curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core import REDUCTIONS, NotAnswerable
from calib_core.defaults import LEVEL
from calib_core.diagrams import ClassBias
from calib_core.diagrams.class_bias import MOST_CLASSES
from calib_core.text import at_level, begun, between, count, in_percent, share_range
from calib_core.text import called as called_class
from dashboard.exhibits import columns as of
from dashboard.exhibits.classes import ByClass
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.findings import HOLLOW, how_judged
from dashboard.exhibits.fitted_curves import CURVE_COLUMNS, KernelCurveExhibit, curve_notes
from dashboard.exhibits.slices import correction, own_interval, row_columns
from dashboard.exhibits.stars import called
from dashboard.session import Call, Scene, call, in_sentence

_MOST = 3
"""Largest number of confusions in a sentence."""


class OfClass(Exhibit):
    """Base class of exhibits about the selected class."""

    def code(self, scene: Scene) -> int:
        """Return the code of the selected class."""
        if scene.focus.code is None:
            raise NotAnswerable(
                "no class is selected; click one of the small diagrams, or give calib --choices code=N (from 0)"
            )
        return scene.focus.code

    def name(self, scene: Scene) -> str:
        """Return the name of the selected class."""
        return scene.class_names[self.code(scene)]

    def claims(self, scene: Scene) -> Call[pd.DataFrame]:
        """Return mean confidence and accuracy of the class for every model that predicts classes."""
        code = self.code(scene)
        able, _ = scene.answered(
            {title: call(cc.diagrams.class_confusions, rows, code) for title, rows in scene.predictions().items()}
        )
        rows = {title: rows for title, rows in scene.predictions().items() if title in able}
        return call(cc.diagrams.class_claims, rows, code, stem="claims")

    def sentence(self, scene: Scene) -> str:
        """Sentence on the selected model's mean confidence and accuracy for the class, with the exact interval."""
        frame, name, model = scene.get(self.claims(scene)), self.name(scene), called(scene.model)
        line = frame[frame["model"] == scene.model.title]
        if not len(line) or not line["rows"].iloc[0] > 0:
            return f"{begun(model)} predicts no row as {name}."
        rows, says, right, low, high = line.iloc[0][["rows", "says", "right", "low", "high"]]
        interval = "" if pd.isna(low) else f"{share_range(low, high)}, "
        many = f"{count(round(rows))} row{'' if round(rows) == 1 else 's'}"
        return (
            f"Where {model} predicts {name}, its mean confidence is {in_percent(says)} and its accuracy "
            f"{in_percent(right)} ({interval}{many})."
        )


@EXHIBITS.register("class", "One class")
@dataclass(frozen=True)
class OneClass(OfClass):
    """Mean confidence and accuracy of every model where it predicts the selected class."""

    static = True

    meanings = of.Meanings(
        {
            "rows": "rows predicted as the class",
            "says": "mean confidence of those rows",
            "right": "accuracy of those rows",
            "found": "share of the rows of the class that are predicted as it (recall)",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.claims(scene)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.share("mean confidence", "says"),
            of.share("accuracy", "right"),
            of.between(f"{at_level(cc.defaults.LEVEL)} interval", "low", "high"),
            of.whole("rows"),
            of.share("recall", "found"),
        )

    def words(self, scene: Scene) -> Words:
        return Words(self.sentence(scene)).also(
            f"Recall: the share of all rows of {self.name(scene)} that are predicted as it."
        )


@EXHIBITS.register("class-bins", "Bins of a class", reference="P1 Fig. 4")
@dataclass(frozen=True)
class BinsOfClass(OfClass):
    """Accuracy of the selected class in each bin of the confidence, with exact intervals."""

    printed = 10

    meanings = of.Meanings(
        {
            "count": "rows of the class in the bin",
            "says": "mean confidence of those rows",
            "right": "accuracy of those rows",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, {scene.model.title: self._bins(scene)})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.bin_ends("bin", "lower", "upper"),
            of.whole("rows", "count"),
            of.share("mean confidence", "says"),
            of.share("accuracy", "right"),
            of.between(f"{at_level(cc.defaults.LEVEL)} interval", "low", "high"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        drawn = {scene.model.title: self._bins(scene)}
        return call("figures.class_bins", drawn, code=self.code(scene), looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        name, title = self.name(scene), scene.model.title
        return Words(
            f"Accuracy of rows predicted as {name}, with its {own_interval(scene)}, and mean confidence of "
            f"{in_sentence(title)}.",
            f"Accuracy of rows predicted as {name}, in {len(scene.get(self.table(scene)))} bins.",
            key="Mark: accuracy. Tick: mean confidence. At the right: number of rows. Hollow: fewer than 10 rows.",
        )

    def _bins(self, scene: Scene) -> Call[Any]:
        return call(cc.diagrams.class_bins, scene.model.predictions, self.code(scene), scene.bins)


@EXHIBITS.register("class-confusions", "Confusions of the class")
@dataclass(frozen=True)
class Confusions(OfClass):
    """True classes of rows wrongly predicted as the selected class."""

    static = True
    printed = 5

    meanings = of.Meanings(
        {
            "true class": "true class of the rows",
            "rows": "rows predicted as the class that are of the true class",
            "share": "share of all rows predicted as the class",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.diagrams.class_confusions, scene.model.predictions, self.code(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return of.text("true class"), of.whole("rows"), of.share("share")

    def words(self, scene: Scene) -> Words:
        return Words(self.sentence_of(scene))

    def sentence_of(self, scene: Scene) -> str:
        """Return the largest confusions in a sentence."""
        frame, name = scene.get(self.table(scene)), self.name(scene)
        if not len(frame):
            return f"No row predicted as {name} is of another class."
        largest = [
            f"{line['true class']} ({count(round(line['rows']))})" for line in frame.head(_MOST).to_dict("records")
        ]
        listed = ", ".join(largest) if len(largest) < 2 else f"{', '.join(largest[:-1])} and {largest[-1]}"
        others = f", {count(len(frame) - _MOST)} other classes less often" if len(frame) > _MOST else ""
        return f"Where the prediction {name} is wrong, the true class is most often {listed}{others}."


@EXHIBITS.register("class-rows", "Rows of a class")
@dataclass(frozen=True)
class ClassRows(OfClass):
    """Test rows predicted as the selected class, the most confident errors first; with a bin, only its rows."""

    printed = 20

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        model, b, label = scene.model, scene.focus.bin, scene.focus.label
        options: dict[str, Any] = {} if b is None else {"bins": scene.bins, "b": b}
        options |= {} if label is None else {"label": label}
        numbers = model.division.part("test_rows")
        return call(cc.diagrams.class_rows, model.predictions, self.code(scene), numbers, **options)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return tuple(
            of.share("confidence") if name == "confidence" else of.given(str(name), frame[name])
            for name in frame.columns
        )

    def words(self, scene: Scene) -> Words:
        frame, b = scene.get(self.table(scene)), scene.focus.bin
        where = ""
        if b is not None:
            bins = scene.get(BinsOfClass()._bins(scene)).frame().set_index("bin")
            where = f" at {between(bins.loc[b, 'lower'], bins.loc[b, 'upper'])}"
        if scene.focus.label is not None:
            label = scene.class_names[scene.focus.label]
            return Words(f"Rows predicted as {self.name(scene)} that are of {label}{where}: {count(len(frame))}.")
        right = in_percent(float(frame["correct"].mean()))
        return Words(
            f"Rows predicted as {self.name(scene)}{where}: {count(len(frame))}, {right} right; the most confident "
            "errors are first."
        )


@EXHIBITS.register("class-bias", "Bias of class probabilities")
@dataclass(frozen=True)
class Bias(Exhibit):
    """Mean probability and observed frequency of every class, for each predicted class."""

    printed = 20
    costly = True

    meanings = of.Meanings(
        {
            "class": "predicted class",
            "code": "position of the class",
            "label": "class whose probability is evaluated",
            "label_code": "position of the class",
            "rows": "rows predicted as the class",
            "says": "mean probability of the label in those rows",
            "right": "observed frequency of the label in those rows",
            "gap": "observed frequency minus mean probability",
        }
    )

    def pairs(self, scene: Scene) -> Call[ClassBias]:
        """Return the pairs of classes of the selected model."""
        return call(cc.diagrams.class_bias, scene.model.predictions, bins=scene.bins, stem="pairs")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.pairs(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("predicted", "class"),
            of.text("class", "label"),
            of.share("mean probability", "says"),
            of.share("observed", "right"),
            of.gap(),
            of.between(f"{at_level(LEVEL)} interval", "low", "high"),
            *row_columns(frame),
            of.probability("p"),
            of.probability("p (corrected)", "p_corrected"),
            of.flag("significantly off", "stands_out"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.class_bias", self.pairs(scene), model=scene.model.title, looks=scene.looks)

    def looked_at(self, scene: Scene) -> str:
        """Return the finding about the selected pair of classes, if it is listed and already computed."""
        focus = scene.focus
        if focus.code is None or focus.label is None or not scene.knows(self.pairs(scene)):
            return ""
        frame = scene.get(self.table(scene))
        found = frame.loc[(frame["code"] == focus.code) & (frame["label_code"] == focus.label), "finding"]
        return str(found.iloc[0]) if len(found) else ""

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.pairs(scene))
        key = (
            "Rows: predicted classes. Columns: classes. Blue: observed less often than predicted on average; "
            "vermilion: more often. Dots: significant."
        )
        if len(found.names) > MOST_CLASSES:
            key = f"Mark: observed frequency, with its interval. Tick: mean probability. {HOLLOW}"
        return Words(
            f"{scene.model.title}: predicted class, and the class whose probability is evaluated.",
            f"Mean probability and observed frequency of classes, in {found.pairs:,} pairs of classes.",
            headline=found.headline,
            key=key,
        ).also(
            f"{how_judged(scene)} {correction(scene)}",
            "Significant pairs are first, the largest gap first; the others follow by p-value.",
        )


@EXHIBITS.register("class-kernel", "One class, with its band", reference="P5 Fig. 1")
@dataclass(frozen=True)
class ClassKernel(KernelCurveExhibit, ByClass):
    """Observed frequency at each score of one class, without bins, with a band."""

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        title, curve = self._curve(scene)
        drawn = scene.get(curve)
        if not drawn.rows > 0:
            raise NotAnswerable(f"no test row has a claim about {drawn.stratum}, so there is no curve")
        return call(cc.calls.stacked, {title: call(cc.calls.stacked, {drawn.stratum: curve}, column="class")})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        model, *numbers = CURVE_COLUMNS
        return model, of.text("class"), *numbers

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.kernel_curve", self._curve(scene)[1], score=self.score)

    def words(self, scene: Scene) -> Words:
        title, wanted = self._curve(scene)
        curve = scene.get(wanted)
        notion = REDUCTIONS[self.notion].title.lower()
        words = Words(
            f"{title}: kernel reliability curve of {called_class(curve.stratum)} ({notion}), {curve.band_title}.",
            f"Kernel reliability curve of {called_class(curve.stratum)}: {curve.band_title}.",
            key="Gray: distribution of the scores.",
        )
        return self.noted(words.also(*curve_notes(f"{title}, {called_class(curve.stratum)}", curve, self.score)), scene)

    def code(self, scene: Scene) -> int:
        """Return the selected class, else the one that contributes most to the error beyond noise."""
        _, table = self.first(scene)
        known, code = len(scene.get(table).names), scene.focus.code
        if code is not None and code < known:
            return code
        return scene.get(call(cc.diagrams.ranked_classes, table, tests=self.tested(scene)))[0]

    def title(self, scene: Scene) -> str:
        """Return the selected model, else the first with such claims."""
        able, _ = self.tables(scene)
        return scene.model.title if scene.model.title in able else next(iter(able))

    def _curve(self, scene: Scene) -> tuple[str, Call[Any]]:
        title = self.title(scene)
        rows = self.predictions(scene)[title]
        return title, call(cc.diagrams.kernel_curve, rows, self.notion, self.code(scene), self.kernel, self.band)
