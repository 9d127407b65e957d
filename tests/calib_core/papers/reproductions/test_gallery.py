"""Entries run, cached, declared: every number is within its tolerance or has its reason, and wrong formulas do not."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core.papers.reproductions import (
    REPRODUCTIONS,
    errors_over_bins,
    from_files,
    gallery,
    gupta_ramdas,
    kumar_liang_ma,
    overview,
    posocco_bonnefoy,
    published,
    reproduced,
    valk_kull,
)
from calib_core.papers.reproductions.author_files import _network
from calib_core.papers.reproductions.gallery import COLUMNS, KEPT, ComputedNumber, page, read_kept, write_kept
from calib_core.papers.tables import PAPER_TABLES

PAGE = Path(__file__).parents[3] / "reproductions/table.md"
HERE = [key for key, entry in REPRODUCTIONS.items() if not entry.needs]
CHEAP = [key for key in HERE if REPRODUCTIONS[key].seconds[0] < 1]
PLACE = re.compile(
    r"\b(Table|Figures?|Section|Appendix|Eq\.|eq\.|Theorem|Proposition|Definition|Example|Lemma)s? [\dA-Z(]"
)


def within_or_why(frame):
    return frame["within"] | frame["why"].ne("")


# ---- run -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", CHEAP)
def test_a_quick_run_agrees_or_says_why(key):
    told = []
    frame = reproduced(key, quick=True, progress=told.append)
    assert within_or_why(frame).all(), frame[~within_or_why(frame)].to_string()
    assert tuple(frame) == COLUMNS
    assert told == sorted(told)
    assert set(told) <= set(range(101))


@pytest.mark.wide
@pytest.mark.parametrize("key", sorted(set(HERE) - set(CHEAP)))
def test_a_longer_quick_run_agrees_or_says_why(key):
    frame = reproduced(key, quick=True)
    assert within_or_why(frame).all(), frame[~within_or_why(frame)].to_string()


def test_what_is_known_to_differ_does():
    """Reasons are given if there is something to explain, for any Monte-Carlo error."""
    kept = gallery()
    assert not kept.loc[kept["why"].ne(""), "within"].all()
    misprint = kept[kept["what"].str.contains("as printed") & kept["key"].eq("p2-definition-5-2")]
    assert misprint["within"].tolist() == [False]
    swapped = kept[kept["what"].str.contains("published code")]
    assert swapped["within"].tolist() == [False]


@pytest.mark.parametrize("quick", [True, False])
def test_the_same_bits_every_time(quick):
    pd.testing.assert_frame_equal(reproduced("p2-example-3-2", quick), reproduced("p2-example-3-2", quick))


def test_what_progress_raises_stops_the_work():
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduced("p1-proposition-4", progress=stop)


# ---- planted faults in compared values -------------------------------------------------------------------------


def broken(key, what):
    frame = reproduced(key)
    return not frame.loc[frame["what"].str.contains(what, regex=False), "within"].all()


def test_the_plug_in_estimator_in_place_of_the_debiased_one_is_out(monkeypatch):
    squared, honest = cc.ESTIMATORS.make("binned", order=2, binning="distinct"), kumar_liang_ma.estimate

    def plug_in(rows, notion, _):
        found = honest(rows, notion, squared)
        return SimpleNamespace(value=found.value**2, bins=found.bins)

    monkeypatch.setattr(kumar_liang_ma, "estimate", plug_in)
    assert broken("p2-definition-5-2", "with y(1 - y)")


def test_an_error_of_confidences_for_that_of_the_predicted_class_is_out(monkeypatch):
    honest = gupta_ramdas.estimate
    monkeypatch.setattr(
        gupta_ramdas, "estimate", lambda rows, notion, *how, **more: honest(rows, "confidence", *how, **more)
    )
    assert broken("p1-example-1", "predicted class")


def test_shares_given_to_the_wrong_bin_are_out(monkeypatch):
    honest = posocco_bonnefoy.Convex()

    def swapped(scores, edges):
        shares = honest(scores, edges)
        return posocco_bonnefoy.Split(shares.first, 1 - shares.beyond)

    monkeypatch.setattr(posocco_bonnefoy, "Convex", lambda: swapped)
    assert broken("p5-convex-mapping", "as defined")


def test_a_column_of_another_calibrator_is_out(monkeypatch):
    """The seeds themselves are run by tests/golden/test_p3_table1.py; here every one gives the printed values."""
    columns = {name: np.array(numbers.split(), dtype=float) for name, (numbers, _) in valk_kull.TABLE_1.items()}
    monkeypatch.setattr(valk_kull, "experiment", lambda *_: columns)
    assert reproduced("p3-table-1")["within"].all()
    columns["TS"] = columns["DIR"]
    assert broken("p3-table-1", "TS: confidence CE")


def test_maps_are_compared_by_their_distance_from_the_true_map(monkeypatch):
    """The second number of each is class-wise: the others would show the opposite."""
    order = ["H-LECD", "H-LECE", "TS", "DIR", valk_kull.NEIGHBOURS]
    columns = {name: np.array([1.0, 6.0, 1.0, 1.0, 1.0]) for name in valk_kull.TABLE_1}
    columns |= {name: np.array([j + 1.0, 5.0 - j, j + 1.0, j + 1.0, j + 1.0]) for j, name in enumerate(order)}
    monkeypatch.setattr(valk_kull, "experiment", lambda *_, **__: columns)
    lines = reproduced("p3-figures-1-2")
    assert lines["within"].all()
    assert lines["ours"].tolist() == pytest.approx([4 / 5, 2 / 3, 1 / 2])


# ---- caching ---------------------------------------------------------------------------------------------------


def test_every_entry_is_kept_in_its_present_version():
    kept = gallery()
    versions = kept.groupby("key")["version"].first()
    assert list(dict.fromkeys(kept["key"])) == HERE
    assert all(versions[key] == REPRODUCTIONS[key].version for key in HERE)
    assert (kept["size"] == "full").all()
    assert within_or_why(kept).all()


def test_a_decrease_in_percent_stands_beside_the_percent_printed():
    kept = gallery("p2-appendix-e-a")
    (line,) = kept[kept["what"].str.contains("percentage")].to_dict("records")
    # P2 prints 2 % +- 7 %, of 90 %: four standard errors of it and half a percent, and ours on top.
    assert (line["published"], line["within"]) == ("2", True)
    assert 4 * 7 / 1.645 + 0.5 < line["tolerance"] < 25
    assert abs(line["ours"]) < 10


def test_kept_lines_follow_from_their_own_numbers():
    kept = gallery()
    np.testing.assert_allclose(kept["apart"], kept["ours"] - kept["target"], atol=1e-8)
    room = np.select(
        [kept["relation"] == "equal", kept["relation"] == "at most"],
        [kept["tolerance"] - kept["apart"].abs(), -kept["apart"] - kept["tolerance"]],
        kept["apart"] - kept["tolerance"],
    )
    assert ((room >= -1e-8) == kept["within"]).all()


@pytest.mark.parametrize("key", ["p1-example-1", "p2-example-3-2", "p5-convex-mapping"])
def test_what_is_kept_is_what_a_run_finds(key):
    found, kept = reproduced(key, quick=False), gallery(key)
    text = [name for name in COLUMNS if found[name].dtype.kind not in "f"]
    pd.testing.assert_frame_equal(found[text], kept[text], check_dtype=False)
    np.testing.assert_allclose(found["ours"], kept["ours"], atol=1e-9)


def test_no_published_number_is_without_its_place():
    kept = gallery()
    printed = kept[kept["published"].ne("")]
    assert len(printed) > 30
    assert printed["place"].map(lambda place: bool(PLACE.search(place))).all(), printed["place"].tolist()
    assert (pd.to_numeric(printed["published"]) == printed["target"]).all()
    assert not PLACE.search("somewhere in the paper")
    for entry in REPRODUCTIONS.values():
        assert PLACE.search(entry.place), entry.key
        assert entry.caption.endswith(".")
        assert entry.key.startswith(("p1-", "p2-", "p3-", "p4-", "p5-"))


def test_the_page_for_readers_is_that_of_the_table():
    assert PAGE.read_text("utf-8") == page(gallery())


def test_a_table_survives_being_written():
    kept = gallery()
    pd.testing.assert_frame_equal(read_kept(write_kept(kept)), kept)
    assert tuple(kept) == KEPT
    assert "\t" not in "".join(kept["what"] + kept["place"] + kept["why"] + kept["basis"])


def test_the_overview_counts_what_is_kept():
    lines = overview().set_index("key")
    assert set(lines.index) == set(REPRODUCTIONS)
    assert lines["numbers"].sum() == len(gallery())
    assert lines.loc["p3-table-1", ["numbers", "within", "differ"]].tolist() == [30, 30, 0]
    assert lines.loc["p2-definition-5-2", ["numbers", "within", "differ"]].tolist() == [3, 2, 1]
    assert lines.loc["p1-table-2", "needs"] == "predictions of the networks"
    assert np.isnan(lines.loc["p1-table-2", "numbers"])


# ---- refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [reproduced, gallery, lambda key: from_files(key, {})])
def test_an_unknown_key_names_those_there_are(make):
    with pytest.raises(cc.InputError, match=r"'p9'.*calib reproduce lists all keys"):
        make("p9")


def test_what_needs_files_says_so():
    with pytest.raises(cc.NotAnswerable, match=r"calib reproduce p1-table-2 --files FOLDER"):
        reproduced("p1-table-2")


@pytest.mark.parametrize("key", sorted(set(REPRODUCTIONS) - set(HERE)))
def test_without_files_the_published_values_stand_alone(key):
    alone, lines = gallery(key), published().query("table == @key")
    assert tuple(alone) == KEPT
    assert alone["published"].tolist() == lines["published"].tolist()
    assert all(method in place for method, place in zip(lines["method"], alone["place"], strict=True))
    assert alone["ours"].isna().all()
    assert not alone["within"].any()
    caption = REPRODUCTIONS[key].caption
    (name,) = re.findall(r"\S+\.csv", caption)
    assert _network(name, lines) == tuple(lines[["dataset", "network"]].iloc[0])


# ---- the authors' networks -------------------------------------------------------------------------------------


def test_published_numbers_are_of_methods_and_measures_that_the_tables_have():
    for key, lines in published().groupby("table"):
        table = PAPER_TABLES[key]
        assert set(lines["method"]) <= {method.name for method in table.methods}, key
        assert set(lines["measure"]) <= set(table.measures), key
        assert not lines.duplicated(["dataset", "network", "measure", "method"]).any()
    sizes = published().groupby("table").size()
    # 8 networks, 6 methods, 2 measures; 6 networks, 10 methods; 10 networks, 6 methods and accuracy, 2 not available.
    assert (sizes["p1-table-2"], sizes["p3-table-5"], sizes["p4-table-1"]) == (96, 60, 68)


def test_what_the_papers_print_twice():
    lines = published()
    names = ["dataset", "network", "method"]
    by_table = {key: part.set_index(names)["published"] for key, part in lines.groupby("table")}
    first, again = (by_table[key].loc["CIFAR-100"] for key in ("p1-table-3", "p1-table-5"))
    assert (first == again).all()
    assert not (by_table["p1-table-3"].loc["CIFAR-10"] == by_table["p1-table-5"].loc["CIFAR-10"]).all()
    place = ("CIFAR-100", "DenseNet-40", "LECE")
    assert [by_table[key][place] for key in ("p3-table-4", "p3-table-8")] == ["0.206", "0.251"]


@pytest.mark.parametrize(
    ("place", "number"),
    [
        (("p1-table-2", "CIFAR-100", "WRN-26-10", "TL-MCE of bins", "N-HB"), "0.287"),
        (("p1-table-5", "CIFAR-10", "DenseNet-121", "CW-ECE", "CW-HB"), "0.30"),
        (("p3-table-3", "CIFAR-10", "DenseNet-40", "conf-ECE, equal mass", "TS+IR"), "1.39"),
        (("p3-table-4", "CIFAR-100", "DenseNet-40", "CW-ECE, equal mass", "TS+LECE"), "0.094"),
        (("p4-table-1", "ImageNet", "ResNet152", "conf-ECE", "MetaAcc"), "0.01138"),
    ],
)
def test_published_numbers_are_those_of_the_papers(place, number):
    lines = published()
    names = ["table", "dataset", "network", "measure", "method"]
    assert lines.set_index(names).loc[[place], "published"].tolist() == [number]


def rows(n=400, k=4, seed=0):
    probs = np.random.default_rng(seed).dirichlet(np.full(k, 0.3), n)
    return cc.Predictions(probs, (np.random.default_rng(seed + 1).random((n, 1)) > probs.cumsum(1)[:, :-1]).sum(1))


def test_files_stand_beside_the_row_that_their_names_say():
    files = {"cifar10_resnet110.npz": rows(), "ResNet-50 (CIFAR-100).csv": rows(seed=2)}
    frame = from_files("p1-table-3", files, splits=2)
    table = cc.papers.tables.paper_table(files, "p1-table-3", splits=2).frame()
    assert len(frame) == 12
    first = frame.iloc[0]
    assert first["place"] == "Table 3, row CIFAR-10 ResNet-110, column Base"
    assert (first["published"], first["target"]) == ("0.59", 0.59)
    assert first["ours"] == pytest.approx(100 * table.loc[0, "Base"])
    # Four standard errors over the divisions, and half of the last printed digit.
    assert first["tolerance"] == pytest.approx(400 * table.loc[0, "Base, standard error"] + 0.005)
    assert "ResNet-50 (CIFAR-100).csv: CW-ECE, CW-HB (times 100)" in frame["what"].tolist()


def test_what_a_method_cannot_do_is_said():
    short = rows(12)
    frame = from_files("p3-table-5", {"c10_resnet110.csv": short}, splits=1)
    missing = frame[frame["ours"].isna()]
    assert len(frame) == 10
    assert len(missing)
    assert missing["why"].str.len().min() > 20
    assert not missing["within"].any()


def test_the_longest_name_of_a_network_counts():
    frame = from_files("p4-table-1", {"c10_resnet110sd.csv": rows()}, splits=2)
    assert set(frame["place"].str.extract("row (.*), column")[0]) == {"CIFAR-10 ResNet110SD"}


@pytest.mark.parametrize("name", ["net.csv", "cifar10.csv", "cifar100_vgg.csv"])
def test_a_file_that_says_no_network_is_refused(name):
    with pytest.raises(cc.InputError, match=r"CIFAR-10 ResNet-50"):
        from_files("p1-table-2", {name: rows()})


@pytest.mark.parametrize(
    ("value", "says"),
    [(0.8, ""), (1.05, "not differ significantly"), (1.2, "20 % larger"), (0.95, "not differ significantly")],
)
def test_why_an_error_is_not_less_follows_from_its_ratio(value, says):
    found = posocco_bonnefoy._where_not_less(ComputedNumber(value, 0.02, 36), "adaptive")
    assert says in found
    assert bool(found) == bool(says)


def test_seconds_are_those_of_another_machine():
    frame = from_files("p4-table-2", {"c10_densenet40.csv": rows()}, splits=1)
    assert frame["published"].tolist() == ["0.004", "0.074", "0.143", "4.722", "0.102", "0.094"]
    assert frame["ours"].ge(0).all()
    assert frame["why"].str.contains("another machine").all()


def test_what_cross_validation_chose_stands_beside_the_tables():
    for key, first in (("p3-table-10", "0.05"), ("p3-table-11", "0")):
        lines = published().set_index(["table", "dataset", "network", "method"])["published"]
        assert lines[key, "CIFAR-100", "DenseNet-40", "LECE"] == first
    assert len(published().query("table == 'p3-table-10'")) == 36
    assert len(published().query("table == 'p3-table-11'")) == 33, "a column of three could not be read"


# ---- figures over numbers of bins ------------------------------------------------------------------------------


def test_the_errors_of_a_bin_are_those_of_the_papers_formula():
    probs = np.array([[0.55, 0.45], [0.52, 0.48], [0.42, 0.58], [0.05, 0.95]])
    own, classes = errors_over_bins._of_bins(cc.Predictions(probs, [0, 1, 1, 0]))
    # Bin [0.5, 0.6): two rows of class 0 (one right) off by 0.035, one of class 1 (right) off by 0.42; together 0.1167.
    assert own[5] == pytest.approx(abs(2 / 3 - (0.55 + 0.52 + 0.58) / 3))
    assert classes[5] == pytest.approx((abs(1 - 1.07) + abs(1 - 0.58)) / 3)
    assert np.isnan(classes[2])


def test_both_bounds_are_of_the_estimators_of_the_library(monkeypatch):
    """Without spread a bound is the estimate: plug-in and debiased squares, each value a bin."""
    monkeypatch.setattr(errors_over_bins, "_ONE_SIDED", 0.0)
    seen = []
    honest = errors_over_bins._rows
    monkeypatch.setattr(errors_over_bins, "_rows", lambda n, rng: seen.append(honest(n, rng)) or seen[-1])
    plug_in, debiased, _ = errors_over_bins._bounds(25, np.random.default_rng(0))
    (fit_z, fit_hits), (z, hits) = seen
    model = cc.BINARY_CALIBRATORS.make("scaling-binning", bins=25).fit(fit_z, fit_hits)
    test = cc.Predictions.from_confidence(model.transform((np.floor(z * 10_000) + 0.5) / 10_000), hits)
    assert plug_in == pytest.approx(cc.estimate(test, "confidence", "rmsce", "distinct").value ** 2)
    assert debiased == pytest.approx(cc.estimate(test, "confidence", "debiased-l2", "distinct").value)


def test_bounds_the_other_way_round_are_out(monkeypatch):
    bounds = {"plug-in": 0.01, "debiased": 0.02}
    monkeypatch.setattr(
        errors_over_bins,
        "_bounds",
        lambda bins, rng: (*(bound * bins + 1e-4 * rng.random() for bound in bounds.values()), 1.0 / bins),
    )
    assert broken("p2-figure-17", "Debiased bound with 100 bins")
    bounds["debiased"] = 0.001
    assert reproduced("p2-figure-17")["within"].all()


def test_calibrators_the_other_way_round_are_out(monkeypatch):
    monkeypatch.setattr(errors_over_bins, "_KINDS", errors_over_bins._KINDS[::-1])
    assert broken("p2-figures-3-7", "with 100 bins, relative to histogram binning's")
