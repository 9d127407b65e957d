"""Displays against scikit-learn's on the same data, against our diagrams, and against scikit-learn's contract."""

import errno
import os
import runpy
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibrationDisplay
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import calib_core as cc
from calib_core import InputError, NotAnswerable, Predictions, ReliabilityDisplay
from calib_core.diagrams import matplotlib_display

matplotlib = pytest.importorskip("matplotlib", reason="the extra `matplotlib` is not installed")
matplotlib.use("agg")
from matplotlib import pyplot  # noqa: E402


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def binary():
    rng = np.random.default_rng(0)
    p = rng.random(600)
    return (rng.random(600) < p**1.5).astype(int), p


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    probs = rng.dirichlet([1.0, 2.0, 0.5], 400)
    return probs, rng.integers(0, 3, 400)


def points(line):
    return np.column_stack(line.get_data())


@pytest.mark.parametrize(
    ("strategy", "scheme"), [("uniform", cc.binning.EqualWidth), ("quantile", cc.binning.EqualMass)]
)
def test_the_line_is_that_of_scikit_learn(binary, strategy, scheme):
    y, p = binary
    theirs = CalibrationDisplay.from_predictions(y, p, n_bins=8, strategy=strategy)
    mine = ReliabilityDisplay.from_predictions(y, p, bins=scheme(8))
    np.testing.assert_allclose(points(mine.line_), points(theirs.line_), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(points(mine.line_), np.column_stack([mine.prob_pred, mine.prob_true]))


def test_a_score_on_an_edge_lies_in_the_upper_bin_and_one_lower_in_scikit_learn():
    y, p = [0, 1, 1, 0], [0.25, 0.5, 0.5, 1.0]
    assert ReliabilityDisplay.from_predictions(y, p, bins=2).prob_pred.tolist() == [0.25, pytest.approx(2 / 3)]
    theirs = CalibrationDisplay.from_predictions(y, p, n_bins=2)
    assert theirs.prob_pred.tolist() == [pytest.approx(1.25 / 3), 1.0]


def test_what_is_drawn_is_the_diagram(rows):
    probs, labels = rows
    weights = np.arange(400) % 3
    shown = ReliabilityDisplay.from_predictions(labels, probs, sample_weight=weights, bins=6, level=0.8)
    bands = cc.diagrams.reliability_bands(Predictions(probs, labels, weights=weights), 6, level=0.8)
    frame = bands.frame()
    pd.testing.assert_frame_equal(shown.diagram_.frame(), frame)
    np.testing.assert_array_equal(points(shown.line_), frame[["confidence", "accuracy"]])
    for drawn, ends in ((shown.intervals_, "accuracy"), (shown.bands_, "band")):
        np.testing.assert_array_equal([s[:, 1] for s in drawn.get_segments()], frame[[f"{ends}_low", f"{ends}_high"]])
        np.testing.assert_array_equal([s[0, 0] for s in drawn.get_segments()], frame["confidence"])
    assert shown.ax_.get_xlabel() == "mean confidence"


@pytest.mark.parametrize("notion", ["class-specific", "class-wise", "top-label"])
def test_a_notion_of_classes_draws_the_class_that_is_named(rows, notion):
    probs, labels = rows
    names = ["cat", "dog", "$5"]
    shown = ReliabilityDisplay.from_predictions(
        np.array(names)[labels], probs, class_names=names, notion=notion, pos_label="$5", bins=4
    )
    predicted = probs.argmax(1) == 2 if notion == "top-label" else np.ones(400, dtype=bool)
    score, hit = probs[predicted, 2], labels[predicted] == 2
    of_bin = np.minimum((score * 4).astype(int), 3)
    there = np.unique(of_bin)
    np.testing.assert_allclose(shown.prob_pred, [score[of_bin == b].mean() for b in there], atol=1e-12)
    np.testing.assert_allclose(shown.prob_true, [hit[of_bin == b].mean() for b in there], atol=1e-12)
    assert r"\$5" in shown.ax_.get_xlabel()
    shown.figure_.canvas.draw()


def test_one_probability_a_row_is_that_of_the_positive_class(binary):
    y, p = binary
    plain = points(ReliabilityDisplay.from_predictions(y, p).line_)
    words = np.where(y == 1, "yes", "no")
    for labels, chosen in ((2 * y - 1, None), (y == 1, None), (words, "yes"), (y, 1)):
        np.testing.assert_array_equal(
            points(ReliabilityDisplay.from_predictions(labels, p, pos_label=chosen).line_), plain
        )
    other = ReliabilityDisplay.from_predictions(words, 1 - p, pos_label="no")
    assert other.ax_.get_xlabel() == "mean predicted probability of “no”"
    assert other.ax_.get_ylabel() == "share that is “no”"
    both = np.column_stack([1 - p, p])
    named = ReliabilityDisplay.from_predictions(words, both, class_names=np.array(["no", "yes"]))
    np.testing.assert_array_equal(points(named.line_), plain)
    np.testing.assert_array_equal(points(ReliabilityDisplay.from_predictions(y, both, pos_label=1.0).line_), plain)
    np.testing.assert_array_equal(points(ReliabilityDisplay.from_predictions(y, both).line_), plain)
    confident = ReliabilityDisplay.from_predictions(y, p, notion="confidence")
    assert confident.prob_pred.min() > 0.5


def test_it_keeps_what_scikit_learn_promises_of_displays(binary):
    y, p = binary
    X = np.column_stack([p, p**2])
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    shown = ReliabilityDisplay.from_estimator(model, X, pd.Series(y, index=range(600, 1200)), bins=5)
    theirs = CalibrationDisplay.from_estimator(model, X, y)
    np.testing.assert_allclose(points(shown.line_), points(theirs.line_), atol=1e-12)
    assert shown.line_.get_label() == theirs.line_.get_label() == "Pipeline"
    assert shown.plot() is shown
    figure, ax = pyplot.subplots()
    assert shown.plot(ax, name="mine", c="C4", ls="--").ax_ is ax
    assert (shown.figure_, shown.line_.axes) == (figure, ax)
    assert (shown.line_.get_label(), shown.line_.get_color(), shown.line_.get_linestyle()) == ("mine", "C4", "--")
    again = ReliabilityDisplay.from_predictions(y, p, ax=ax, intervals=False, bands=False)
    assert (again.ref_line_, again.bands_, again.intervals_) == (None, None, None)
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["perfect calibration", "90 % of calibrated models", "mine", "Classifier"]


def test_a_diagram_of_rows_in_groups_is_drawn_as_it_is(rows):
    probs, labels = rows
    grouped = Predictions(probs, labels, groups=np.arange(400) // 20)
    diagram = cc.diagrams.reliability_bands(grouped, 5)
    shown = ReliabilityDisplay(diagram, name="<b>$\n").plot()
    shown.figure_.canvas.draw()
    assert shown.line_.get_label() == r"<b>\$ "
    assert ReliabilityDisplay(diagram).plot().line_.get_label().startswith("_")
    named = ReliabilityDisplay(diagram, name="_hidden").plot()
    assert "_hidden" in [text.get_text().strip() for text in named.ax_.get_legend().get_texts()]


ONE_PROBABILITY = "y_prob has one probability per row; give its label as pos_label=..."


@pytest.mark.parametrize(
    ("labels", "probs", "options", "message"),
    [
        (["a", "b"], [0.1, 0.2], {}, ONE_PROBABILITY),
        (
            [0, 1, 2],
            [0.1] * 3,
            {"pos_label": 1},
            "y_true has 3 different labels; with one probability per row there must be two",
        ),
        (["a", "b"], [0.1, 0.2], {"pos_label": "c"}, "pos_label is 'c', which is not in y_true"),
        (
            [0, 1],
            [[0.1], [0.2]],
            {},
            "y_prob has one column; give (n,) probabilities of one class, or one column per class",
        ),
        ([0, 1], [0.1, 1.2], {}, "y_prob must be between 0 and 1 in every row"),
        ([0, 1], [0.1, np.nan], {}, "y_prob must be between 0 and 1 in every row"),
        ([0, 1], [0.1, 0.9], {"level": 90}, "level is 90; it must be a number between 0 and 1, both excluded"),
        ([0, 1], [0.1], {}, "2 labels for 1 rows of predictions; give one per row"),
        (
            [0, 1, 2],
            np.eye(3),
            {"notion": "class-wise"},
            "no pos_label is given; it must be one of the 3 classes, such as '0'",
        ),
        (
            [0, 1, 2],
            np.eye(3),
            {"notion": "top-k-label"},
            "this notion has claims of 9 kinds, of which a display draws one",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(labels, probs, options, message):
    with pytest.raises(InputError) as refused:
        ReliabilityDisplay.from_predictions(labels, probs, **options)
    assert str(refused.value) == message


def test_models_without_probabilities_and_notions_without_bins_are_refused(binary):
    y, p = binary
    X = p[:, None]
    with pytest.raises(InputError, match=r"^LinearSVC has no predict_proba; a display needs probabilities$"):
        ReliabilityDisplay.from_estimator(LinearSVC().fit(X, y), X, y)
    with pytest.raises(NotFittedError):
        ReliabilityDisplay.from_estimator(LogisticRegression(), X, y)
    with pytest.raises(NotAnswerable, match="no single score"):
        ReliabilityDisplay.from_predictions([0, 1, 2], np.eye(3), notion="canonical")


def test_without_matplotlib_a_sentence_says_what_to_install(monkeypatch, binary):
    monkeypatch.setattr("calib_core.diagrams.matplotlib_display.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'^displays need Matplotlib.*: pip install "calib\[matplotlib\]"$'):
        ReliabilityDisplay.from_predictions(*binary)


def test_a_notebook_stays_interactive_after_its_first_figure(monkeypatch, binary, tmp_path):
    """Jupyter's backend turns Matplotlib interactive while it is loaded, which the first figure brings about."""
    (tmp_path / "notebook_backend.py").write_text(
        "import matplotlib\nfrom matplotlib.backends.backend_agg import *\nmatplotlib.interactive(True)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(pyplot, "_backend_mod", None)  # as in a kernel that has drawn nothing
    matplotlib.rcParams["backend"] = "module://notebook_backend"
    try:
        ReliabilityDisplay.from_predictions(*binary)
        assert matplotlib.is_interactive()
    finally:
        matplotlib.interactive(False)
        matplotlib.use("agg")


def test_the_module_is_read_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "ReliabilityDisplay" in runpy.run_path(matplotlib_display.__file__)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("width", "inches"), [("single", 3.4), ("double", 7.0)])
@pytest.mark.parametrize("models", [1, 2, 3, 7])
def test_on_paper_no_text_meets_another_or_leaves_the_figure(rows, width, inches, models, tmp_path):
    probs, labels = rows
    ax = None
    for i in range(models):
        shown = ReliabilityDisplay.from_predictions(
            labels, probs ** (1 + i / 4) / (probs ** (1 + i / 4)).sum(axis=1, keepdims=True),
            name=f"Histogram binning, model {i}", ax=ax, width=width, bands=not i,
        )  # fmt: skip
        ax = shown.ax_
    figure = shown.figure_
    figure.canvas.draw()
    (legend,) = figure.legends
    ticks = [text for text in ax.get_xticklabels() if 0 <= text.get_position()[0] <= 1]
    ticks += [text for text in ax.get_yticklabels() if 0 <= text.get_position()[1] <= 1]
    texts = [ax.xaxis.label, ax.yaxis.label, *ticks, *legend.get_texts()]
    boxes = [text.get_window_extent() for text in texts if text.get_text() and text.get_visible()]
    assert not [1 for i, a in enumerate(boxes) for b in boxes[:i] if a.shrunk(0.9, 0.9).overlaps(b.shrunk(0.9, 0.9))]
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)
    assert not legend.get_window_extent().overlaps(ax.get_window_extent())
    assert legend.get_window_extent().height <= 0.12 * figure.bbox.height
    assert figure.get_size_inches()[0] == inches
    assert all(7 <= text.get_fontsize() <= 9 for text in texts)
    shown.save(tmp_path / "figure.pdf")
    assert b"Arimo" in (tmp_path / "figure.pdf").read_bytes()
    shown.save(tmp_path / "figure.svg")
    assert "<text" not in (tmp_path / "figure.svg").read_text()


def test_a_figure_that_cannot_be_written_leaves_the_earlier_file(binary, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    shown = ReliabilityDisplay.from_predictions(*binary)
    (tmp_path / "figure.pdf").write_bytes(b"old")
    monkeypatch.setattr(pyplot.Figure, "savefig", full)
    with pytest.raises(OSError, match="No space left on device") as why:
        shown.save(tmp_path / "figure.pdf")
    assert why.value.filename == str(tmp_path / "figure.pdf")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_a_width_that_no_column_has_is_refused(binary):
    with pytest.raises(InputError, match=r"^width is 'wide'; it must be one of single, double$"):
        ReliabilityDisplay.from_predictions(*binary, width="wide")
