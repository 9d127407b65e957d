"""Classes on screen and in reports: every notion, sorting, searching and paging, one class, a thousand."""

from __future__ import annotations

import io
import json
from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from calib_core import Predictions, Recipe
from calib_core import text as number_words
from calib_core.diagrams import (
    class_claims,
    class_rows,
    class_table,
    classes_standing_out,
    kernel_curve,
    ranked_classes,
    validity_pair,
)
from calib_core.estimators import SCALES
from calib_core.inference import per_class_tests, standing_out
from calib_core.registry.registry import Value
from calib_core.text import begun, called, count, in_percent
from dashboard import report, session
from dashboard.chart import drawn, slot
from dashboard.chart.click import Click
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.classes import NOTIONS, together
from dashboard.schemes import AUTO, interval_schemes
from dashboard.selection import Selection, Source
from dashboard.session import RESULTS, Model
from tests.dashboard.test_estimator_screens import smoothed
from tests.dashboard.test_views import opened

WINE = Source(data="demo:wine-logistic")
DIGITS = Source(data="demo:digits-naive-bayes")
BINS = Recipe("CALIBRATORS", "class-wise-hb")
CURVES = ("reliability", "validity", "kernel")


def classes(source: Source = WINE, calibrators: tuple[Recipe, ...] = Selection().calibrators, **options: Value):  # type: ignore[no-untyped-def]
    """Return the classes view with these options of its small diagrams."""
    chosen = Selection(source=source, view="classes", calibrators=calibrators)
    return chosen.with_exhibit(EXHIBITS.described("class-panels", **options))


def predictions(selection: Selection, place: int = 0) -> Predictions:
    """Return the test rows of one of the models shown."""
    return RESULTS.get(session.models(selection).shown[place].predictions)


def many_classes(k: int, n: int = 400) -> str:
    """Return the key of a file of many overconfident classes."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(k, 0.1), n).astype(np.float32)
    labels = np.where(rng.random(n) < 0.5, probs.argmax(1), rng.integers(0, k, n))
    buffer = io.BytesIO()
    np.savez(buffer, probs=probs, labels=labels)
    return session.hold(buffer.getvalue(), f"{k}-classes.npz").key


def words(app: AppTest) -> str:
    return " ".join(m.value for m in (*app.markdown, *app.caption, *app.info)).replace("\\", "").replace("\u00a0", " ")


def the_list(app: AppTest) -> pd.DataFrame:
    """Return the table of all classes, the last table on the page."""
    return [frame.value for frame in app.dataframe if "mean_score" in frame.value.columns][-1]


# Every pair of a notion and a curve, and every binning, at every check; all three together with `make wide`.
_BINNINGS = [AUTO, *interval_schemes()]
_PAIRS = list(product(NOTIONS, CURVES))
_CASES = [
    pytest.param(*pair, binning, marks=() if (i - j) % min(len(_PAIRS), len(_BINNINGS)) == 0 else pytest.mark.wide)
    for i, pair in enumerate(_PAIRS)
    for j, binning in enumerate(_BINNINGS)
]


@pytest.mark.parametrize(("notion", "curve", "binning"), _CASES)
def test_the_view_with_every_notion_and_binning(notion: str, curve: str, binning: str) -> None:
    app = opened(classes(notion=notion, curve=curve).replace(binning=binning))
    one = ["class-kernel"] if curve == "kernel" else []
    assert list(drawn(app)) == ["class-panels", "class-errors", *one]


def test_one_order_is_that_of_all_that_is_shown() -> None:
    selection = classes(DIGITS, notion="class-wise", sort="share", search="1")
    app = opened(selection)
    table = class_table(predictions(selection), "class-wise")
    names = [table.names[c] for c in ranked_classes(table, "share", "1")]
    assert the_list(app)["class"].tolist() == names
    (panels, errors, _) = (frame.value for frame in app.dataframe)
    assert errors["class"].tolist() == names
    assert set(panels["class"]) == set(names)
    assert "with “1” in their name, largest share of its rows first" in words(app)


def test_options_are_chosen_on_screen_and_another_order_begins_at_the_first_page() -> None:
    app = opened(classes(page=3, search="zz"))
    assert "No class has 'zz' in its name; change the search." in words(app)
    assert not drawn(app)
    app.text_input(key="exhibit.class-panels.search").set_value("").run()
    assert not app.exception
    kept = Selection.from_query(dict(app.query_params))[0].exhibit("class-panels")
    assert kept.params == ()
    # Three classes are on one page: there is nothing to search or to turn over.
    assert not [box for box in (*app.text_input, *app.number_input) if str(box.key).startswith("exhibit.class-panels")]
    app = opened(classes(Source(data=many_classes(30)), page=3))
    app.selectbox(key="exhibit.class-panels.curve").select("validity").run()
    app.number_input(key="exhibit.class-panels.page").set_value(2).run()
    assert dict(Selection.from_query(dict(app.query_params))[0].exhibit("class-panels").params) == {
        "curve": "validity",
        "page": 2,
    }


@pytest.mark.parametrize("scale", list(SCALES))
def test_one_class_has_its_kernel_curve_with_band_and_local_error(scale: str) -> None:
    kernel = smoothed(scale=scale)
    selection = classes(notion="class-wise", curve="kernel").replace(code=1)
    curve = kernel_curve(predictions(selection), "class-wise", 1, kernel.build())
    score = next(score for score in (0.6, 0.05, 0.02) if np.isfinite(curve.local_error(score)))
    selection = selection.with_exhibit(EXHIBITS.described("kernel-curve", kernel=kernel, score=score))
    app = opened(selection)
    assert not app.error
    np.testing.assert_array_equal(drawn(app)["class-kernel"].trace("kernel curve")["y"], curve.curve)
    text = words(app)
    assert curve.about in text
    error = number_words.short_percent(curve.local_error(score))
    assert f"calibration error at {number_words.short_percent(score)} is {error}." in text
    assert f"Bandwidth {curve.bandwidth:.2g} ({curve.unit})" in text
    assert app.query_params["code"] == "1"
    small = drawn(app)["class-panels"].figure["data"]
    assert any(np.array_equal(trace["x"], curve.score) for trace in small), "the small diagrams have the same scale"


def test_without_a_choice_the_curve_is_of_the_class_furthest_off() -> None:
    selection = classes(DIGITS, curve="kernel")
    rows = predictions(selection)
    table = class_table(rows)
    worst = int(np.nanargmax(table.error))
    app = opened(selection)
    assert app.selectbox(key="classes.one").value == worst
    curve = kernel_curve(rows, "top-label", worst)
    np.testing.assert_array_equal(drawn(app)["class-kernel"].trace("kernel curve")["y"], curve.curve)
    beyond = opened(selection.replace(code=99))
    assert beyond.selectbox(key="classes.one").value == worst


def test_the_curve_is_of_the_model_looked_at() -> None:
    selection = classes(curve="kernel", notion="class-wise").replace(code=2, model="Temperature scaling")
    curve = kernel_curve(predictions(selection, 1), "class-wise", 2)
    app = opened(selection)
    np.testing.assert_array_equal(drawn(app)["class-kernel"].trace("kernel curve")["y"], curve.curve)


def test_a_class_that_nobody_predicts_has_no_curve() -> None:
    rows = np.tile([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]], (40, 1))
    frame = pd.DataFrame(rows, columns=["a", "b", "c"]).assign(label=["a", "b", "a", "c"] * 20)
    key = session.hold(frame.to_csv(index=False).encode(), "two of three.csv").key
    app = opened(classes(Source(data=key), (), curve="kernel").replace(code=2))
    assert "No test row has a claim about c, so there is no curve." in words(app)
    assert "class-kernel" not in drawn(app)


def test_validity_of_a_class_is_shown_before_and_after_on_the_same_bins() -> None:
    selection = classes(WINE, (BINS,), notion="class-wise", curve="validity")
    app = opened(selection)
    title = Model(WINE, BINS).title
    before, after = predictions(selection), predictions(selection, 1)
    pairs = [validity_pair(before, after, "class-wise", None, c) for c in range(after.n_classes or 0)]
    shown = [t for t in drawn(app)["class-panels"].figure["data"] if t.get("name") == f"before, bins of {title}"]
    assert {tuple(t["y"][1:]) for t in shown} == {tuple(pair.before.share) for pair in pairs}
    own = [t for t in drawn(app)["class-panels"].figure["data"] if t.get("name") == title]
    assert {tuple(t["x"][1:]) for t in own} == {tuple(pair.after.eps) for pair in pairs}
    assert "Dotted: the original model" in words(app)


def test_a_model_that_cannot_be_set_beside_the_base_model_is_shown_alone_and_says_why() -> None:
    selection = classes(WINE, (BINS,), curve="validity")
    app = opened(selection)
    assert "Class-wise histogram binning, without the original model: " in words(app)
    assert "Dotted" not in words(app)
    names = [t.get("name") for t in drawn(app)["class-panels"].figure["data"]]
    assert "Class-wise histogram binning" in names


def test_every_class_has_a_test_corrected_for_their_number() -> None:
    selection = classes(notion="class-wise", sort="name")
    table = the_list(opened(selection))
    for i, model in enumerate(session.models(selection).shown):
        tests = per_class_tests(predictions(selection, i), "class-wise", families=4, fewest=10)
        np.testing.assert_array_equal(table[f"p_holm, {model.title}"], tests["p_holm"])
        np.testing.assert_allclose(table[f"error, {model.title}"], tests["error"], atol=1e-12)


def test_weighted_rows_have_errors_and_no_tests_and_say_why() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet((1, 1, 1), 200)
    labels = [rng.choice(["a", "b", "c"], p=row) for row in p]
    weights = np.tile([0.5, 1.25], 100)
    frame = pd.DataFrame(p, columns=["a", "b", "c"]).assign(label=labels, weight=weights)
    key = session.hold(frame.to_csv(index=False).encode(), "weighted.csv").key
    source = Source(data=key, reading='{"weights":"weight"}')
    app = opened(classes(source, ()))
    assert "Original model, no tests: per-class tests count rows, but these rows have weights" in words(app)
    assert "Order: error times share" in words(app)
    assert the_list(app)["p_holm, Original model"].isna().all()
    assert the_list(app)["error, Original model"].notna().all()


def test_a_model_without_claims_about_classes_is_one_sentence() -> None:
    app = opened(classes(Source(data="demo:language-model"), (), notion="class-wise"))
    assert "probabilities of other classes are unknown" in words(app)
    assert not drawn(app)
    assert len(app.info) == 1


def test_a_thousand_classes_are_a_table_and_a_dozen_small_diagrams() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(1000, 0.02), 3000).astype(np.float32)
    buffer = io.BytesIO()
    np.savez(buffer, probs=probs, labels=probs.argmax(1))
    key = session.hold(buffer.getvalue(), "thousand.npz").key
    selection = classes(Source(data=key), page=3)
    app = opened(selection)
    names = the_list(app)["class"].tolist()
    assert len(names) == 1000
    assert list(drawn(app)) == ["class-errors"]
    lines = drawn(app)["class-errors"].figure["layout"]["xaxis"]["ticktext"]
    assert [line.rstrip("\u00a0") for line in lines] == names[:100]
    app.session_state["classes.panels"] = True
    app.run()
    titles = [note["text"] for note in drawn(app)["class-panels"].figure["layout"]["annotations"]]
    assert [title.partition("</b>")[0].removeprefix("<b>") for title in titles] == names[24:36]
    assert f"12 of {count(1000)} classes" in words(app)
    assert "page 3 of 84" in words(app)


@pytest.mark.parametrize(("k", "first"), [(20, "class-panels"), (21, "class-errors")])
def test_above_twenty_classes_each_is_a_line_and_small_diagrams_are_shown_on_request(k: int, first: str) -> None:
    selection = classes(Source(data=many_classes(k)))
    app = opened(selection)
    assert next(iter(drawn(app))) == first
    assert ("class-panels" in drawn(app)) == (k == 20)
    if k > 20:
        drawn_classes = drawn(app)["class-errors"].figure["layout"]["xaxis"]["ticktext"]
        assert list(drawn_classes) == the_list(app)["class"].tolist()


def test_a_report_has_the_page_on_screen() -> None:
    selection = classes(DIGITS, curve="kernel", notion="class-wise", sort="rows").replace(code=4)
    selection = selection.with_exhibit(EXHIBITS.described("kernel-curve", band="whole-curve"))
    left_out = ("summary", "data", "reliability", "calibrators", "estimators", "simplex", "methods", "again")
    made = report.build(selection, report.Options(date="Made on a day", left_out=left_out))
    found = {figure.name: figure.drawn for _, figure in made.document.figures}
    assert list(found) == ["class-panels", "class-curves", "class-kernel", "class-errors"]
    app = opened(selection)
    for name, key in (
        ("class-curves", "class-panels"),
        ("class-kernel", "class-kernel"),
        ("class-errors", "class-errors"),
    ):
        shown = drawn(app)[key].figure["data"]
        assert [trace.get("name") for trace in shown] == [trace.name for trace in found[name].data]
        for one, other in zip(shown, found[name].data, strict=True):
            np.testing.assert_array_equal(np.asarray(one["y"], float), np.asarray(other.y, float))
    tables = {table.name: table.frame for _, table in made.document.tables}
    pd.testing.assert_frame_equal(tables["classes"], the_list(app)[tables["classes"].columns])


def test_exhibits_that_stand_together_follow_one_another() -> None:
    selection = classes(notion="class-wise", sort="rows", search="a", page=2)
    selection = selection.with_exhibit(EXHIBITS.described("class-errors", notion="top-label", page=7))
    fixed = together(selection)
    assert fixed["class-errors"] == {"notion": "class-wise", "sort": "rows", "search": "a", "page": 2}
    assert fixed["classes"] == {"notion": "class-wise", "sort": "rows", "search": "a"}
    assert fixed["class-kernel"]["notion"] == "class-wise"


def test_the_view_opens_with_the_classes_that_stand_out_and_says_so() -> None:
    selection = classes(DIGITS, ())
    rows = predictions(selection)
    outstanding = standing_out(per_class_tests(rows, "top-label", families=4, fewest=10))
    names = rows.class_names or ()
    app = opened(selection)
    assert the_list(app)["class"].tolist()[: len(outstanding)] == [names[code] for code in outstanding]
    assert f"{len(outstanding)} of 10 classes are significantly off: " in words(app)
    # In the words of the overview's card: the same numbers, rounded alike.
    found = classes_standing_out(rows).headline
    assert found.startswith(f"{begun(called(names[outstanding[0]]))} contributes most to the error: ")
    assert f"{found} (" in words(app)
    ticks = drawn(app)["class-errors"].figure["layout"]["yaxis"]["ticktext"]
    assert [name.startswith("<b>") for name in ticks] == [True] * len(outstanding) + [False] * (10 - len(outstanding))
    noise = drawn(app)["class-errors"].trace("calibrated model")["x"]
    order = [names.index(name) for name in the_list(app)["class"]]
    np.testing.assert_array_equal(noise, per_class_tests(rows, "top-label")["calibrated"].to_numpy()[order])


def test_where_no_class_stands_out_the_view_says_so() -> None:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.full(5, 0.5), 600)
    labels = (rng.random(600)[:, None] > probs.cumsum(1)[:, :-1]).sum(1)
    buffer = io.BytesIO()
    np.savez(buffer, probs=probs, labels=labels)
    app = opened(classes(Source(data=session.hold(buffer.getvalue(), "calibrated.npz").key, by="share"), ()))
    assert "None of 5 classes is significantly off (corrected for multiple testing), nor are they jointly" in words(app)
    assert "contributes most" not in words(app)


def test_classes_with_too_few_rows_for_a_test_are_not_counted_among_those_tested() -> None:
    """Six classes, of which the last is hardly ever predicted."""
    rng = np.random.default_rng(3)
    probs = rng.dirichlet([0.5] * 5 + [0.005], 600)
    labels = (rng.random(600)[:, None] > probs.cumsum(1)[:, :-1]).sum(1)
    buffer = io.BytesIO()
    np.savez(buffer, probs=probs, labels=labels)
    source = Source(data=session.hold(buffer.getvalue(), "rare.npz").key, by="share")
    scene = session.scene_of(Selection(source=source, calibrators=()))
    exhibit = EXHIBITS.make("class-errors")
    frame = scene.get(exhibit.tested(scene))
    assert (len(frame), frame["p_holm"].notna().sum()) == (6, 5)
    assert exhibit.outstanding(scene).startswith("No class is significantly off (5 of 6 have enough rows")


def test_a_click_on_a_bin_of_a_small_diagram_shows_its_class_and_its_rows() -> None:
    app = opened(classes(DIGITS, ()))
    columns = drawn(app)["class-panels"].figure["layout"]["meta"]["columns"]
    rows = predictions(classes(DIGITS, ()))
    assert len({column["axis"] for column in columns}) == 10
    record = next(c["record"] for c in columns if c["record"]["code"] == 8 and c["high"] > 0.99)
    app.session_state[slot("class-panels")] = Click(0, 0, record, 0.5, 0.5, 1)
    app.run()
    assert not app.exception
    assert (app.query_params["code"], app.query_params["bin"]) == ("8", str(record["bin"]))
    claims = class_claims({"net": rows}, 8).iloc[0]
    says, right = in_percent(claims["says"]), in_percent(claims["right"])
    assert f"its mean confidence is {says} and its accuracy {right}" in words(app)
    numbers = session.parts(DIGITS).test_rows
    wanted = class_rows(rows, 8, numbers, None, record["bin"])
    shown = next(frame.value for frame in app.dataframe if "label" in frame.value.columns)
    assert shown["row"].tolist() == wanted["row"].tolist()
    assert (shown["predicted"] == "8").all()
    # A class without a bin is the whole class.
    app.session_state[slot("class-errors")] = Click(0, 0, {"code": 1}, 0.5, 0.5, 2)
    app.run()
    assert "bin" not in app.query_params
    shown = next(frame.value for frame in app.dataframe if "label" in frame.value.columns)
    assert len(shown) == class_claims({"net": rows}, 1)["rows"].iloc[0]


def test_every_column_of_the_small_diagrams_holds_the_marks_of_its_record() -> None:
    scene = session.scene_of(classes(WINE))
    figure = scene.get(EXHIBITS.make("class-panels").figure(scene))
    columns = {(c["axis"], c["record"]["bin"]): c for c in figure.layout.meta["columns"]}
    seen = Counter[bool]()
    for trace in figure.data:
        for x, mark in zip(trace.x, trace.customdata or (), strict=False):
            if mark is None:
                continue
            seen[mark["bin"] is None] += 1
            if mark["bin"] is None:  # several bins of few rows: a click selects their class
                assert mark["code"] in {c["record"]["code"] for c in columns.values() if c["axis"] == trace.xaxis}
                continue
            column = columns[trace.xaxis, mark["bin"]]
            assert column["record"] == {"code": mark["code"], "bin": mark["bin"]}
            assert column["low"] - 1e-9 <= x <= column["high"] + 1e-9
    assert min(seen[False], seen[True]) >= 3


def test_what_could_only_be_empty_is_not_offered() -> None:
    top = opened(Selection(source=Source(data="demo:language-model"), view="classes"))
    assert not [box for box in top.selectbox if box.key == "exhibit.class-panels.notion"]
    offered = next(group for group in top.button_group if "Classes" in str(group.options))
    assert "Simplex" not in str(offered.options)
    assert "1 view not available" in words(top)
    whole = opened(Selection(source=WINE, view="classes"))
    assert [box for box in whole.selectbox if box.key == "exhibit.class-panels.notion"]
    assert "Simplex" in str(next(group for group in whole.button_group if "Classes" in str(group.options)).options)


def test_shares_of_classes_are_shares_of_all_rows() -> None:
    app = opened(Selection(source=DIGITS, view="data"))
    frame = next(frame for frame in app.dataframe if list(frame.value.columns) == ["class", "rows", "share"])
    bar = json.loads(frame.proto.columns)["share"]["type_config"]
    assert (bar["min_value"], bar["max_value"]) == (0.0, 100.0)
    assert frame.value["share"].sum() == pytest.approx(100.0)


def test_the_basis_says_whose_rows_it_counts() -> None:
    rows = session.parts(Source(data="demo:digits-naive-bayes")).test
    found = classes_standing_out(rows)
    assert found.stands_out[0]
    assert found.basis.startswith(f"{begun(called(found.names[0]))}: {found.rows[0]:,.0f} rows")
    assert found.rows[0] < rows.n_rows
