"""Laws of every result: its repr is one short line, and it survives pickling, deep copies and joblib unchanged."""

import copy
import dataclasses
import inspect
import io
import json
import pickle
import sys
import typing
from html.parser import HTMLParser

import joblib
import numpy as np
import pandas as pd
import plotly.io as pio
import pytest
from generated import ordinary_rows

import calib_core as cc
from calib_core import Logits, Predictions, diagrams, estimate, guarantees, inference, risk, slices
from calib_core._base.arrays import Rows
from calib_core._base.diagram import Diagram
from calib_core._base.notebook_display import OneLine, Shown, no_formula
from calib_core.binning import BinTable, SimplexTable
from calib_core.claims import binary_claims
from calib_core.claims.stacked_samples import Samples
from calib_core.columns.periods import periods
from calib_core.diagrams.small_diagrams import SmallDiagrams
from calib_core.evaluation import study
from calib_core.evaluation.calibrator_choice import CalibratorChoice
from calib_core.evaluation.group_gains import GroupGains
from calib_core.figures.look import figure_template
from calib_core.inference.verdicts.events_needed import event_sample_size
from calib_core.judged import marked_answers
from calib_core.readers.checks.examination import Checked
from calib_core.readers.table_findings import Finding

NAMES = [f"{letter}, <b>a class</b> with a long\nname" * 4 for letter in "abc"]
PLOTLY = "application/vnd.plotly.v1+json"
WORDS = ("interval", "floor", "verdict")


def by_pickle(value):
    return pickle.loads(pickle.dumps(value))  # noqa: S301


def by_joblib(value):
    held = io.BytesIO()
    joblib.dump(value, held)
    held.seek(0)
    return joblib.load(held)


COPIES = [by_pickle, copy.deepcopy, by_joblib]


@pytest.fixture(scope="module")
def rows():
    probs, labels = ordinary_rows(300, 3)
    return Predictions(probs, labels, class_names=NAMES, metadata=pd.DataFrame({"place": range(300)}))


def arena_results(first):
    """Return results of two methods on two data sets."""
    return cc.arena.run([first, dataclasses.replace(first, dataset="others")], ["temperature"])


@pytest.fixture(scope="module")
def examples(rows):
    """Return one example of every public result, with 300 rows and long class names."""
    other = rows.with_probs(np.roll(rows.probs, 1, axis=1))
    made = estimate(rows, "top-label")
    fitted = cc.CALIBRATORS.make("top-label-hb").fit_on(rows)
    softened = cc.CALIBRATORS.make("temperature").fit_on(rows)
    flat, columns = (cc.REDUCTIONS.make(key).split(rows) for key in ("top-label", "class-wise"))
    whole = estimate(rows, "canonical", "ece", bins=cc.BINNINGS.make("sierpinski"))
    stratum = flat.stratum(0)
    sites = pd.DataFrame({"site": np.array(NAMES)[np.arange(300) % 3]})
    weeks = pd.DataFrame({"week": np.arange(300) // 30})
    wrong = cc.Predictions(np.tile([0.1, 0.9], (300, 1)), np.arange(300) % 2, metadata=weeks)
    sliced = rows.replace(metadata=sites, groups=np.arange(300) // 3)
    reliability = diagrams.reliability(rows)
    two = cc.Predictions(
        np.stack([1 - rows.probs[:, 0], rows.probs[:, 0]], axis=1), (rows.true_labels == 0).astype(int), metadata=sites
    )
    found = [
        rows,
        Logits(np.log(rows.probs)),
        rows.rows.take(np.arange(30)),
        flat,
        columns,
        whole.question.claims,
        stratum,
        stratum.in_order(),
        made.bins.tally,
        made.bins,
        whole.cells,
        made,
        made.question,
        made.question.answer(rows),
        made.interval(),
        made.noise_floor,
        made.verdict(),
        inference.estimate_line(made),
        inference.paired_difference(rows, other),
        inference.not_worse(rows, other),
        inference.primary(rows),
        inference.event_ratio(cc.estimate(cc.Predictions([[0.7, 0.3]] * 9, [0, 1, 0] * 3), "event").question),
        event_sample_size(estimate(two, "event").question, 0.05),
        diagrams.EventWords.of(two),
        inference.mean_gap(rows),
        (large := risk.in_the_large(two)),
        risk.ratio_verdict(large),
        risk.smooth_curve(two),
        risk.events_needed(),
        risk.multinomial_slopes(cc.Predictions(np.random.default_rng(0).dirichlet([1, 1, 1], 300), np.arange(300) % 3)),
        cc.update_gains(two, "site"),
        slices.between(two, "site"),
        slices.characteristics(two, "site"),
        inference.random_effects([0.1, 0.4], [0.1, 0.1]),
        cc.evaluation.update_test.update_test(two),
        diagrams.risk_diagram(two),
        diagrams.large_lines(two),
        (before := inference.baseline(made)),
        inference.increase(made, before),
        inference.gate_check(rows, 0.1),
        inference.OpenWarning("zeros", "The true class has probability 0 in 1 row."),
        inference.unbinned_bound(rows),
        inference.shown_at_all(rows),
        inference.CellGaps(*np.ones((4, 300))),
        cc.calls.divide(rows),
        (judged := cc.judged.judged_share(rows.correct, np.where(np.arange(300) < 60, rows.correct, np.nan))),
        judged.errors,
        cc.monitoring.over_time(two.replace(metadata=weeks), "week"),
        periods(two.replace(metadata=weeks), "week"),
        cc.monitoring.update_after_alarm(wrong, "week"),
        cc.monitoring.drift_delays(periods=12, start=4, draws=2),
        (watch := cc.Watch().add(two)),
        watch.answer(),
        watch.evidence,
        watch.sums_by_period(watch.periods),
        watch.counts["1"],
        watch.years[0],
        cc.monitoring.IncompleteBatch("2026-10", 100, 62),
        cc.monitoring.SliceError("site=a", "2026-10", 300, 50.0, 0.05, 0.01, 0.09),
        (before_labels := cc.monitoring.before_labels(two, {"2026-10": two.probs})),
        before_labels.drift,
        cc.judged.judged_answers(rows.replace(metadata=pd.DataFrame({"checked": ["yes", "no", ""] * 100}))),
        (choice := cc.choose(rows, ["temperature"])),
        choice.remaining(rows),
        diagrams.reliability_bands(rows, resamples=50),
        diagrams.BinaryMap("all", "cat", *np.ones((3, 300)), 300),
        diagrams.calibration_map(softened, lattice=4, cells=5),
        diagrams.class_gaps(rows),
        diagrams.class_table(rows),
        diagrams.class_panels(rows, [0, 1, 2]),
        diagrams.class_bins(rows, 0),
        diagrams.constraint(rows, targets=[0.2], repeats=2),
        diagrams.corp(rows),
        diagrams.corp_band(rows),
        diagrams.kernel_curve(rows),
        diagrams.recalibration("sierpinski", rows, rows),
        reliability,
        diagrams.error_sweep(rows, bins=[5, 10], floor=False),
        cc.calibrators.refitted(rows, rows, "confidence-hb"),
        diagrams.temperature_path(rows),
        diagrams.trade_off(rows, ["histogram"], "confidence", bins=[1, 2], repeats=2),
        diagrams.trade_points({"net": rows}, "confidence"),
        diagrams.class_curves(rows, [0, 1]),
        diagrams.class_validity(rows, [0, 1]),
        diagrams.validity(made.bins),
        diagrams.validity_pair(rows, softened.apply(rows), "confidence"),
        (local := diagrams.local_accuracy(rows)),
        local.answer(0.9),
        diagrams.classes_standing_out(rows),
        diagrams.levels(rows.take(np.arange(30))),
        diagrams.selective(rows),
        diagrams.decision_curve(rows, 0),
        diagrams.overall_gap(rows),
        (planned := diagrams.plan_curve("miscoverage", rows, rows)),
        planned.answer,
        cc.planning.balance_in_use(rows),
        cc.planning.validation_size(rows.confidence),
        diagrams.class_bias(rows),
        diagrams.slice_dots(slices.table(rows.replace(metadata=sites), "site")),
        slices.panels(rows.replace(metadata=sites), slices.cut(sliced, "site")),
        slices.scan(rows.replace(metadata=sites)),
        slices.multicalibration(rows.replace(metadata=sites)),
        cc.calibrators.prior_shift(rows, rows).shift,
        sliced.row_groups,
        diagrams.fitted_parameters(cc.CALIBRATORS.make("vector").fit_on(rows), rows),
        diagrams.forest(inference.estimate_lines(inference.estimates({"net": rows}, [("confidence", "ece")]))),
        diagrams.movement(rows, softened.apply(rows)),
        diagrams.verdict_strip(inference.primaries({"net": rows})),
        diagrams.zoom(rows, reliability, int(np.argmax(reliability.count))),
        guarantees.binning_promise([guarantees.UniformMassCells(500, 10, 49, 0.0)], 0.1, "confidence"),
        guarantees.Bound("marginal", 0.175, 0.9, "With probability at least 90 %, " * 20),
        guarantees.class_wise_bounds([50] * 100, 5000, [0.0005] * 100),
        study.compared(rows, fitted.apply(rows)),
        cc.calls.corners(rows, NAMES),
        cc.papers.tables.method_table(
            cc.papers.tables.method_tables({"net": rows}, ["identity"], ["Accuracy"], splits=2)
        ),
        (matched := cc.arena.ArenaExperiment("letters", "net", rows, rows.take(np.arange(200)))),
        (found_in_the_arena := arena_results(matched)),
        cc.arena.table(found_in_the_arena),
        cc.arena.mean_ranks(found_in_the_arena),
        GroupGains(
            "site", "log-loss", 0.9, 0.1, pd.DataFrame({"group": ["a"], "gain": 0.1, "low": 0.05, "high": 0.15})
        ),
        (laboratory := cc.lab.repeated("drawn", 20, 2)),
        laboratory.lines[0],
        cc.lab.true_error("drawn"),
        cc.lab.truth_curve("drawn", 50),
        cc.lab.error_curves("eces", "drawn", draws=2),
        (counted := cc.Summary.of(rows)),
        counted.top_cells,
        counted.losses["brier"],
        counted.kept_rows,
        counted.class_pairs,
        counted.class_pairs.sums,
        cc.summaries.tally(rows),
        (tally := cc.REDUCTIONS.make("top-label").split(counted)),
        (moments := tally.moments([np.empty(0)])),
        moments.exact,
        tally.stratum(0),
        tally.stratum(0).in_order(),
        cc.lab.error_distances("eces", "drawn", draws=2),
        Samples(np.full((1, 1, 2), 0.5), np.ones((1, 1, 2), dtype=bool), np.ones((1, 1))),
        cc.datasets.example_1(),
        cc.datasets.DEMOS[0],
        (
            found_in_a_file := Finding(
                "warning", "weights", f"column {NAMES[0]} is not used", {"weights": "w"}, "Use it"
            )
        ),
        Checked("Row weights", "found", findings=(found_in_a_file,)),
    ]
    return {type(one): one for one in found}


def heirs(cls):
    return {heir for below in cls.__subclasses__() for heir in (below, *heirs(below))}


def test_every_public_result_has_an_example(examples):
    exported = [getattr(module, name) for module in (inference, diagrams) for name in module.__all__]
    exported += [cc.Estimate, cc.Predictions, Logits, Rows, BinTable, SimplexTable]
    exported += [
        value for value in vars(binary_claims).values() if getattr(value, "__module__", "") == binary_claims.__name__
    ]
    results = {one for one in exported if inspect.isclass(one) and dataclasses.is_dataclass(one)}
    results |= {
        one for one in heirs(Shown) - {OneLine, Diagram, SmallDiagrams} if one.__module__.startswith("calib_core.")
    }
    assert {one for one in results if not one.__name__.startswith("_")} == set(examples)


def test_the_repr_of_a_result_is_one_short_line(examples):
    for cls, one in examples.items():
        if cls in (Finding, Checked):  # sentences about a file, never cut
            continue
        text = repr(one)
        assert text.startswith(cls.__name__ + "("), text
        assert text.endswith(")"), text
        assert len(text) < 200, text
        assert "\n" not in text, text
        assert "array(" not in text, text


class Tags(HTMLParser):
    """Tags of a piece of a page, those that are open, and its text."""

    def __init__(self, page):
        super().__init__()
        self.seen, self.open, self.styles, self.text = set(), [], "", ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.open.append(tag)
        assert {name for name, _ in attrs} <= {"style", "class", "scope"}
        self.styles += "".join(value for name, value in attrs if name == "style")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_result_in_a_notebook_is_a_small_table_of_text_in_the_colours_of_the_page(examples):
    for cls, one in examples.items():
        if issubclass(cls, Diagram):
            continue
        bundle = one._repr_mimebundle_()
        assert bundle.keys() == {"text/plain", "text/html"}
        assert bundle["text/plain"] == repr(one)
        page = bundle["text/html"]
        tags = Tags(page)
        assert not tags.open, cls
        assert tags.seen <= {"div", "strong", "table", "tr", "th", "td"}, cls
        assert "color" not in tags.styles
        assert "background" not in tags.styles
        assert tags.text.startswith(cls.__name__)
        assert len(tags.text) > len(cls.__name__) + 3, cls
        assert len(page) < 6000, cls
        assert "\n" not in page
    assert NAMES[0].replace("\n", " ")[:40] in Tags(examples[Predictions]._repr_mimebundle_()["text/html"]).text


def test_an_estimate_in_a_notebook_tells_what_it_knows_and_computes_nothing(rows):
    one = estimate(rows, "confidence")
    page = Tags(one._repr_mimebundle_()["text/html"]).text
    assert f"{one.value:.4f}" in page
    assert page.endswith("ask.interval(), .noise_floor, .verdict()")
    assert not any(one.knows(word) for word in WORDS)
    sentence = one.verdict().sentence
    page = Tags(one._repr_mimebundle_()["text/html"]).text
    for known in (
        sentence,
        one.interval().sentence,
        f"{one.noise_floor.high:.4f}: 95 % of calibrated models show no more",
    ):
        assert known in page
    assert "ask" not in page
    accuracy = estimate(rows, None, "accuracy")
    assert "show no less" in (accuracy.noise_floor and accuracy._repr_mimebundle_()["text/html"])


def test_a_choice_and_the_check_of_a_gate_state_their_answer_in_a_notebook(examples):
    choice, check = examples[CalibratorChoice], examples[inference.GateCheck]
    for one, answers in ((choice, (choice.headline, choice.effect())), (check, (check.brief,))):
        page = Tags(one._repr_mimebundle_()["text/html"]).text
        assert all(answer in page for answer in answers), page


@pytest.fixture(scope="module")
def shown(examples):
    """Return an example of every kind of diagram."""
    public = [*vars(diagrams).values(), *vars(slices).values(), *vars(cc.lab).values()]
    public += [*vars(marked_answers).values(), *vars(cc.arena).values(), *vars(cc.monitoring).values()]
    kinds = {one for one in public if inspect.isclass(one) and issubclass(one, Diagram)}
    kinds -= {Diagram}
    assert len(kinds) > 10
    assert {cls for cls in examples if issubclass(cls, Diagram)} == kinds
    return [examples[cls] for cls in sorted(kinds, key=lambda cls: cls.__name__)]


def test_every_diagram_is_its_picture_in_a_notebook_or_told_in_words(shown, monkeypatch):
    monkeypatch.setattr(pio.renderers, "default", "plotly_mimetype")
    for one in shown:
        bundle = one._repr_mimebundle_()
        if not one.drawn:
            assert bundle == {"text/plain": repr(one), "text/html": no_formula(one.frame()._repr_html_())}
            continue
        picture, figure = bundle[PLOTLY], cc.figures.draw(one)
        assert picture["data"], type(one)
        assert {name: picture[name] for name in ("data", "layout")} == json.loads(figure.to_json(remove_uids=False))
        assert figure.layout.template == figure_template(dark=False), type(one)
        assert bundle["text/plain"] == repr(one)
        assert bundle["text/html"] == no_formula(one.frame()._repr_html_())


def test_marimo_shows_the_picture_of_a_diagram_or_else_its_frame(rows, monkeypatch):
    one = diagrams.reliability(rows)
    assert one._display_() == cc.figures.draw(one)
    monkeypatch.setitem(sys.modules, "plotly", None)
    pd.testing.assert_frame_equal(one._display_(), one.frame())


def test_a_fit_of_which_there_is_nothing_to_draw_is_its_frame_in_a_notebook(rows):
    fitted = diagrams.fitted_parameters(cc.CALIBRATORS.make("temperature").fit_on(rows))
    assert fitted._repr_mimebundle_() == {
        "text/plain": repr(fitted),
        "text/html": no_formula(fitted.frame()._repr_html_()),
    }


def test_without_plotly_every_diagram_is_its_frame(shown, monkeypatch):
    for missing in ("plotly", "PIL"):
        with monkeypatch.context() as hidden:
            hidden.setitem(sys.modules, missing, None)
            for one in shown:
                assert one._repr_mimebundle_() == {
                    "text/plain": repr(one),
                    "text/html": no_formula(one.frame()._repr_html_()),
                }


@pytest.mark.parametrize("copied", COPIES)
def test_a_result_survives_being_copied(examples, copied):
    for cls, one in examples.items():
        other = copied(one)
        assert type(other) is cls
        assert repr(other) == repr(one)
        if hasattr(one, "frame"):
            pd.testing.assert_frame_equal(other.frame(), one.frame(), check_exact=True)


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("asked_before", [True, False])
@pytest.mark.parametrize(("notion", "key"), [("top-label", "ece"), ("class-wise", "debiased-l2")])
def test_a_copied_estimate_answers_with_the_same_bits(rows, notion, key, copied, asked_before):
    chosen = rows.take(np.arange(0, 300, 2))
    first = estimate(chosen, notion, key)
    answers = said(first) if asked_before else None
    other = copied(first)
    assert [other.knows(word) for word in WORDS] == [asked_before] * 3
    # Recomputed from the contents of the copy, not only passed on.
    again = dataclasses.replace(other)
    assert not any(again.knows(word) for word in WORDS)
    assert said(other) == said(again) == (answers or said(first))


def said(one):
    floor = one.noise_floor
    return one.value, one.interval(), floor.observed, floor.draws.tobytes(), one.verdict()


def test_a_copied_estimate_has_a_lock_of_its_own(rows):
    one = estimate(rows)
    assert by_pickle(one).answers._turn is not one.answers._turn
    assert copy.deepcopy(one).answers._turn is not one.answers._turn


def test_what_can_be_made_again_is_not_pickled(rows):
    one = estimate(rows.take(np.arange(30)), "class-wise")
    small = len(pickle.dumps(one))
    _ = one.question.claims, one.question.written_out
    assert len(pickle.dumps(one)) == small
    # And of a matrix of 300 rows only the 30 chosen ones.
    assert len(pickle.dumps(rows.rows.take(np.arange(30)))) < 30 * 3 * 8 + 500


@pytest.mark.parametrize("copied", COPIES)
def test_copied_predictions_stay_read_only(rows, copied):
    full = Predictions.from_logits(np.log(rows.probs), rows.labels, weights=np.arange(300) % 3, class_names=NAMES)
    full.top(2)
    asking = full.take(np.arange(100))
    withheld = full.with_probs(full.probs, abstained=np.arange(300) < 5)
    named = Predictions.from_confidence(rows.confidence, predicted=rows.predicted, labels=rows.labels)
    for one in (full, asking, withheld, named, Logits(np.zeros((3, 2)))):
        arrays = list(held_arrays(copied(one)))
        assert len(arrays) >= (1 if isinstance(one, Logits) else 4)
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


def held_arrays(value):
    for part in vars(value).values():
        for one in part if isinstance(part, tuple) else (part,):
            if isinstance(one, np.ndarray):
                yield one
            if isinstance(one, Rows):
                yield from held_arrays(one)


def test_a_large_matrix_comes_out_of_a_memory_map_of_joblib(tmp_path, rows):
    at = tmp_path / "rows.joblib"
    joblib.dump(rows, at)
    mapped = joblib.load(at, mmap_mode="r")
    assert isinstance(mapped.probs, np.memmap)
    assert said(estimate(mapped)) == said(estimate(rows))


def test_what_an_estimate_answers_is_typed():
    """Types are given by name, for type checkers: the layer of estimators does not import that of inference."""
    scope = vars(inference)
    types = {
        "interval": inference.Interval,
        "noise_floor": inference.NoiseFloor,
        "verdict": inference.Verdict,
    }
    for name, answer in types.items():
        made = inspect.getattr_static(cc.Estimate, name)
        method = made.fget if isinstance(made, property) else made
        assert typing.get_type_hints(method, None, scope)["return"] is answer
