"""Arena: the page shows the library's leaderboard of stored results or of the loaded files, in three forms."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.arena import project_results, table
from calib_core.registry.registry import Recipe
from calib_core.text import in_percent
from dashboard import session
from dashboard.chart import drawn
from dashboard.exhibits import EXHIBITS, many_experiments
from dashboard.selection import NONE, Selection, Source
from dashboard.views import arena_forms
from tests.dashboard.test_views import opened

WINE = Source(data="demo:wine-logistic")
FILES = EXHIBITS.described("arena", benchmark="files")


def texts(app: AppTest) -> str:
    return " ".join(element.value for element in (*app.markdown, *app.caption)).replace("\\", "").replace("\xa0", " ")


@pytest.mark.parametrize(("source", "kind"), [(WINE, "multiclass"), (Source(data=NONE), "binary")])
def test_stored_results_are_shown_at_once_with_or_without_data(source: Source, kind: str) -> None:
    app = opened(Selection(source=source, view="arena"))
    assert not app.exception
    board = table(project_results(kind))
    figure = drawn(app)["arena"].figure
    assert [
        text.removeprefix("<b>").removesuffix("</b>") for text in figure["layout"]["yaxis"]["ticktext"]
    ] == board.frame()["title"].tolist()
    for sentence in board.headline:
        assert sentence in texts(app)
    assert f"{board.n_experiments} experiments on {board.n_datasets} data sets." in texts(app)
    shown = app.dataframe[0].value
    assert shown["win_rate"].tolist() == board.frame()["win_rate"].tolist()


def test_the_order_and_the_benchmark_are_in_the_link_and_shared_by_both_pictures() -> None:
    app = opened(Selection(source=WINE, view="arena"))
    app.selectbox(key="exhibit.arena.benchmark").select("binary").run()
    app.selectbox(key="exhibit.arena.order").select("worse").run()
    board = table(project_results("binary"), by="worse")
    assert app.dataframe[0].value["title"].tolist() == board.frame()["title"].tolist()
    assert board.frame()["title"].tolist() != table(project_results("binary")).frame()["title"].tolist()
    chosen, problems = Selection.from_query(
        {"view": "arena", "about": "arena-ranks", "exhibits": app.query_params["exhibits"]}
    )
    assert not problems
    assert dict(chosen.exhibit("arena-ranks").params) == {"benchmark": "binary"}


def test_notes_of_the_leaderboard_are_below_it() -> None:
    notes = table(project_results("multiclass")).notes
    assert notes
    app = opened(Selection(source=WINE, view="arena", exhibits=(EXHIBITS.described("arena", benchmark="multiclass"),)))
    assert all(note in [caption.value.replace("\\", "") for caption in app.caption] for note in notes)


def test_the_loaded_files_are_compared_on_request_fold_by_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    every = many_experiments.results

    def few(benchmark: str, scene: session.Scene) -> session.Call[Any]:
        return session.call(cc.arena.run, *every(benchmark, scene).args, ["temperature", "vector"])

    for module in (many_experiments, arena_forms):
        monkeypatch.setattr(module, "results", few)
    app = opened(Selection(source=WINE, view="arena", exhibits=(FILES,)))
    assert not app.dataframe
    next(button for button in app.button if button.label == "Compute").click().run(timeout=60)
    assert not app.exception
    whole = cc.calls.read_as(cc.read_table(*cc.datasets.demo("wine-logistic")))
    divided = cc.calls.divide(whole, folds=7)
    name = session.file(WINE.data).title
    expected = table(cc.arena.run(cc.arena.divided_experiments({name: divided}), ["temperature", "vector"])).frame()
    shown = app.dataframe[0].value
    assert shown["title"].tolist() == expected["title"].tolist()
    assert shown["win_rate"].tolist() == expected["win_rate"].tolist()
    assert "7 experiments on 1 data set. Open marks" in texts(app)
    assert "Cancel" not in [button.label for button in app.button]
    scene = session.scene_of(Selection(source=WINE))
    with pytest.raises(NotAnswerable, match="two data sets"):
        scene.get(EXHIBITS.make("arena-ranks", benchmark="files").table(scene))


def test_mean_ranks_count_the_methods_that_are_significantly_worse() -> None:
    app = opened(Selection(source=WINE, view="arena", about="arena-ranks"))
    ranks = cc.arena.mean_ranks(project_results("multiclass"))
    lines = ranks.frame()
    clear = (lines["rank"] - lines["rank"].min() > ranks.critical_difference).sum()
    assert f"better than {clear} of {len(lines) - 1} other methods" in texts(app)
    pd.testing.assert_frame_equal(app.dataframe[0].value[["title", "rank"]], lines[["title", "rank"]])


def test_files_that_cannot_be_compared_are_refused_with_the_reason() -> None:
    scene = session.scene_of(Selection(source=Source(data="demo:language-model")))
    with pytest.raises(NotAnswerable, match="does not have all class probabilities"):
        scene.get(EXHIBITS.make("arena", benchmark="files").table(scene))
    for about in ("arena", "paper-tables"):
        app = opened(Selection(source=Source(data=NONE), view="arena", about=about, exhibits=(FILES,)))
        assert not app.exception
        assert [info.value for info in app.info] == ["No file is loaded."]


def test_links_of_the_former_view_open_the_papers_table() -> None:
    chosen, problems = Selection.from_query({"view": "tables", "data": WINE.data})
    assert not problems
    assert (chosen.view, chosen.about) == ("arena", "paper-tables")
    assert "Every method is fitted 5 times on 1 file" in texts(opened(chosen))


def test_the_words_of_the_picture_are_numbers_of_the_table() -> None:
    scene = session.scene_of(Selection(source=WINE))
    exhibit = EXHIBITS.make("arena")
    frame, words = scene.get(exhibit.table(scene)), exhibit.words(scene)
    for title, rate in zip(frame["title"], frame["win_rate"], strict=True):
        assert f"{title} {in_percent(rate)}" in words.alt


def test_the_button_counts_files_not_their_recalibrated_models() -> None:
    ticked = tuple(Recipe("CALIBRATORS", key) for key in ("temperature", "vector"))
    app = opened(Selection(source=WINE, view="arena", exhibits=(FILES,), calibrators=ticked))
    assert "Every calibrator is fitted on 1 file, which" in texts(app)
