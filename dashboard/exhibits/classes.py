"""All classes: the list with their errors, and a small diagram of each."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import REDUCTIONS
from calib_core.diagrams import KERNEL_CURVE
from calib_core.diagrams.class_list import FEW_ROWS, MANY, MOST_DRAWN, PAGE, SORTS, gaps_cancel
from calib_core.estimators import KernelECE, draws_curve
from calib_core.inference.significance.count_tests import FEWEST, kinds_of_places
from calib_core.registry.registry import Choice, Part, Range, Text
from calib_core.risk import MultinomialSlopes
from calib_core.text import at_level, begun, called, count, first_few, in_percent, jointly, listed
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.stars import BINS_OF, BINS_OF_WORDS, grouped, grouping
from dashboard.selection import Selection
from dashboard.session import Call, Model, Scene, call, in_sentence

NOTIONS = tuple(key for key in REDUCTIONS if REDUCTIONS[key].flags.strata_are_classes)
SORTED_BY = tuple(key for key in SORTS if key != "error")
"""Orders that are offered; not by raw error, which is largest for classes with single rows."""
CLAIMS = Choice(NOTIONS, titles=tuple(REDUCTIONS[key].title for key in NOTIONS))
"""Notions that have claims about each class."""
_FIRST = {
    "beyond": "the largest part of the error of {} first",
    "share": "largest share of its rows first",
    "rows": "fewest rows first",
    "name": "in the order of the file",
}

ORDERS = ("Largest contribution first", "Largest share first", "Fewest rows first", "In file order")
"""Titles of the orders of classes."""


@dataclass(frozen=True)
class ByClass(Exhibit):
    """Base class of exhibits about classes in one notion, for every model with such claims."""

    notion: Annotated[
        str,
        CLAIMS,
        "Claims about classes",
        "which claims about classes are evaluated",
    ] = "top-label"

    meanings = of.Meanings(
        {
            "rows": "rows with a claim about the class",
            "share": "share of all rows with such a claim",
            "true_share": "share of all rows whose true class it is",
            "mean_score": "mean score of the claims",
            "mean_outcome": "observed frequency of the claims",
            "gap": "mean outcome minus mean score",
            "error, *": "raw ECE of the class for the model",
            "calibrated, *": "mean raw ECE of calibrated models with these scores",
            "p, *": "probability of an error at least as large in a calibrated model",
            "p_holm, *": "the same, corrected for classes and kinds of subsets",
        }
    )

    @property
    def means(self) -> tuple[of.Column, of.Column]:
        """The columns of mean score and mean outcome; of the predicted class, these are confidence and accuracy."""
        says, right = ("mean confidence", "accuracy") if self.notion == "top-label" else ("mean score", "mean outcome")
        return of.share(says, "mean_score"), of.share(right, "mean_outcome")

    def tables(self, scene: Scene) -> tuple[dict[str, Call[Any]], tuple[str, ...]]:
        """Return the classes of every model that has them, the model in focus first; and a sentence for each other."""
        models = sorted(scene.models.shown, key=lambda model: model is not scene.model)
        wanted = {m.title: call(cc.diagrams.class_table, m.predictions, self.notion, scene.bins) for m in models}
        return scene.answered(wanted)

    def predictions(self, scene: Scene) -> dict[str, Call[Any]]:
        """Return the test rows of these models."""
        able, _ = self.tables(scene)
        return {title: scene.predictions()[title] for title in able}

    def first(self, scene: Scene) -> tuple[str, Call[Any]]:
        """Return the model that determines the order of classes (in focus, if it has classes), and its classes."""
        able, _ = self.tables(scene)
        return next(iter(able.items()))

    def tests(self, scene: Scene) -> tuple[dict[str, Call[pd.DataFrame]], tuple[str, ...]]:
        """Return a test of every class for every model that has them, and a sentence for each other model."""
        tested = {title: self._test(scene, rows) for title, rows in self.predictions(scene).items()}
        refused = {title: why for title, wanted in tested.items() if (why := scene.refusal(wanted))}
        kept = {title: wanted for title, wanted in tested.items() if title not in refused}
        return kept, tuple(f"{title}, no tests: {why}." for title, why in refused.items())

    def tested(self, scene: Scene) -> Call[pd.DataFrame] | None:
        """Return the tests of the model that determines the order of classes."""
        title, _ = self.first(scene)
        wanted = self._test(scene, self.predictions(scene)[title])
        return None if scene.refusal(wanted) else wanted

    def _test(self, scene: Scene, rows: Call[Any]) -> Call[pd.DataFrame]:
        """Return the test of every class, corrected like all places."""
        kinds = kinds_of_places(scene.get(rows))
        return call(cc.inference.per_class_tests, rows, self.notion, scene.bins, families=kinds, fewest=FEWEST)

    def outstanding(self, scene: Scene) -> str:
        """Sentence on the significantly miscalibrated classes; empty without tests."""
        tested = self.tested(scene)
        if tested is None:
            return ""
        frame = scene.get(tested)
        codes, looks = cc.inference.standing_out(frame), int(frame["p_holm"].notna().sum())
        if not codes:
            together = jointly(self._jointly_off(scene))
            if looks < len(frame):
                enough = (
                    f"{count(looks)} of {count(len(frame))} {'has' if looks == 1 else 'have'} enough rows for a test"
                )
                return f"No class is significantly off ({enough}; corrected for multiple testing){together}."
            return f"None of {count(looks)} classes is significantly off (corrected for multiple testing){together}."
        names = [called(str(frame["class"][code])) for code in codes[:3]]
        if (others := len(codes) - len(names)) > 0:
            names.append(f"{count(others)} other{'s' if others > 1 else ''}")
        verb = "is" if len(codes) == 1 else "are"
        return f"{count(len(codes))} of {count(looks)} classes {verb} significantly off: {listed(names)}."

    def _jointly_off(self, scene: Scene) -> float:
        """Return the p-value of all classes together; NaN class by class, where they share rows."""
        if self.notion != "top-label":
            return math.nan
        title, _ = self.first(scene)
        return scene.get(call(cc.inference.jointly_off, self.predictions(scene)[title], scene.bins))

    def worst(self, scene: Scene) -> str:
        """Sentence on the class that contributes most to the error; empty if no class is significant."""
        tested = self.tested(scene)
        codes = () if tested is None else cc.inference.standing_out(scene.get(tested))
        if tested is None or not codes:
            return ""
        table, code = scene.get(self.first(scene)[1]), codes[0]
        score, outcome = in_percent(float(table.score[code])), in_percent(float(table.outcome[code]))
        rows = count(int(table.count[code]))
        error, name = float(scene.get(tested)["error"].iloc[code]), begun(called(table.names[code]))
        if gaps_cancel(float(table.score[code]), float(table.outcome[code]), error):
            return f"{name} contributes most to the error; its gaps cancel on average ({rows} rows)."
        if (table.share == 1).all():
            return (
                f"{name} contributes most to the error: mean probability {score}, observed in {outcome} of {rows} rows."
            )
        return f"{name} contributes most to the error: confidence {score}, accuracy {outcome} ({rows} rows)."

    def noted(self, words: Words, scene: Scene) -> Words:
        """Return the text with a note on every model that is not shown."""
        return words.also(*self.tables(scene)[1])


@dataclass(frozen=True)
class InOrder(ByClass):
    """Base class of exhibits with sorted and searchable classes."""

    sort: Annotated[
        str,
        Choice(SORTED_BY, titles=ORDERS),
        "Order",
        "largest contribution beyond noise, largest share or fewest rows first, or in file order",
    ] = "beyond"
    search: Annotated[str, Text(200), "Search", "only classes whose name contains this text"] = ""

    def order(self, scene: Scene, page: int | None = None) -> Call[tuple[int, ...]]:
        """Return the codes of the classes found, in order; with ``page``, one dozen of them."""
        tests = self.tested(scene) if self.sort == "beyond" else None
        _, table = self.first(scene)
        return call(cc.diagrams.ranked_classes, table, self.sort, self.search, page, tests, stem="chosen")

    def rule(self, scene: Scene) -> str:
        """Describe the order of classes, unless it is by a single column."""
        if self.sort != "beyond":
            return ""
        if self.tested(scene) is None:
            return f"Order: error times share; classes of fewer than {FEW_ROWS} rows follow."
        return (
            f"Order: classes that are significantly off (exact test, corrected, 5 %), then those of {FEW_ROWS} rows "
            "or more, then the others. Each group is sorted by the contribution to the error beyond noise."
        )

    def which(self, scene: Scene, page: int | None = None) -> str:
        """Describe the selected classes and their order."""
        title, table = self.first(scene)
        found = len(scene.get(call(cc.diagrams.ranked_classes, table, "name", self.search)))
        named = f" with \u201c{self.search.strip()}\u201d in their name" if self.search.strip() else ""
        order, pages = _FIRST[self.sort].format(in_sentence(title)), -(-found // PAGE)
        if page is None or pages == 1:
            return f"all {count(found)} classes{named}, {order}"
        return f"{PAGE} of {count(found)} classes{named}, {order}, page {min(page, pages)} of {count(pages)}"


@dataclass(frozen=True)
class Paged(InOrder):
    """Base class of exhibits with one page of a dozen classes."""

    page: Annotated[int, Range(1, 10_000), "Page", "which dozen of classes, in the order above"] = 1

    def chosen(self, scene: Scene) -> Call[tuple[int, ...]]:
        """Their codes."""
        return self.order(scene, self.page)


def together(selection: Selection) -> dict[str, dict[str, Any]]:
    """Return options, by exhibit, that exhibits about classes share on one page.

    Notion, order and page are those of the small diagrams; the smoothing of curves is shared.
    """
    panels = selection.exhibit("class-panels").build()
    order = {name: getattr(panels, name) for name in ("notion", "sort", "search")}
    curve = vars(selection.exhibit("kernel-curve").build())
    return {
        "class-panels": {"kernel": curve["kernel"]},
        "class-kernel": {"notion": panels.notion, **curve},
        "class-errors": {**order, "page": panels.page},
        "classes": order,
    }


@EXHIBITS.register("classes", "All classes")
@dataclass(frozen=True)
class Classes(InOrder):
    """All classes of all models: rows, share, error, and a test of every class corrected for their number."""

    printed = 30
    aside = ("true share", "share", "calibrated", "p", of.GAP)

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        rows, (tests, _) = self.predictions(scene), self.tests(scene)
        return call(cc.diagrams.class_list, rows, self.notion, scene.bins, classes=self.order(scene), tests=tests)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        names = [name.removeprefix("error, ") for name in frame.columns if name.startswith("error, ")]
        tested = [
            (
                of.error(f"error, {name}"),
                *([of.error("calibrated", f"calibrated, {name}"), of.probability("p", f"p, {name}")] if not i else []),
                of.probability(f"p (corrected), {name}", f"p_holm, {name}"),
            )
            for i, name in enumerate(names)
        ]
        return (
            of.text("class"),
            of.whole("rows"),
            of.share("share"),
            of.share("true share", "true_share"),
            *self.means,
            of.gap(),
            *(column for columns in tested for column in columns),
        )

    def words(self, scene: Scene) -> Words:
        title, _ = self.first(scene)
        which, notion = self.which(scene), REDUCTIONS[self.notion].title.lower()
        means = ", ".join(column.heading for column in self.means)
        words = Words(
            f"One line for each class ({notion}): {which}. Rows, shares, {means} and gap are for {in_sentence(title)}. "
            f"Errors are raw ECE, which noise inflates most where rows are few. Bins: {scene.in_bins}. Calibrated: "
            "mean raw ECE of a perfectly calibrated model. p: the probability of an error at least as large in a "
            "calibrated model (exact test by bins). It is corrected for the number of classes and the kinds of subsets "
            "tested (bins, classes, slices); at most 0.05 is significant. With few rows, an error of a class is rarely "
            "significant."
        )
        return self.noted(words.also(self.rule(scene)), scene).also(*self.tests(scene)[1])


@EXHIBITS.register("class-errors", "Errors of classes")
@dataclass(frozen=True)
class ClassErrors(Paged):
    """Error of each of a dozen classes, one mark per model, next to that of a calibrated model.

    Above 20 classes: predicted and observed of each class, one line per class and one panel per model.
    """

    printed = 0
    terms = ("top-label", "class-wise")

    def used_in(self, scene: Scene) -> tuple[str, ...] | None:
        return ("notion", "sort", "search") if self.has_many(scene) else None

    @staticmethod
    def has_many(scene: Scene) -> bool:
        """True if there are so many classes that each is one line."""
        return len(scene.class_names) > MANY

    def gaps(self, scene: Scene) -> dict[str, Call[Any]]:
        """Return predicted and observed of the classes, of every model that has them."""
        chosen = self.order(scene)
        tests, _ = self.tests(scene)
        return {
            title: call(cc.diagrams.class_gaps, rows, self.notion, chosen, tests.get(title))
            for title, rows in self.predictions(scene).items()
        }

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if self.has_many(scene):
            return call(cc.calls.stacked, self.gaps(scene))
        rows, chosen = self.predictions(scene), self.chosen(scene)
        title, tested = self.first(scene)[0], self.tested(scene)
        tests = False if tested is None else {title: tested}
        return call(cc.diagrams.class_list, rows, self.notion, scene.bins, classes=chosen, tests=tests)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        errors = [name for name in frame.columns if name.startswith("error, ")]
        noise = [of.error("calibrated", name) for name in frame.columns if name.startswith("calibrated, ")][:1]
        if "model" in frame:
            return (
                of.text("model"),
                of.text("class"),
                of.whole("rows"),
                *self.means,
                of.between("calibrated models", "low", "high"),
                of.flag("significantly off", "stands_out"),
            )
        return (
            of.text("class"),
            of.whole("rows"),
            of.share("share"),
            of.share("true share", "true_share"),
            *self.means,
            *noise,
            *map(of.error, errors),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        if self.has_many(scene):
            return call("figures.class_gaps", self.gaps(scene), looks=scene.looks)
        tables, _ = self.tables(scene)
        tested = self.tested(scene)
        return call("figures.class_table", tables, classes=self.chosen(scene), tests=tested, looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        notion = REDUCTIONS[self.notion].title.lower()
        if self.has_many(scene):
            return self.noted(self._of_many(scene, notion), scene).also(*self.tests(scene)[1])
        which = self.which(scene, self.page)
        tested = self.tested(scene) is not None
        noise = " Calibrated: mean raw ECE that a perfectly calibrated model would show." if tested else ""
        title, _ = self.first(scene)
        words = Words(
            f"Raw ECE of each class ({notion}), inflated by noise: {which}.{noise}",
            f"Error of {count(len(scene.get(self.chosen(scene))))} classes, one mark per model. Gray: calibrated.",
            key=f"{'Gray: calibrated. Bold: significantly off. ' if tested else ''}Hollow: fewer than {FEW_ROWS} rows.",
        ).also(
            self.rule(scene),
            f"Mean score and mean outcome are for {in_sentence(title)}. Bins: {scene.in_bins}.",
        )
        return self.noted(words.also(*self.tests(scene)[1][:1]), scene)

    def _of_many(self, scene: Scene, notion: str) -> Words:
        found, gaps = len(scene.get(self.order(scene))), scene.get(next(iter(self.gaps(scene).values())))
        which = self.which(scene) if found <= MOST_DRAWN else f"the first {MOST_DRAWN} of {self.which(scene)[4:]}"
        same = " All models have the same order." if len(self.gaps(scene)) > 1 else ""
        return Words(
            f"Predicted and observed of each class ({notion}): {which}.{same}",
            f"Predicted and observed of {count(len(gaps.code))} classes.",
            key=f"Tick: mean prediction. Dot: observed frequency. Gray: {at_level(gaps.level)} of calibrated models. "
            "Hollow: not significantly off, corrected for multiple testing.",
        ).also(self.rule(scene))


_DRAWN = {"reliability": "class_panels", "validity": "class_validity", "kernel": "class_curves"}
_CALLED = {
    "reliability": "Reliability by class",
    "validity": "Share of a class's rows with a calibration error of at most the value on the axis",
    "kernel": "Kernel reliability curves by class, without bins",
}
_VALUES = {
    "reliability": (
        of.bin_ends("bin", "lower", "upper"),
        of.whole("rows", "count"),
        of.share("mean score", "mean_score"),
        of.share("mean outcome", "mean_outcome"),
        of.gap(),
    ),
    "validity": (of.text("plot"), of.error("error at most", "eps"), of.share("share of rows", "share")),
    "kernel": (of.share("score"), of.share("observed frequency", "curve"), of.number("density")),
}


@EXHIBITS.register("class-panels", "Small diagrams of classes", reference="P1 Fig. 4 and 9")
@dataclass(frozen=True)
class ClassPanelsExhibit(Paged):
    """One small diagram for each of a dozen classes, with all models."""

    curve: Annotated[
        str,
        Choice(tuple(_DRAWN), titles=("Bins", "Share of rows by error", "Curves without bins")),
        "Small diagrams show",
        "content of the small diagrams",
    ] = "reliability"
    kernel: Annotated[
        KernelECE,
        Part("ESTIMATORS", draws_curve),
        "Smoothing",
        "weights of neighboring rows in kernel curves: wider is smoother",
    ] = KERNEL_CURVE

    bins_of: Annotated[str, BINS_OF, "Whose bins", BINS_OF_WORDS] = "own"

    printed = 0
    terms = ("bins", "overconfident")

    meanings = of.Meanings(
        {
            "count": "claims in the bin",
            "mean_score": "mean score of the claims",
            "mean_outcome": "observed frequency of the claims",
            "gap": "mean outcome minus mean score",
            "weight": "claims in the bin as a share of all rows",
            "eps": "calibration error of the claims in a bin",
            "share": "share of the class's rows with at most this error",
            "plot": "before or after recalibration",
            "score": "place on the curve",
            "curve": "observed frequency there",
            "density": "density of scores here, per unit of the smoothing scale",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self._diagrams(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (of.text("model"), of.text("class"), *_VALUES[self.curve])

    def figure(self, scene: Scene) -> Call[Any]:
        return call(f"figures.{_DRAWN[self.curve]}", self._diagrams(scene), looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        which, notion = self.which(scene, self.page), REDUCTIONS[self.notion].title.lower()
        hollow = f" Hollow: pooled bins of fewer than {FEW_ROWS} rows." if self.curve == "reliability" else ""
        words = Words(
            f"{_CALLED[self.curve]} ({notion}): {which}.",
            f"Small {self.curve} diagrams of {count(len(scene.get(self.chosen(scene))))} classes.",
            key=f"Headings: the class's error for {in_sentence(self.first(scene)[0])}.{hollow}",
        )
        if self._grouped:
            words = words.also(grouped(grouping(scene).title), *self._shown(scene)[1])
        return self.noted(words.also(*self._paired(scene)), scene)

    @property
    def used(self) -> tuple[str, ...]:
        shown = {"bins_of": "reliability", "kernel": "kernel"}
        return tuple(f.name for f in fields(self) if shown.get(f.name, self.curve) == self.curve)

    @property
    def _grouped(self) -> bool:
        """True if all models use the bins of one model."""
        return self.curve == "reliability" and self.bins_of != "own"

    def _diagrams(self, scene: Scene) -> dict[str, Call[Any]]:
        return self._shown(scene)[0]

    def _shown(self, scene: Scene) -> tuple[dict[str, Call[Any]], tuple[str, ...]]:
        """Return the diagrams by title, and a sentence for each model that cannot use the bins of another."""
        able, _ = self.tables(scene)
        wanted = {title: self._of(scene.models.titled(title), scene) for title in able}
        return scene.answered(wanted) if self._grouped else (wanted, ())

    def _of(self, model: Model, scene: Scene) -> Call[Any]:
        arguments = model.predictions, self.chosen(scene), self.notion, scene.bins
        if self.curve == "kernel":
            return call(cc.diagrams.class_curves, *arguments, method=self.kernel)
        if self.curve == "reliability":
            rows = grouping(scene).predictions if self._grouped else None
            return call(cc.diagrams.class_panels, *arguments, grouped_by=rows)
        beside = self._beside(model, scene)
        alone = model.is_base or scene.refusal(beside)
        return call(cc.diagrams.class_validity, *arguments) if alone else beside

    def _beside(self, model: Model, scene: Scene) -> Call[Any]:
        """Return a recalibrated model and the original model on the same bins of each class."""
        arguments = model.predictions, self.chosen(scene), self.notion, scene.bins
        return call(cc.diagrams.class_validity, *arguments, before=model.base.predictions)

    def _paired(self, scene: Scene) -> tuple[str, ...]:
        """Explain the dotted lines, and list the models without one."""
        able, _ = self.tables(scene)
        after = [m for m in scene.models.recalibrated if m.title in able]
        if self.curve != "validity" or not after:
            return ()
        alone = {m.title: why for m in after if (why := scene.refusal(self._beside(m, scene)))}
        dotted = "Dotted: the original model in the bins of a recalibrated model."
        return (
            *([dotted] if len(alone) < len(after) else []),
            *(f"{name}, without the original model: {why}." for name, why in alone.items()),
        )


@EXHIBITS.register("class-slopes", "Intercepts and slopes of classes", reference="Van Hoorde et al. 2014")
@dataclass(frozen=True)
class ClassSlopes(Exhibit):
    """Calibration intercept and slope of every class against a reference class, for 3 to 10 classes."""

    reference: Annotated[
        str, Text(200), "Reference class", "class that the others are compared with; empty: the most frequent one"
    ] = ""

    terms = ("calibration-slope",)

    meanings = of.Meanings(
        {
            "rows": "rows of the class",
            "intercept": "shift of the log-odds against the reference class, with slopes fixed at 1",
            "slope": "slope of the log-odds against the reference class",
            "p_slope": "p-value for a slope of 1",
            "p_holm": "the same, Holm-corrected for the number of classes",
            "off": "whether p_holm is at most 0.05",
        }
    )

    def found(self, scene: Scene) -> Call[MultinomialSlopes]:
        """Return the slopes of the selected model."""
        names = list(scene.class_names)
        if self.reference and self.reference not in names:
            raise cc.NotAnswerable(f"there is no class {self.reference[:80]!r}: choose one of {first_few(names, 10)}")
        more = {"reference": names.index(self.reference)} if self.reference else {}
        return call(cc.risk.multinomial_slopes, scene.model.predictions, stem="slopes", **more)

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("class"),
            of.whole("rows"),
            of.number("intercept"),
            of.number_between("interval of the intercept", "intercept_low", "intercept_high"),
            of.number("slope"),
            of.number_between("interval of the slope", "slope_low", "slope_high"),
            of.probability("p (slope 1)", "p_slope"),
            of.probability("p (Holm)", "p_holm"),
            of.flag("slope significantly off", "off"),
        )

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.found(scene))
        return Words(
            f"{scene.model.title}: multinomial logistic recalibration; every class is compared with "
            f"{called(found.reference)}.",
            headline=(found.sentence,),
        ).also(
            "A calibrated model has intercepts of 0 and slopes of 1. A slope below 1: the probabilities of the class "
            "are too extreme, compared with the reference. An intercept above 0: the class is more frequent than "
            f"predicted. Each has its own {at_level(found.level)} interval (Wald).",
            "The numbers depend on the reference class. Intercepts of 0 and slopes of 1 do not imply calibration.",
        )
