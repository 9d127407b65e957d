"""`calib reproduce` and the view Papers: numbers are the library's, links open, long work runs on request."""

import io
import json
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qsl

import pandas as pd
import pytest
from click.testing import CliRunner
from generated import ordinary_rows

from calib_core import Recipe, read_predictions
from calib_core.papers.reproductions import REPRODUCTIONS, from_files, gallery, overview, published, reproduced
from dashboard import session
from dashboard.chart.drawn import drawn
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS
from dashboard.selection import Selection, Source
from dashboard.theme import markdown_plain
from dashboard.views import VIEWS, exhibited, papers
from tests.dashboard.test_views import opened


def read(text):
    return pd.read_csv(io.StringIO(text), keep_default_na=False, dtype={"published": str})


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["reproduce", *arguments], prog_name="calib")
    assert result.exit_code == code, result.output
    return result


def chosen(**params):
    return Selection(view="papers", exhibits=(EXHIBITS.described("reproduction", **params),))


# ---- terminal output -------------------------------------------------------------------------------------------


def test_without_a_figure_the_list_is_shown():
    lines = run().stdout.splitlines()
    # Lines that begin with a blank continue the one above: the table fits the terminal.
    firsts = [line.split()[0] for line in lines[1:] if line.strip() and not line[0].isspace()]
    assert firsts[: len(REPRODUCTIONS)] == overview()["key"].tolist()
    assert any(line.startswith("p2-definition-5-2: a misprint: ") for line in lines)


def test_a_figure_is_made_again_in_every_form():
    found = reproduced("p1-example-1")
    text = run("p1-example-1", "--quick").stdout
    assert "Gupta and Ramdas (2022), Section 2, Example 1: " in text
    assert "In the dashboard: ?data=demo:example-1&view=reliability" in text
    pd.testing.assert_frame_equal(read(run("p1-example-1", "--csv").stdout), found, check_dtype=False)
    record = json.loads(run("p1-example-1", "--json", "--quick").stdout)
    assert [line["ours"] for line in record["lines"]] == found["ours"].tolist()
    assert record["options"]["quick"]
    assert record["versions"]


def test_what_is_kept_is_shown_without_a_run():
    shown = read(run("p1-theorem-1", "--kept", "--csv").stdout)
    assert shown["ours"].tolist() == gallery("p1-theorem-1")["ours"].tolist()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["p9"], "there is no reproduction 'p9'; the command calib reproduce lists all keys"),
        (["p1-tabel-2"], "did you mean 'p1-table-2' or"),
        (["p1-table-2"], "(`calib reproduce p1-table-2 --files FOLDER`)"),
        (["p1-example-1", "--files", "."], "p1-example-1 needs no files: leave them out"),
        (["p1-example-1", "--quick", "--kept"], "--quick and --kept exclude each other"),
        (["p1-example-1", "--splits", "2"], "go with --files"),
        (["--csv", "--json"], "--json and --csv exclude each other"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(words, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("net.csv").write_text("confidence,correct\n0.5,1\n", "utf-8")
    assert sentence in run(*words, code=2).stderr


def test_networks_of_a_folder_stand_beside_the_papers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    probs, labels = ordinary_rows(240, 3)
    path = Path("nets/cifar10_resnet50.csv")
    path.parent.mkdir()
    pd.DataFrame(probs, columns=["p_0", "p_1", "p_2"]).assign(label=labels).to_csv(path, index=False)
    shown = read(run("p1-table-3", "--files", "nets", "--splits", "2", "--csv").stdout)
    expected = from_files("p1-table-3", {path.name: read_predictions(path)}, splits=2)
    assert shown["published"].astype(float).tolist() == [0.46, 0.42, 0.35, 0.35, 0.50, 0.28]
    assert shown["ours"].tolist() == expected["ours"].tolist()


def test_what_needs_no_files_is_refused_before_any_is_read(tmp_path):
    (tmp_path / "notes.txt").write_text("no predictions")
    for keys in (["p1-example-1"], ["p1-table-3", "p1-example-1"]):
        result = run(*keys, "--files", str(tmp_path), code=2)
        assert result.stderr == "calib reproduce: p1-example-1 needs no files: leave them out\n"


# ---- on screen -------------------------------------------------------------------------------------------------


def test_every_link_opens_a_view_that_there_is():
    for entry in REPRODUCTIONS.values():
        for link in filter(None, (entry.link, *entry.also.values())):
            choices, problems = Selection.from_query(dict(parse_qsl(link)))
            assert not problems, entry.key
            assert choices.view in VIEWS, entry.key
            assert f"view={choices.view}" in link, entry.key
            for recipe in choices.exhibits:
                recipe.build()


@pytest.mark.parametrize(
    ("key", "experiment", "truth"),
    [
        ("p2-figure-4", "squares", "sigmoid"),
        ("p2-figure-4", "eces", "sigmoid"),
        ("p2-appendix-e-a", "bins", "sigmoid"),
        ("p2-appendix-e-a", "calibrators", "sigmoid"),
        ("p2-appendix-e-b", "calibrators", "jumping"),
        ("p5-figure-2", "models", ""),
    ],
)
def test_what_is_about_a_known_truth_opens_in_the_laboratory(key, experiment, truth):
    entry = REPRODUCTIONS[key]
    links = [Selection.from_query(dict(parse_qsl(link)))[0] for link in (entry.link, *entry.also.values())]
    chosen = {dict(link.exhibit("lab-errors").params)["experiment"]: link for link in links}[experiment]
    assert chosen.view == "lab"
    laws = {
        recipe.key: dict(recipe.params)["truth"].key for recipe in chosen.exhibits if "truth" in dict(recipe.params)
    }
    assert laws == (dict.fromkeys(("lab-curve", "lab-errors"), truth) if truth else {})
    errors = chosen.exhibit("lab-errors")
    assert chosen.with_exhibit(errors) == chosen, "what a click would make of it"


def numbers(app):
    """Return the published and reproduced numbers on screen, if any."""
    return next((table for table in tables(app) if "expected" in table.columns), None)


def tables(app):
    """Return the list of reproductions, last, and the tables above it."""
    return [*(table.value for table in app.table), *(grid.value for grid in app.dataframe)]


def test_kept_numbers_are_shown_at_once_and_reasons_with_them():
    app = opened(chosen(which="p2-definition-5-2"))
    second, first = numbers(app), tables(app)[-1]
    assert len(first) == len(REPRODUCTIONS)
    assert second.iloc[:, -1].tolist() == ["agrees", "differs", "agrees"]
    assert not [button for button in app.button if button.label == "Run"]
    assert any("Difference: a misprint" in caption.value.replace("\\", "") for caption in app.caption)


def test_a_click_on_a_line_of_the_list_chooses_its_entry_and_keeps_the_rest(monkeypatch):
    changed = []
    monkeypatch.setattr(papers.widgets, "selection", lambda: chosen(size="quick"))
    monkeypatch.setattr(papers.widgets, "change_exhibit", changed.append)
    for lines in ([5], []):  # chosen, and taken back
        clicked = {"papers.table": SimpleNamespace(selection=SimpleNamespace(rows=lines))}
        monkeypatch.setattr(exhibited.st, "session_state", clicked)
        exhibited._picked("papers.table", papers._choose)
    assert [recipe.build() for recipe in changed] == [
        EXHIBITS.make(papers.KEY, which=overview()["key"][5], size="quick")
    ]


def test_the_list_of_all_figures_is_on_screen_without_scrolling_in_it(monkeypatch):
    heights = []
    monkeypatch.setattr(exhibited.st, "dataframe", lambda frame, **how: heights.append(how["height"]))
    exhibited.grid(EXHIBITS.make("papers"), overview(), "papers", pick=print)
    assert heights == [exhibited.widgets.table_height(0) + exhibited.CLOSE * len(REPRODUCTIONS)]


@pytest.mark.parametrize("key", ["p1-example-1", "p1-figure-12", "p1-theorem-1", "p3-figures-1-2"])
def test_the_picture_of_what_a_figure_links_to_is_beside_its_numbers(key):
    exhibit, selection, options = papers._drawn(REPRODUCTIONS[key].link)
    app = opened(chosen(which=key))
    picture = drawn(app)[f"{papers.KEY}-picture"]
    figure = EXHIBITS.make(exhibit, **options).figure(session.scene_of(selection))
    traces = session.scene_of(selection).get(figure).data
    assert [trace.get("name") for trace in picture.figure["data"]] == [trace.name for trace in traces]
    assert not [button for button in app.button if button.label == "Draw"]


def test_every_figure_with_a_link_has_a_picture_or_the_reason_why_not():
    """Meta-Cal refuses the accuracy of Figure 2 on the example data, so there is nothing to draw."""
    linked = {key for key, entry in REPRODUCTIONS.items() if entry.link}
    assert {key for key in linked if papers._drawn(REPRODUCTIONS[key].link) is None} == {"p4-figure-2"}
    slow = opened(chosen(which="p2-figures-3-7"))
    assert [button for button in slow.button if button.label == "Draw"]
    assert not drawn(slow)


def test_a_figure_that_no_data_show_has_its_numbers_only():
    assert papers._drawn("") is None
    assert not drawn(opened(chosen(which="p1-figure-3")))


def test_a_run_is_asked_for_and_is_the_librarys():
    app = opened(chosen(which="p5-convex-mapping", size="quick"))
    assert numbers(app) is None
    (button,) = (button for button in app.button if button.label == "Run")
    button.click().run()
    assert not app.exception
    found = reproduced("p5-convex-mapping")
    assert numbers(app).index.tolist() == [markdown_plain(what) for what in found["what"]]
    assert numbers(app).iloc[:, -1].tolist() == ["agrees", "differs", "agrees"]


def test_what_needs_files_says_how():
    app = opened(chosen(which="p4-table-1", size="quick"))
    assert not app.info
    assert [code.value for code in app.code if "--files" in code.value] == ["calib reproduce p4-table-1 --files FOLDER"]
    (words,) = (caption.value for caption in app.caption if "It needs" in caption.value)
    assert "p4-" not in words
    assert "`" not in words
    first = published().query("table == 'p4-table-1'")
    shown = numbers(app)
    assert shown["published"].tolist() == [markdown_plain(number) for number in first["published"]]
    assert set(shown["here"]) == {markdown_plain("–")}
    assert set(shown.iloc[:, -1]) == {""}, "neither agrees nor differs"
    assert not [button for button in app.button if button.label == "Run"]


def test_an_entry_that_differs_says_the_first_reason_in_the_table():
    shown = tables(opened(chosen()))[-1]
    differing = [line["reason"] for _, line in shown.iterrows() if line["differ"] > 0]
    assert len(differing) == (overview()["differ"] > 0).sum()
    assert all(len(why) > 30 for why in differing)
    assert any(why.startswith("a misprint") for why in differing)
    assert shown.loc[shown["differ"] == 0, "reason"].isna().all()
    assert set(shown.loc[shown["differ"].isna(), "reason"]) == {"needs predictions of the networks"}


def test_the_view_opens_without_data():
    app = opened(Selection(Source("gone:nothing"), view="papers"))
    assert len(tables(app)[-1]) == len(REPRODUCTIONS)
    assert numbers(app) is not None


def test_the_exhibit_is_one_recipe_in_links():
    recipe = chosen(which="p3-table-1").exhibit("reproduction")
    assert Recipe.from_dict("EXHIBITS", json.loads(recipe.to_json())) == recipe
