"""The documented examples on screen, in commands and in files; `test_extension.py` runs this file."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scratch_calib.towards_shares import TowardsShares
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import CALIBRATORS, InputError, NotAnswerable, Recipe, RegistryError
from calib_core.exporting import python_source
from calib_core.readers import FILE_FORMATS
from dashboard import extensions, session
from dashboard.chart import drawn
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS
from dashboard.navigation import views_of
from dashboard.report import CHAPTERS, Options, build
from dashboard.report.document import TypesetTable
from dashboard.selection import Selection, Source
from dashboard.views import VIEWS
from tests.dashboard.test_views import opened

APP = Path(__file__).parents[2] / "dashboard" / "app.py"
TICKED = (CALIBRATORS.described("towards-shares", amount=0.3),)
WINE = Selection(
    source=Source(data="demo:wine-logistic", by="share"), view="reliability", calibrators=TICKED, binning="halving"
)
WIKI = b"""
||p rose||p tulip||label||
|0.7|0.3|rose|
|0.2|0.8|tulip|
|0.6|0.4|tulip|
"""


def written(app: AppTest) -> str:
    return " ".join(block.value for block in (*app.markdown, *app.caption, *app.info)).replace("\\", "")


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_draws_with_all_of_them_chosen(view: str) -> None:
    app = opened(WINE.replace(view=view, notion="runner-up", about="in-the-large"))
    assert not app.error
    assert not app.warning


# -- the calibrator -------------------------------------------------------------------------------------------


def test_an_option_that_does_not_refit_is_a_control_and_the_fit_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []
    fit = TowardsShares._fit
    counted = lambda self, *rows: (fits.append(self.amount), fit(self, *rows))  # noqa: E731
    monkeypatch.setattr(TowardsShares, "_fit", counted)
    app = opened(WINE.replace(seed=7))
    mixed = str(drawn(app)["reliability"].figure["data"])
    assert len(fits) == 1
    next(box for box in app.number_input if box.label == "Amount").set_value(0.6).run()
    assert not app.exception
    assert str(drawn(app)["reliability"].figure["data"]) != mixed
    assert len(fits) == 1


def test_what_is_declared_not_to_refit_says_what_a_new_fit_would_say() -> None:
    rows = cc.calls.divide(cc.read_predictions(*cc.datasets.demo("wine-logistic")))
    fitted = cc.calls.fitted(rows, "towards-shares")
    before = cc.calls.recalibrated(rows, fitted).probs
    changed = cc.calibrators.with_options(fitted, amount=0.6)
    again = cc.calls.fitted(rows, CALIBRATORS.make("towards-shares", amount=0.6))
    np.testing.assert_array_equal(cc.calls.recalibrated(rows, changed).probs, cc.calls.recalibrated(rows, again).probs)
    np.testing.assert_array_equal(cc.calls.recalibrated(rows, fitted).probs, before)
    assert CALIBRATORS["ts+towards-shares"].param("amount").refits
    with pytest.raises(RegistryError, match="amount is 2; it must be a number from 0 to 1"):
        cc.calibrators.with_options(fitted, amount=2)


def test_no_export_is_said_and_json_keeps_it(tmp_path: Path) -> None:
    fitted = cc.calls.fitted(cc.calls.divide(cc.read_predictions(*cc.datasets.demo("wine-logistic"))), TICKED[0])
    with pytest.raises(NotAnswerable, match="has no export as Python or ONNX; save it as JSON"):
        python_source(fitted)
    (tmp_path / "cal.json").write_text(fitted.to_json(), encoding="utf-8")
    again = cc.load_calibrator(tmp_path / "cal.json")
    np.testing.assert_array_equal(again.predict_proba([[0.2, 0.3, 0.5]]), fitted.predict_proba([[0.2, 0.3, 0.5]]))


# -- estimator, notion, binning -------------------------------------------------------------------------------


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise", "runner-up"])
def test_an_estimator_that_declares_nothing_has_a_rough_guide(notion: str) -> None:
    rows = cc.read_predictions(*cc.datasets.demo("wine-logistic"))
    estimate = cc.estimate(rows, notion, "in-the-large")
    interval = estimate.interval()
    assert interval.low < interval.point < interval.high
    assert not interval.tested
    assert "a rough guide" in str(interval)
    assert 0 < estimate.noise_floor.mean < estimate.noise_floor.high
    assert estimate.verdict().word


def test_the_estimators_view_has_the_estimator_and_the_notion() -> None:
    chosen = EXHIBITS.described("estimators", slow=True)
    app = opened(WINE.replace(view="estimators", notion="runner-up", about="in-the-large").with_exhibit(chosen))
    table = next(frame.value for frame in app.dataframe if "estimator" in frame.value.columns)
    (line,) = table[table["estimator"] == "in-the-large"].to_dict("records")
    assert line["low"] < line["point"] < line["high"]
    assert line["tested"] is False
    assert "rough guide" in written(app)


def test_the_binning_is_chosen_on_the_page_within_its_own_limits() -> None:
    app = opened(WINE.replace(binning="auto"))
    next(box for box in app.selectbox if box.label == "Bins").set_value("halving").run()
    assert not app.exception
    bars = drawn(app)["reliability"].figure["data"]
    assert bars
    slider = next(box for box in app.slider if box.label == "Number of bins")
    assert (slider.min, slider.max) == (5, 20)
    assert Selection(binning="halving", bins=25).scheme == Recipe("BINNINGS", "halving", (("bins", 20),))


# -- exhibit and view -----------------------------------------------------------------------------------------


def test_the_view_is_listed_and_drawn() -> None:
    app = opened(WINE.replace(view="at-a-glance"))
    assert [view.key for view in views_of("explore")][:2] == ["at-a-glance", "reliability"]
    gaps, scores = (frame.value for frame in app.dataframe)
    assert len(gaps) == len(scores["model"].unique()) == 2


def test_the_exhibit_and_its_function_are_on_screen_in_a_command_and_in_the_report() -> None:
    app = opened(WINE.replace(view="added"))
    assert "Added by scratch_calib" in written(app)
    shown = app.dataframe[0].value
    assert shown["rows"].iloc[0] > shown["rows"].iloc[1]  # drawn towards the shares, fewer rows are sure
    command = shlex.split(session.show_line(WINE, Recipe("EXHIBITS", "sure-and-wrong")))
    run = CliRunner().invoke(main, [*command[1:], "--format", "json"])
    assert run.exit_code == 0, run.stderr
    assert extensions.modules() == ("scratch_calib",)  # by its entry point
    record = json.loads(run.stdout)
    assert [line["rows"] for line in record["lines"]] == shown["rows"].tolist()
    others = tuple(chapter.key for chapter in CHAPTERS if chapter.key != "extensions")
    (section,) = build(WINE, Options(left_out=others)).document.sections
    assert section.title == "Added by scratch_calib"
    (table,) = [block for block in section.blocks if isinstance(block, TypesetTable)]
    assert table.frame["rows"].tolist() == shown["rows"].tolist()
    assert "\nimport scratch_calib.towards_shares\n" in record["python"]  # or nobody would know the calibrator
    names: dict[str, object] = {}
    exec(compile(record["python"], "copied", "exec"), names)
    assert names["table"]["rows"].tolist() == shown["rows"].tolist()  # type: ignore[index]


# -- the file format ------------------------------------------------------------------------------------------


def test_a_file_is_read_as_its_csv_and_messages_name_its_lines() -> None:
    table = cc.read_table(WIKI, "flowers.wiki")
    assert (table.format, table.names, table.place(1)) == ("wiki", ("p rose", "p tulip", "label"), "line 4 (row 1)")
    same = cc.read_predictions(b"p rose,p tulip,label\n0.7,0.3,rose\n0.2,0.8,tulip\n0.6,0.4,tulip\n", "flowers.csv")
    np.testing.assert_array_equal(cc.read_predictions(WIKI, "flowers.wiki").probs, same.probs)
    for data, name, message in (
        (WIKI, "flowers.csv", "flowers.csv is not CSV but looks like a wiki table; rename it to end in .wiki"),
        (b"p,label\n0.7,1\n", "p.wiki", "p.wiki is not a wiki table but looks like CSV; rename it to end in .csv"),
        (b"||||\n", "x.wiki", "x.wiki has no names between its bars"),
        (WIKI + b"|0.1|\n", "flowers.wiki", "flowers.wiki, line 6"),
    ):
        with pytest.raises(InputError, match=message):
            cc.read_table(data, name)


def test_other_files_are_still_told_by_their_own_bytes() -> None:
    for demo in cc.datasets.DEMOS:
        data, name = cc.datasets.demo(demo.key)
        named = [each.key for each in FILE_FORMATS.values() if name.endswith(tuple(f".{end}" for end in each.endings))]
        known = [each.key for each in FILE_FORMATS.values() if each.recognise and each.recognise(data)]
        assert len(named) == 1
        assert known in (named, [])


def test_a_file_is_uploaded() -> None:
    app = opened(Selection(view="data"))
    app.file_uploader[0].set_value(("flowers.wiki", WIKI, "text/plain")).run()
    assert not app.exception
    assert "flowers.wiki" in app.button(key="frame.data").label.replace("\\", "")
    assert not app.error


def test_commands_name_the_format_and_read_it(tmp_path: Path) -> None:
    assert ".wiki" in CliRunner().invoke(main, ["dashboard", "--help"]).output
    rows = b"".join(
        b"|0.%d|0.%d|%s|\n" % (i, 10 - i, b"rose" if i % 3 else b"tulip") for i in range(1, 10) for _ in "12345"
    )
    (tmp_path / "flowers.wiki").write_bytes(WIKI.partition(b"|0.7")[0] + rows)
    words = ["audit", str(tmp_path / "flowers.wiki"), "--estimator", "in-the-large", "--notion", "runner-up", "--json"]
    run = CliRunner().invoke(main, words)
    assert run.exit_code == 0, run.output
    assert "Error in the large" in run.stdout
