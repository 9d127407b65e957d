"""Tables of methods: their numbers equal those of plain loops, interrupted runs continue, nothing is left out."""

import re

import numpy as np
import pandas as pd
import pytest
from generated import ordinary_rows
from hypothesis import given
from hypothesis import strategies as st

from calib_core import CALIBRATORS, InputError, Predictions, estimate
from calib_core.binning import EqualMass
from calib_core.evaluation.study import over_same_rows
from calib_core.papers.tables import (
    PAPER_TABLES,
    TABLE_MEASURES,
    Method,
    as_measure,
    decimals,
    latex,
    method_table,
    method_tables,
    paper_table,
    paper_tables,
    ranked,
    runs,
)


def predictions(n=240, k=3, seed=0):
    probs, labels = ordinary_rows(n, k, seed)
    sharp = probs**1.6 / (probs**1.6).sum(1, keepdims=True)
    return Predictions(sharp, labels)


BARE = Predictions.from_confidence(np.linspace(0.5, 1, 60), np.arange(60) % 3 > 0)
FILES = {"a": predictions(), "b": predictions(300, 4, 1)}
TITLES = {"identity": "Base", "temperature": "TS", "vector": "VS"}
MEASURES = ["Accuracy", "TL-ECE", "conf-ECE, equal mass"]


@pytest.fixture(scope="module")
def frame():
    return method_tables(FILES, list(TITLES), MEASURES, splits=3, fit_share=0.4, seed=7)


def test_every_number_is_that_of_a_fit_and_an_estimate_by_hand(frame):
    assert len(frame) == 2 * 3 * 3 * 3
    for line in frame.itertuples():
        fit, test = FILES[line.file].split(0.4, random_state=7 + line.split)
        after = CALIBRATORS.make(line.calibrator).fit_on(fit).apply(test)
        of = {
            "Accuracy": lambda p: estimate(p, None, "accuracy"),
            "TL-ECE": lambda p: estimate(p, "top-label", "ece"),
            "conf-ECE, equal mass": lambda p: estimate(p, "confidence", "ece", EqualMass(15)),
        }
        assert line.value == of[line.measure](after).value
        assert (line.rows, line.answered, line.note) == (test.n_rows, 1.0, "")


def test_means_standard_errors_ranks_and_averages_are_those_of_plain_loops(frame):
    shown = method_table(frame, names=TITLES).frame()
    for measure in MEASURES:
        means = {}
        for file in FILES:
            for key, title in TITLES.items():
                cell = (frame.file == file) & (frame.calibrator == key) & (frame.measure == measure)
                values = frame[cell].value.tolist()
                means[file, title] = sum(values) / 3
                squares = sum((v - means[file, title]) ** 2 for v in values)
                line = shown[(shown.measure == measure) & (shown.file == file)].iloc[0]
                assert line[title] == pytest.approx(means[file, title], rel=1e-12)
                assert line[f"{title}, standard error"] == pytest.approx((squares / 2 / 3) ** 0.5, rel=1e-9, abs=1e-15)
        by_rank = {title: [] for title in TITLES.values()}
        for file in FILES:
            for title in TITLES.values():
                mine = means[file, title]
                others = [means[file, other] for other in TITLES.values() if other != title]
                better = [o for o in others if (o > mine + 1e-9 if measure == "Accuracy" else o < mine - 1e-9)]
                tied = [o for o in others if abs(o - mine) <= 1e-9]
                by_rank[title].append(1 + len(better) + len(tied) / 2)
                line = shown[(shown.measure == measure) & (shown.file == file)].iloc[0]
                assert line[f"{title}, rank"] == by_rank[title][-1]
        for title in TITLES.values():
            part = shown[shown.measure == measure].set_index("line")[title]
            assert part["average"] == pytest.approx(sum(means[file, title] for file in FILES) / 2)
            assert part["average rank"] == pytest.approx(sum(by_rank[title]) / 2)


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, float("nan")]), min_size=1, max_size=6), st.booleans())
def test_ranks_sum_to_what_ranks_sum_to_and_turn_round(values, high):
    ranks = ranked(pd.DataFrame([values]), high).iloc[0]
    n = int(ranks.notna().sum())
    assert ranks.isna().tolist() == np.isnan(values).tolist()
    assert ranks.sum() == n * (n + 1) / 2
    turned = ranked(-pd.DataFrame([values]), not high).iloc[0]
    assert ranks.equals(turned)


def test_ranks_of_what_is_neither_better_nor_worse_are_none():
    assert ranked(pd.DataFrame([[0.1, 0.2]]), None).isna().all(axis=None)


# -- unanswerable questions -----------------------------------------------------------------------------------


def test_an_empty_cell_has_its_reason_and_averages_are_over_the_same_files():
    files = {**FILES, "bare.csv": BARE}
    table = method_table(method_tables(files, ["identity", "vector"], ["conf-ECE"], splits=2))
    lines = table.frame().set_index("file")
    assert np.isnan(lines.loc["bare.csv", "vector"])
    assert lines.loc["bare.csv", "identity"] > 0
    assert lines.loc["average", "identity"] == pytest.approx(lines.loc[["a", "b"], "identity"].mean())
    assert any(note.startswith("vector on bare.csv: ") for note in table.notes)
    assert any(note.startswith("Averages of conf-ECE") and "2 of 3 files" in note for note in table.notes)


def test_splits_that_are_refused_are_counted_and_told_once():
    lines = [("f", s, m, "Accuracy", v, 5, 1.0, note) for s, m, v, note in [
        (0, "x", 0.5, ""), (1, "x", np.nan, "at most 0.41"), (2, "x", np.nan, "at most 0.42"),
        (0, "y", 0.5, ""), (1, "y", 0.6, ""), (2, "y", 0.7, ""),
    ]]  # fmt: skip
    table = method_table(pd.DataFrame(lines, columns=runs.COLUMNS))
    assert table.notes == ("x in 2 of 3 splits: at most 0.41.",)
    assert table.frame()["x"].tolist() == [0.5]
    assert table.frame()["x, standard error"].isna().all()


def test_a_file_that_cannot_be_read_is_a_line_with_its_reason():
    def damaged():
        raise InputError("damaged.csv: no column of labels")

    table = method_table(method_tables({"damaged.csv": damaged, **FILES}, ["identity"], ["Accuracy"], splits=2))
    assert table.frame()["file"].tolist()[:3] == ["damaged.csv", "a", "b"]
    assert "damaged.csv: damaged.csv: no column of labels." in table.notes


def test_ten_rows_two_classes_and_scores_of_exactly_one_make_every_table():
    sure = Predictions([[1.0, 0.0], [0.0, 1.0]] * 5, [0, 1, 0, 1, 1, 0, 0, 1, 0, 1])
    tables = paper_tables({"ten": sure, "bare": BARE}, list(PAPER_TABLES), splits=1)
    assert list(tables) == list(PAPER_TABLES)
    for key, table in tables.items():
        assert table.names == tuple(method.name for method in PAPER_TABLES[key].methods)
        files = table.frame()
        assert files[files["line"] == "file"]["file"].tolist() == ["ten", "bare"] * len(PAPER_TABLES[key].measures)
        for name in table.names:
            empty = files[(files["line"] == "file") & files[name].isna()]
            assert empty.empty or any(name in n or n[:4] in ("Ever", "ten:", "bare") for n in table.notes), (key, name)


def test_parts_that_are_given_are_taken_as_they_are():
    fit, test = FILES["a"].split(0.3, random_state=5)
    table = method_tables({"a": (fit, test)}, ["temperature"], ["Log loss"], splits=4)
    after = CALIBRATORS.make("temperature").fit_on(fit).apply(test)
    assert table["value"].tolist() == [estimate(after, None, "log-loss").value]
    assert method_table(table).frame()["temperature, standard error"].isna().all()


def test_methods_that_abstain_are_counted_as_the_table_says():
    fit, test = FILES["a"].split(0.4, random_state=0)
    meta = CALIBRATORS.described("metacal-miscoverage", miscoverage=0.2)
    afters = [CALIBRATORS.recipe(c).build().fit_on(fit).apply(test) for c in ("identity", meta)]
    for rows in ("answered", "all"):
        frame = method_tables({"a": FILES["a"]}, ["identity", meta], ["Accuracy"], splits=1, fit_share=0.4, rows=rows)
        assert frame["value"].tolist() == [p.accuracy for p in over_same_rows(afters, rows)]
        assert method_table(frame, rows=rows).notes[-1].startswith("Some methods abstain")
    assert frame["answered"].tolist() == [1.0, afters[1].coverage]


def test_weights_and_groups_reach_the_numbers():
    p = FILES["a"]
    weighted = p.replace(weights=np.where(p.correct, 1.0, 3.0))
    grouped = p.replace(groups=np.arange(p.n_rows) // 4)
    frame = method_tables({"p": p, "w": weighted, "g": grouped}, ["identity"], ["Log loss"], splits=1)
    plain, weighed, by_group = frame["value"]
    assert weighed > plain
    assert by_group == estimate(grouped.split(0.5, random_state=0)[1], None, "log-loss").value != plain


def test_asking_for_nothing_or_twice_is_refused():
    for files, calibrators, measures, how in (
        ({}, ["identity"], ["Accuracy"], {}),
        (FILES, [], ["Accuracy"], {}),
        (FILES, ["identity"], [], {}),
        (FILES, ["identity", "identity"], ["Accuracy"], {}),
        (FILES, ["identity"], ["Accuracy", "accuracy"], {}),
        (FILES, ["identity"], ["Acuracy"], {}),
        (FILES, ["identity"], ["Accuracy"], {"splits": 0}),
        (FILES, ["identity"], ["Accuracy"], {"fit_share": 1.0}),
    ):
        with pytest.raises(InputError):
            method_tables(files, calibrators, measures, **how)
    with pytest.raises(InputError, match="p3-table-5"):
        paper_table(FILES, "p9-table-1")


def test_a_papers_table_is_given_by_its_key_or_itself():
    by_key, itself = (paper_table({"a": FILES["a"]}, t, splits=1) for t in ("p4-figure-1", PAPER_TABLES["p4-figure-1"]))
    pd.testing.assert_frame_equal(itself.frame(), by_key.frame())


# -- values of the papers --------------------------------------------------------------------------------------


def test_the_papers_tables_are_those_of_the_papers():
    numbers = {"p1": {2, 3, 4, 5}, "p3": set(range(3, 12)), "p4": {1, 2}}
    for paper, wanted in numbers.items():
        assert {int(key.rpartition("-")[2]) for key in PAPER_TABLES if key.startswith(f"{paper}-table-")} == wanted
    names = {key: " ".join(method.name for method in table.methods) for key, table in PAPER_TABLES.items()}
    assert names["p1-table-2"] == names["p1-table-4"] == "Base TS VS DS N-HB TL-HB"
    assert names["p1-table-3"] == names["p1-table-5"] == "Base TS VS DS N-HB CW-HB"
    assert names["p3-table-3"] == "uncal IR LECE MS IOP GP TS TS+DEC TS+IR TS+LECE"
    assert names["p4-table-1"] == names["p4-table-2"] == "Uncal TS ETS GPC MetaMis MetaAcc"
    assert all(measure in TABLE_MEASURES for table in PAPER_TABLES.values() for measure in table.measures)


def test_every_method_of_the_papers_is_here():
    for table in PAPER_TABLES.values():
        for method in table.methods:
            assert method.recipe(10).build() is not None


def test_the_accuracy_asked_of_meta_cal_goes_by_the_number_of_classes():
    method = next(m for m in PAPER_TABLES["p4-table-1"].methods if m.name == "MetaAcc")
    wanted = [dict(method.recipe(k).params).get("accuracy", 0.97) for k in (2, 10, 11, 100, 1000)]
    assert wanted == [0.97, 0.97, 0.87, 0.87, 0.85]


def test_neighbours_and_threshold_chosen_are_the_fitted_ones():
    p = FILES["a"]
    table = paper_tables({"a": p}, ["p3-table-10", "p3-table-11"], splits=1)
    fit, _ = p.split(1 / 3, random_state=0)
    fitted = CALIBRATORS.make("lece", cross_validate=True).fit_on(fit)
    assert table["p3-table-11"].frame()["LECE"].iloc[0] == fitted.threshold_
    share = table["p3-table-10"].frame()["LECE"].iloc[0]
    assert fitted.neighbours_ == max(1, int(share * fit.n_rows + 1e-9))


def test_methods_of_several_tables_are_fitted_once(monkeypatch):
    fits = []
    plain = runs._fitted
    monkeypatch.setattr(runs, "_fitted", lambda method, *rows: fits.append(method.text) or plain(method, *rows))
    paper_tables({"a": FILES["a"]}, ["p1-table-2", "p1-table-3"], splits=1)
    assert len(fits) == len(set(fits)) == 7


# -- caching, stopping, continuing -----------------------------------------------------------------------------


class Stopped(BaseException):
    pass


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_is_stopped_goes_on_with_the_same_bits_and_leaves_nothing_half_written(
    tmp_path, monkeypatch, frame, jobs
):
    monkeypatch.setenv("CALIB_THREADS", str(jobs))
    how = {"splits": 3, "fit_share": 0.4, "seed": 7, "folder": tmp_path, "jobs": jobs}

    def stop(percent):
        if percent > 40:
            raise Stopped

    with pytest.raises(Stopped):
        method_tables(FILES, list(TITLES), MEASURES, progress=stop, **how)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert 0 < len(before) < 6
    assert all(name.endswith(".json") for name in before)
    trials, plain = [], runs._trials
    monkeypatch.setattr(runs, "_trials", lambda *args: trials.append(args) or plain(*args))
    pd.testing.assert_frame_equal(method_tables(FILES, list(TITLES), MEASURES, **how), frame, check_exact=True)
    assert len(trials) == 6 - len(before)
    assert all((tmp_path / name).read_bytes() == data for name, data in before.items())
    pd.testing.assert_frame_equal(method_tables(FILES, list(TITLES), MEASURES, **how), frame, check_exact=True)
    assert len(trials) == 6 - len(before)


def test_other_data_another_recipe_or_a_damaged_result_is_made_anew(tmp_path, monkeypatch):
    p = FILES["a"]
    trials, plain = [], runs._trials
    monkeypatch.setattr(runs, "_trials", lambda *args: trials.append(args) or plain(*args))

    def times(file=p, calibrators=("identity",), measures=("Accuracy",), **how):
        before = len(trials)
        method_tables({"a": file}, calibrators, measures, splits=1, folder=tmp_path, **how)
        return len(trials) - before

    assert (times(), times()) == (1, 0)
    other = p.probs.copy()
    other[3] = other[3][::-1]
    for change in (
        {"file": p.replace(probs=other)},
        {"file": p.replace(labels=(p.labels + 1) % 3)},
        {"file": p.replace(weights=np.arange(p.n_rows) + 1.0)},
        {"file": p.replace(groups=np.arange(p.n_rows) // 2)},
        {"file": p.as_discrete()},
        {"calibrators": ("temperature",)},
        {"calibrators": (Method("x", "lece", (("share", 0.1),)),)},
        {"measures": ("TL-ECE",)},
        {"seed": 1},
        {"fit_share": 0.4},
        {"rows": "all"},
    ):
        assert (times(**change), times(**change)) == (1, 0), change
    later = Method("later", "tau+identity")
    assert times(calibrators=(later,)) == 1
    with monkeypatch.context() as known:
        known.setattr(CALIBRATORS, "_entries", {**CALIBRATORS._entries, "tau+identity": CALIBRATORS["identity"]})
        assert times(calibrators=(later,)) == 1, "a method that has come since is tried"
    for path in tmp_path.iterdir():
        path.write_text(path.read_text()[:-3])
    assert times() == 1
    monkeypatch.setattr(runs, "version", lambda _: "another")
    assert times() == 1


def test_one_file_is_in_memory_at_a_time():
    order = []

    def reader(name):
        def read():
            order.append(name)
            return FILES[name]

        return read

    frame = method_tables(
        {name: reader(name) for name in FILES}, ["identity"], ["Accuracy"], splits=1, progress=order.append
    )
    assert order.index("b") > order.index(50)
    assert len(frame) == 2


# -- LaTeX -----------------------------------------------------------------------------------------------------


HOSTILE = ["a_b & 50% #1", r"\input{x}", "$x^2$", "new\nline \\\\ % end", "[3pt] ~", "\u202eevil", "*", "{", "}"]


def test_latex_has_as_many_cells_in_every_line_whatever_names_say():
    frame = pd.concat(
        method_tables({name: FILES["a"]}, ["identity", "temperature"], ["TL-ECE"], splits=2) for name in HOSTILE
    )
    names = {"identity": r"a & \b % c", "temperature": "_{^}"}
    text = latex(method_table(frame, names=names, title="x\n\\evil"))
    body = [line for line in text.splitlines() if not line.startswith("%")]
    inside = body[body.index(r"\toprule") + 1 : body.index(r"\bottomrule")]
    lines = [line for line in inside if line != r"\midrule" and "multicolumn" not in line]
    assert len(lines) == 1 + len(HOSTILE) + 2
    for line in lines:
        assert line.endswith(r" \\")
        assert len(re.findall(r"(?<!\\)&", line)) == 2, line
        assert not re.findall(r"(?<!\\)[%#]", line)
        assert line.count(r"\\") == 1
        assert len(re.findall(r"(?<!\\)\{", line)) == len(re.findall(r"(?<!\\)\}", line))
        assert "input{" not in line.replace(r"\{", "")
        assert not line.startswith("[")
        assert line.isprintable()


def test_latex_sets_the_best_in_bold_ties_included():
    values = {"x": 0.02, "y": 0.01, "z": 0.01}
    frame = pd.DataFrame(
        {"file": "f", "split": 0, "calibrator": list(values), "measure": "TL-ECE", "value": values.values(),
         "rows": 5, "answered": 1.0, "note": ""}
    )  # fmt: skip
    line = next(line for line in latex(method_table(frame)).splitlines() if line.startswith("f &"))
    assert line == r"f & $2.00_{3}$ & $\mathbf{1.00}_{1.5}$ & $\mathbf{1.00}_{1.5}$ \\"
    # A method without a number, in any position, does not change the best of the others.
    frame.loc[0, "value"] = np.nan
    for order in (["x", "y", "z"], ["y", "x", "z"]):
        text = latex(method_table(frame, names={name: name for name in order}))
        line = next(line for line in text.splitlines() if line.startswith("f &"))
        assert line.count("mathbf") == 2


def test_latex_says_percent_where_shares_are():
    frame = pd.DataFrame(
        {"file": "f", "split": 0, "calibrator": ["x", "y"] * 2, "measure": ["Accuracy"] * 2 + ["Log loss"] * 2,
         "value": [0.9, 0.8, 0.3, 0.4], "rows": 5, "answered": 1.0, "note": ""}
    )  # fmt: skip
    heads = [line for line in latex(method_table(frame)).splitlines() if "multicolumn" in line]
    assert [(name in head, r"(\%)" in head) for name, head in zip(("Accuracy", "Log loss"), heads, strict=True)] == [
        (True, True),
        (True, False),
    ]


def test_digits_follow_the_middle_of_the_values():
    assert decimals([0.5, 0.0011, 0.00091], "share") == 3
    assert decimals([0.0, float("nan")], "share") == decimals([], "score") == 2
    assert decimals([1234.0], "score") == 0


def test_measures_are_found_by_name_whatever_the_case():
    assert as_measure("cw-ece").reduction == "class-wise"
    assert all(as_measure(name) is measure for name, measure in TABLE_MEASURES.items())
