"""Files are stored by content, results by recipe; both are computed once and dropped by size."""

from __future__ import annotations

import io
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from shown_models import fitted, judged

import calib_core as cc
from calib_core import CALIBRATORS, InputError, NotAnswerable, Recipe
from calib_core.datasets import DEMOS
from dashboard import session
from dashboard.selection import Selection, Source
from dashboard.session import Model, ResultCache, scene
from dashboard.session.result_cache import arrays

CSV = b"cat,dog,label\n" + b"0.7,0.3,cat\n0.4,0.6,dog\n" * 20


def test_a_value_is_made_once_however_many_ask() -> None:
    shelf, runs = ResultCache(100), []

    def make() -> str:
        time.sleep(0.05)
        runs.append(1)
        return "value"

    threads = [threading.Thread(target=shelf.put, args=("key", make)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert runs == [1]
    assert not shelf._turns


def test_the_least_recently_used_is_forgotten_first() -> None:
    shelf = ResultCache(2048)
    for key in "ab":
        shelf.put(key, lambda: np.zeros(128))
    assert shelf.find("a") is not None
    shelf.put("c", lambda: np.zeros(128))
    assert shelf.find("b") is None
    assert shelf.find("a") is not None
    assert shelf.find("c") is not None


def test_a_failing_value_is_not_kept_and_does_not_block() -> None:
    shelf = ResultCache(10)
    with pytest.raises(InputError, match="once"):
        shelf.put("key", lambda: (_ for _ in ()).throw(InputError("once")))
    assert shelf.put("key", lambda: "later") == "later"


def test_scopes_share_nothing() -> None:
    shelf = ResultCache(1000)
    assert shelf.put("key", lambda: 1, "one") == 1
    assert shelf.put("key", lambda: 2, "two") == 2
    assert shelf.find("key") is None


def test_a_refusal_is_kept_in_its_words_and_a_missing_file_is_not() -> None:
    shelf, source = ResultCache(1 << 20), Source(data="demo:language-model")
    model = Model(source, Recipe("CALIBRATORS", "temperature"))
    with pytest.raises(NotAnswerable) as first:
        shelf.get(model.predictions)
    assert shelf.knows(model.fitted)
    with pytest.raises(NotAnswerable) as second:
        shelf.get(model.predictions)
    assert str(first.value) == str(second.value)
    assert first.value is not second.value


def test_what_a_listener_raises_stops_the_work_and_keeps_nothing() -> None:
    shelf, model = ResultCache(1 << 20), Model(Source(data="demo:digits-naive-bayes"))
    names: list[str] = []

    def listen(name: str, percent: int) -> None:
        names.append(name)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shelf.get(model.predictions, listen)
    assert names == ["divide"]
    assert not shelf.knows(model.division)


def test_a_value_is_as_large_as_the_arrays_it_reaches() -> None:
    whole = np.zeros(1000)
    assert sum(arrays({"a": whole[:10], "b": [whole, whole[5:]]}).values()) - whole.nbytes < 200
    assert sum(arrays(session.parts(Source(data="demo:digits-naive-bayes"))).values()) > 1797 * 10 * 8


def test_an_array_that_results_share_counts_once() -> None:
    shelf, whole = ResultCache(12_000), np.zeros(1000)
    for key in "abcd":
        shelf.put(key, lambda: {"rows": whole[:10]})
    assert all(shelf.find(key) is not None for key in "abcd")
    shelf.put("e", lambda: np.zeros(1000))
    assert [shelf.find(key) is not None for key in "abcde"] == [False] * 4 + [True]
    shelf.clear()
    assert shelf._bytes == 0
    assert not shelf._shared


def test_one_file_is_held_once_whatever_it_is_called() -> None:
    first, second = session.hold(CSV, "a.csv"), session.hold(CSV, "b.csv")
    assert (first.key, first.title, second.title) == (second.key, "a.csv", "b.csv")
    assert session.file(first.key) is second
    for name, column in first.table.columns.items():
        assert np.shares_memory(column, second.table.columns[name])


def test_uploads_that_differ_in_one_entry_do_not_meet() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(10), 50_000).astype(np.float32)
    labels = rng.integers(0, 10, 50_000)
    keys = set()
    for i in range(3):
        changed = probs.copy()
        changed[40_000 + i] = np.eye(10, dtype=np.float32)[3]
        buffer = io.BytesIO()
        np.savez(buffer, probs=changed, labels=labels)
        held = session.hold(buffer.getvalue(), "p.npz")
        keys.add(held.key)
        assert session.whole(held.key, "").probs[40_000 + i, 3] == 1
    assert len(keys) == 3


def test_data_that_is_not_here_is_named_in_one_sentence() -> None:
    with pytest.raises(session.Missing) as caught:
        session.parts(Source(data="sha256:" + "ab" * 32))
    assert str(caught.value) == (
        "This link needs an uploaded file that is not here (its content hash begins with 'abababab'). "
        "Upload the same file again."
    )
    with pytest.raises(session.Missing, match="no demo data set 'demo:none'"):
        session.parts(Source(data="demo:none"))


@pytest.mark.parametrize("key", [demo.key for demo in DEMOS])
def test_calibration_and_test_rows_of_every_demo_are_apart(key: str) -> None:
    source = Source(data=f"demo:{key}")
    parts = session.parts(source)
    assert (parts.folds is not None) == (session.split_by(source) == "folds")
    if parts.folds is not None:  # few rows: each is judged after maps of the other folds
        parts = session.parts(replace(source, by="share"))
    assert not set(parts.fit_rows) & set(parts.test_rows)
    assert parts.fit.n_rows + parts.test.n_rows == session.whole(f"demo:{key}", "").n_rows


def test_a_split_column_is_used_unless_told_otherwise() -> None:
    source = Source(data="demo:synthetic-three-class")
    assert session.split_by(source) == "column"
    assert session.split_by(Source(data=source.data, by="share")) == "share"


def test_two_files_are_calibration_and_test_rows() -> None:
    other = CSV + b"0.2,0.8,dog\n"
    first, second = session.hold(CSV, "fit.csv"), session.hold(other, "test.csv")
    parts = session.parts(Source(data=first.key, test=second.key))
    assert (parts.fit.n_rows, parts.test.n_rows) == (40, 41)


def test_two_files_of_different_classes_are_refused() -> None:
    first = session.hold(CSV, "fit.csv")
    with pytest.raises(InputError, match="do not have the same classes in the same order"):
        session.parts(Source(data=first.key, test="demo:digits-naive-bayes"))
    renamed = session.hold(CSV.replace(b"dog", b"cow"), "test.csv")
    with pytest.raises(InputError, match="class 1 is 'dog' and 'cow'"):
        session.parts(Source(data=first.key, test=renamed.key))


def test_a_calibrator_is_fitted_on_the_calibration_rows_only() -> None:
    source = Source(data="demo:digits-naive-bayes")
    parts = session.parts(source)
    recipe = Recipe("CALIBRATORS", "temperature")
    expected = CALIBRATORS.make("temperature").fit(parts.fit.probs, parts.fit.true_labels).temperature_
    assert fitted(Model(source, recipe)).temperature_ == expected  # type: ignore[attr-defined]


def test_a_calibrator_that_needs_all_probabilities_is_refused_with_the_reason() -> None:
    source = Source(data="demo:language-model")
    with pytest.raises(NotAnswerable, match="probabilities of other classes are unknown"):
        judged(Model(source, Recipe("CALIBRATORS", "temperature")))
    models = session.models(
        Selection(
            source=source, calibrators=(Recipe("CALIBRATORS", "temperature"), Recipe("CALIBRATORS", "top-label-hb"))
        )
    )
    assert [recipe.key for recipe in models.shown] == ["identity", "top-label-hb"]
    assert [recipe.key for recipe, _ in models.refused] == ["temperature"]


@pytest.mark.parametrize("bins", [5, 10, 25])
def test_the_numbers_shown_are_those_of_the_library(bins: int) -> None:
    selection = Selection(source=Source(data="demo:digits-naive-bayes"), binning="equal-width", bins=bins)
    test = session.parts(selection.source).test
    model = Model(selection.source, session.BASE)
    frame = cc.evaluation.study.summaries(judged(model), [selection.scheme.build()])[0].set_index("measure")["value"]
    assert frame["TL-ECE"] == pytest.approx(cc.estimate(test, "top-label", "ece", bins=bins).value, abs=1e-14)
    assert frame["conf-MCE"] == pytest.approx(cc.estimate(test, "confidence", "mce", bins=bins).value, abs=1e-14)
    assert frame["Log loss"] == cc.estimate(test, None, "log-loss").value


def test_what_would_take_minutes_is_told_by_rows_times_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = session.scene_of(Selection(source=Source(data="demo:wine-logistic")))
    rows = session.parts(Source(data="demo:wine-logistic")).test
    assert rows.n_classes is not None
    for limit, large in ((rows.n_rows * rows.n_classes - 1, True), (rows.n_rows * rows.n_classes, False)):
        monkeypatch.setattr(scene, "LARGE", limit)
        assert shown.large is large


@pytest.mark.parametrize(
    ("header", "row", "severity"),
    [
        ("risk,died", "0.9,{y}", "note"),
        ("risk,died,age", "0.9,{y},40", "note"),
        ("risk,died,patient", "0.9,{y},{i}", "warning"),
        ("p_a,p_b,p_c,label", "0.3,0.5,0.2,b", "warning"),
    ],
)
def test_equal_rows_are_a_leak_only_where_rows_tell_cases_apart(header: str, row: str, severity: str) -> None:
    """Rows like "0.9, died" can be equal and belong to two patients."""

    def held(name: str, first: int) -> str:
        marks = (f"{0.01 * i:.2f},{0.5 - 0.01 * i:.2f},0.5,a" for i in range(first, first + 25))
        more = marks if "p_a" in header else (f"0.{i:02d},{i % 2},{i + 100}" for i in range(first, first + 25))
        lines = [row.format(y=i % 2, i=i) for i in range(2)]
        lines += [",".join(line.split(",")[: header.count(",") + 1]) for line in more]
        return session.hold("\n".join([header, *lines]).encode(), name).key

    found = session.shared(Source(data=held("fit.csv", 0), test=held("test.csv", 25)))
    assert found is not None
    assert found.severity == severity
    assert found.message.startswith("2 of 27 test rows")
