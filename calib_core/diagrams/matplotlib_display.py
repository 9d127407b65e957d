"""Diagrams on Matplotlib's axes, as scikit-learn's displays are: data first, then `plot`; extra `matplotlib`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._base.arrays import Float64s
from calib_core._base.atomic_files import aside
from calib_core._base.errors import InputError, as_share
from calib_core.binning.base import BinningScheme
from calib_core.defaults import LEVEL, SEED
from calib_core.diagrams.bins_that_stand_out import ReliabilityBands, reliability_bands
from calib_core.fonts import MOST_FOR_LEGEND, NAME, WIDTHS, face_files
from calib_core.palette import outline, style
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import REDUCTIONS, Reduction, claims_of, scope
from calib_core.text import called, percent, without_controls

__all__ = ["ReliabilityDisplay"]

SAYS, RIGHT, IDEAL = "mean confidence", "accuracy", "perfect calibration"
_GREY = "#808080"
_BINARY = ({0, 1}, {-1, 1})


class ReliabilityDisplay:
    """A reliability diagram on Matplotlib's axes, with what scikit-learn's CalibrationDisplay lacks: how sure it is.

    Per bin b it shows the mean score s_b and the observed frequency z_b, with the exact interval of the true
    frequency. In gray it shows where a calibrated model with the same scores would be. `from_predictions` and
    `from_estimator` construct one; the constructor takes the result of `cc.diagrams.reliability_bands` for any
    predictions, also for rows in groups.

    Bins are closed on the left, the last on both sides. Those of scikit-learn are closed on the right, so that scores
    on an edge, such as 0.2 in five bins, are one bin lower there. Its default is 5 bins, ours 15. With
    ``bins="equal-mass"``, its strategy "quantile", equal scores are never parted.

    Parameters
    ----------
    diagram : the numbers drawn; ``diagram_`` afterwards.
    name : the model's name in the legend.
    says, right : labels of the two axes.

    Attributes ``prob_pred`` and ``prob_true`` are (bins with rows,), in [0, 1]. After `plot`: ``line_``, ``ax_``,
    ``figure_``, ``intervals_`` and ``bands_`` (None where they were left out), ``ref_line_``. What can mislead:
    intervals and bands are valid for one bin each, not jointly. Of ten bins one is outside on average.

    References: Broecker & Smith 2007; Clopper & Pearson 1934.

    >>> rows = Predictions.from_confidence([0.125, 0.75, 0.75, 0.75], [False, True, True, True])
    >>> display = ReliabilityDisplay(reliability_bands(rows, 5))
    >>> display.prob_pred.tolist(), display.prob_true.tolist()
    ([0.125, 0.75], [0.0, 1.0])
    """

    line_: Any
    ax_: Any
    figure_: Any
    intervals_: Any
    bands_: Any
    ref_line_: Any

    def __init__(
        self, diagram: ReliabilityBands, *, name: str | None = None, says: str = SAYS, right: str = RIGHT
    ) -> None:
        self.diagram_, self.name, self.says, self.right = diagram, name, says, right

    @property
    def prob_true(self) -> Float64s:
        """The share of each bin's rows that came true."""
        return self.diagram_.frame()["accuracy"].to_numpy()

    @property
    def prob_pred(self) -> Float64s:
        """The mean score of each bin's rows."""
        return self.diagram_.frame()["confidence"].to_numpy()

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        notion: str | Reduction | None = None,
        bins: int | str | BinningScheme | None = None,
        pos_label: object = None,
        class_names: object = None,
        sample_weight: ArrayLike | None = None,
        level: float = LEVEL,
        random_state: int = SEED,
        name: str | None = None,
        ax: object = None,
        **drawing: Any,
    ) -> Self:
        """Draw the reliability of probabilities (n,) of the positive class, or (n, K) of every class.

        ``notion`` is a key of REDUCTIONS or a reduction. None judges the probability of the positive class where there
        are two, as scikit-learn does, and otherwise the confidence. ``pos_label`` is the label that a probability (n,)
        is of, 1 where labels are 0 and 1 or -1 and 1. With (n, K) it is the class drawn by notions about classes.
        ``class_names`` are the K labels in the order of the columns, when these are not 0..K-1. ``level`` is that of
        intervals and bands; ``drawing`` is passed to `plot`. InputError names the row or label that cannot be used.
        """
        predictions = _predictions(y_true, y_prob, pos_label, class_names, sample_weight)
        return cls._of(predictions, notion, bins, pos_label, level, random_state, name or "Classifier", ax, drawing)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: object,
        y: ArrayLike,
        *,
        notion: str | Reduction | None = None,
        bins: int | str | BinningScheme | None = None,
        pos_label: object = None,
        sample_weight: ArrayLike | None = None,
        level: float = LEVEL,
        random_state: int = SEED,
        name: str | None = None,
        ax: object = None,
        **drawing: Any,
    ) -> Self:
        """Draw the reliability of a fitted classifier of scikit-learn, or of its kind, on rows it was not fitted on.

        Labels ``y`` are those of its ``classes_``; the rest is as in `from_predictions`. The name is that of its class
        where none is given. scikit-learn's NotFittedError where it was not fitted, InputError where it has no
        probabilities.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        if not hasattr(estimator, "predict_proba"):
            raise InputError(f"{type(estimator).__name__} has no predict_proba; a display needs probabilities")
        table = pd.DataFrame(estimator.predict_proba(X), columns=np.asarray(estimator.classes_))
        predictions = Predictions(table, np.asarray(y), weights=sample_weight)
        name = name or type(estimator).__name__
        return cls._of(predictions, notion, bins, pos_label, level, random_state, name, ax, drawing)

    @classmethod
    def _of(
        cls,
        predictions: Predictions,
        notion: str | Reduction | None,
        bins: int | str | BinningScheme | None,
        pos_label: Any,
        level: float,
        random_state: int,
        name: str,
        ax: Any,
        drawing: dict[str, Any],
    ) -> Self:
        as_share(level, "level")
        _pyplot()  # Before minutes are spent on what could not be drawn.
        reduction, stratum, says, right = _claims(predictions, notion, pos_label)
        diagram = reliability_bands(predictions, bins, reduction, stratum, level, random_state=random_state)
        return cls(diagram, name=name, says=says, right=right).plot(ax, **drawing)

    def plot(
        self,
        ax: object = None,
        *,
        width: str | None = None,
        name: str | None = None,
        intervals: bool = True,
        bands: bool = True,
        ref_line: bool = True,
        **line: Any,
    ) -> Self:
        """Draw it on these axes, or on a figure of its own, and return the display.

        ``width`` is "single" (3.4 inches) or "double" (7 inches): a figure for a journal's column, in the style of
        `calib_core.figures.on_paper`. For more models, repeat it with the ``ax_`` of the first. `save` writes it.
        ``intervals``, ``bands`` and the diagonal ``ref_line`` can be left out, which several models on the same axes
        ask for; further arguments go to Matplotlib's line.
        """
        pyplot = _pyplot()
        with pyplot.rc_context(_paper(width) if width else {}):
            return self._drawn(ax, width, name, intervals, bands, ref_line, line)

    def save(self, path: str | Path) -> None:
        """Write the figure to a file of this ending, such as .pdf or .svg, with its typeface in it.

        A PDF has TrueType fonts, as journals ask for; an SVG has letters as outlines, which every program draws. An
        earlier file is replaced once the new one is complete.
        """
        with _pyplot().rc_context(_FILES), aside(path) as file:
            self.figure_.savefig(file, format=Path(path).suffix.removeprefix(".").lower() or None)

    def _drawn(
        self,
        ax: Any,
        width: str | None,
        name: str | None,
        intervals: bool,
        bands: bool,
        ref_line: bool,
        line: dict[str, Any],
    ) -> Self:
        from matplotlib.cbook import normalize_kwargs
        from matplotlib.lines import Line2D

        self.ax_ = _pyplot().subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        there = self.ax_.get_legend_handles_labels()[1]
        frame, title = self.diagram_.frame(), name or self.name
        drawn = sum(line.get_gid() == _MODEL for line in self.ax_.lines)
        looks = (_look(drawn) if width else {"marker": "o", "linestyle": "-"}) | normalize_kwargs(line, Line2D)
        if title is not None:
            # Matplotlib leaves names that begin with an underscore out of legends.
            looks.setdefault("label", f" {_inert(title)}" if title.startswith("_") else _inert(title))
        self.ref_line_ = self.bands_ = self.intervals_ = None
        if ref_line and IDEAL not in there:
            self.ref_line_ = self.ax_.plot([0, 1], [0, 1], ":", color=_GREY, label=IDEAL)[0]
        x, about = frame["confidence"], percent(self.diagram_.level, 0)
        if bands:
            where = f"{about} of calibrated models"
            label = "" if where in there else where
            self.bands_ = self.ax_.vlines(
                x, frame["band_low"], frame["band_high"], color=_GREY, alpha=0.35, linewidth=8, label=label, zorder=1
            )
        self.line_ = self.ax_.plot(x, frame["accuracy"], gid=_MODEL, **looks)[0]
        if intervals:
            self.intervals_ = self.ax_.vlines(
                x, frame["accuracy_low"], frame["accuracy_high"], color=self.line_.get_color(), linewidth=1.2
            )
        self.ax_.set(xlabel=_inert(self.says), ylabel=_inert(self.right))
        if width:
            self.ax_.set(xlim=_ENDS, ylim=_ENDS)
            _legend_above(self.figure_, self.ax_)
        elif self.ax_.get_legend_handles_labels()[1]:
            self.ax_.legend(loc="best")
        return self


def _pyplot() -> Any:
    if find_spec("matplotlib") is None:
        raise ImportError('displays need Matplotlib, which is not installed: pip install "calib[matplotlib]"')
    from matplotlib import pyplot

    # Loads the backend. That of notebooks then turns Matplotlib interactive, which the end of an rc_context would undo:
    # no later figure of the notebook would be shown.
    pyplot.draw_if_interactive()  # type: ignore[no-untyped-call]
    return pyplot


_FILES = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "path", "savefig.dpi": 300}
_MODEL = "model"
"""Matplotlib's `gid` of a model's line."""
_ENDS = (-0.03, 1.03)
_INK, _LINES = "#1a1a1a", "#8a8a88"


def _paper(width: str) -> dict[str, Any]:
    """Matplotlib's settings for a column of a journal."""
    from matplotlib import font_manager

    if width not in WIDTHS:
        raise InputError(f"width is {width!r}; it must be one of {', '.join(WIDTHS)}")
    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    for file in map(str, face_files()):
        if file not in known:
            font_manager.fontManager.addfont(file)
    column = WIDTHS[width]
    small = {
        f"{part}.{name}": 7 for part, name in (("xtick", "labelsize"), ("ytick", "labelsize"), ("legend", "fontsize"))
    }
    colours = dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), _LINES)
    texts = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), _INK)
    return _FILES | small | colours | texts | {
        "figure.figsize": (column.inches, min(column.inches, 4.5)),
        "figure.constrained_layout.use": True,
        "font.family": [NAME, "sans-serif"],
        "font.size": column.points,
        "axes.labelsize": column.points,
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "lines.linewidth": 1.2,
        "lines.markersize": 6,
        "legend.frameon": False,
        "legend.columnspacing": 0.8,
        "legend.handletextpad": 0.4,
        "legend.labelspacing": 0.2,
        "legend.borderpad": 0.1,
        "legend.handlelength": 1.5,
    }  # fmt: skip


def _look(number: int) -> dict[str, Any]:
    """Color, symbol and dash of a model as in every other figure."""
    from matplotlib.path import Path as Outline

    own = style(number)
    corners = outline(own.symbol)
    dash = {"solid": "-", "dash": (0, (4, 2)), "dot": (0, (1, 1.5)), "dashdot": "-."}.get(own.dash, (0, (7, 2)))
    return {"color": own.colour, "marker": Outline([*corners, corners[0]], closed=True), "linestyle": dash}


def _legend_above(figure: Any, ax: Any) -> None:
    """Write the legend above the axes, in as many columns as fit, and make the figure tall enough for it."""
    for earlier in list(figure.legends):
        earlier.remove()
    handles, labels = ax.get_legend_handles_labels()
    for columns in range(len(labels), 0, -1):
        legend = figure.legend(handles, labels, loc="outside upper left", ncols=columns, borderaxespad=0.2)
        box = legend.get_window_extent()
        if columns == 1 or box.width <= figure.bbox.width:
            figure.set_figheight(max(figure.get_figheight(), box.height / figure.dpi / MOST_FOR_LEGEND))
            return
        legend.remove()


def _inert(text: str) -> str:
    """A name as Matplotlib writes it: a dollar sign begins no formula."""
    return without_controls(text).replace("$", r"\$")


def _predictions(y_true: Any, y_prob: Any, pos_label: Any, class_names: Any, weights: ArrayLike | None) -> Predictions:
    if np.ndim(y_prob) != 1:
        if np.ndim(y_prob) == 2 and np.shape(y_prob)[1] == 1:
            raise InputError("y_prob has one column; give (n,) probabilities of one class, or one column per class")
        given = None if class_names is None else list(class_names)
        return Predictions(y_prob, y_true, class_names=given, weights=weights)
    labels, p = np.asarray(y_true), np.asarray(y_prob)
    present = set(np.unique(labels).tolist())
    if pos_label is None:
        if not any(present <= pair for pair in _BINARY):
            raise InputError("y_prob has one probability per row; give its label as pos_label=...")
        pos_label = 1
    if pos_label not in present and len(present) == 2:
        raise InputError(f"pos_label is {pos_label!r}, which is not in y_true")
    if len(present) > 2:
        raise InputError(f"y_true has {len(present)} different labels; with one probability per row there must be two")
    if p.dtype.kind not in "fiu" or not ((p >= 0) & (p <= 1)).all():
        raise InputError("y_prob must be between 0 and 1 in every row")
    positive = labels == pos_label
    others = present - {pos_label}
    names = (str(others.pop()) if others else f"not {pos_label}", str(pos_label))
    return Predictions(np.column_stack([1 - p, p]), positive.astype(int), class_names=names, weights=weights)


def _claims(predictions: Predictions, notion: Any, pos_label: Any) -> tuple[Reduction, int, str, str]:
    """The notion, the stratum of its claims that is drawn, and what the two axes are called."""
    names = predictions.class_names or ()
    if notion is None:
        notion = "class-specific" if len(names) == 2 else "confidence"
    if isinstance(notion, str):
        chosen = {"cls": _code(names, pos_label)} if REDUCTIONS[notion].flags.of == "class" else {}
        notion = REDUCTIONS.make(notion, **chosen)
    claims, declared = claims_of(predictions, notion), scope(notion)
    if declared.of == "class":
        return notion, 0, *_of_class(claims.strata[0])
    if not declared.strata_are_classes:
        if len(claims.strata) > 1:
            raise InputError(f"this notion has claims of {len(claims.strata)} kinds, of which a display draws one")
        return notion, 0, SAYS, RIGHT
    stratum = _code(names, pos_label)
    if declared.by_class:
        return notion, stratum, f"mean confidence where it predicts {called(names[stratum])}", RIGHT
    return notion, stratum, *_of_class(names[stratum])


def _code(names: Any, pos_label: Any) -> int:
    """The place of the class that is drawn: of two, the second where none is given."""
    if pos_label is None and len(names) == 2:
        return 1
    # A label of 1.0 is the class 1: so are numbers of columns called.
    wanted = str(int(pos_label)) if isinstance(pos_label, float) and pos_label.is_integer() else str(pos_label)
    if wanted not in names:
        given = "no pos_label is given" if pos_label is None else f"pos_label is {pos_label!r}"
        raise InputError(f"{given}; it must be one of the {len(names)} classes, such as {names[0]!r}")
    return int(list(names).index(wanted))


def _of_class(name: str) -> tuple[str, str]:
    return f"mean predicted probability of {called(name)}", f"share that is {called(name)}"
