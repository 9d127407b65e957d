"""Sites compared: verdicts by hand, missing values as a group, agreement with the risk's own measures, refusals."""

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import InputError, NotAnswerable, Predictions
from calib_core.results.verdict_table import MISCALIBRATED, TOO_CLOSE, TOO_FEW, WITHIN
from calib_core.slices import between


def rows_of(events, risk=0.2, n=1000, **more):
    """Return sites of ``n`` rows with two risks, 20 % on average, and this number of events in each."""
    sites, died = [], []
    for name, number in events.items():
        sites += [name] * n
        died += [1] * number + [0] * (n - number)
    p = np.where(np.arange(len(died)) % 2 == 0, 0.75 * risk, 1.25 * risk)
    order = np.random.default_rng(0).permutation(len(died))
    p = p[order]
    columns = pd.DataFrame({"site": pd.Series(sites, dtype=object)})
    return Predictions(np.column_stack([1 - p, p]), died, metadata=columns, **more)


def verdicts(found):
    return found.frame().set_index("slice")["verdict"].to_dict()


def test_every_verdict_is_by_the_ends_of_the_ratio():
    found = between(rows_of({"fine": 205, "off": 330, "close": 240, None: 110}, n=1000), "site")
    assert verdicts(found) == {
        "site = fine": WITHIN,
        "site = off": MISCALIBRATED,
        "site = close": TOO_CLOSE,
        "site not given": MISCALIBRATED,
    }
    frame = found.frame()
    assert frame["ratio"].is_monotonic_decreasing
    assert frame.loc[frame["verdict"] == WITHIN, ["ratio_low", "ratio_high"]].to_numpy().ravel() == pytest.approx(
        [1, 1], abs=0.25
    )
    assert (
        "Of 4 values of site, 1 is shown to be fine, 2 are shown to be off and 1 is too close to call" in found.sentence
    )
    small = between(rows_of({"one": 21, "two": 19}, n=100), "site")
    assert set(verdicts(small).values()) == {TOO_FEW}
    assert "2 have too few rows" in small.sentence


def test_a_site_has_the_numbers_that_its_rows_have_by_themselves():
    rows = rows_of({"a": 230, "b": 160, "c": 204})
    found = between(rows, "site", level=0.9).frame().set_index("where")
    for name in "abc":
        here = rows.take(np.flatnonzero(rows.metadata["site"] == name))
        alone = cc.risk.in_the_large(here, level=1 - 0.1 / 3)
        line = found.loc[f"site={name}"]
        for measure in ("ratio", "intercept", "slope"):
            assert line[measure] == pytest.approx(getattr(alone, measure), rel=1e-6)
        ends = cc.risk.ratio_ends(here.probs[:, 1].astype(float), here.labels == 1, None, 0.1 / 6)
        assert (line["ratio_low"], line["ratio_high"]) == pytest.approx(ends)
        assert (line["slope_low"], line["slope_high"]) == pytest.approx((alone.slope_low, alone.slope_high), rel=1e-4)
        assert (line["intercept_low"] > 0) == (line["ratio_low"] > 1)


def test_more_sites_have_wider_intervals_because_they_are_judged_jointly():
    few = between(rows_of({"a": 200, "b": 200}), "site").frame().set_index("where").loc["site=a"]
    many = between(rows_of(dict.fromkeys("abcdefghij", 200)), "site").frame().set_index("where").loc["site=a"]
    assert many["ratio_low"] < few["ratio_low"] < 1 < few["ratio_high"] < many["ratio_high"]
    assert many["slope_high"] - many["slope_low"] > few["slope_high"] - few["slope_low"]


def test_rare_sites_are_named_and_not_pooled_whatever_happened_there():
    columns = pd.DataFrame({"site": ["a"] * 600 + ["b"] * 600 + ["rare"] * 20})
    p = np.tile([0.15, 0.25], 610)
    died = np.zeros(1220, int)
    died[:120] = died[600:740] = 1
    found = between(Predictions(np.column_stack([1 - p, p]), died, metadata=columns), "site")
    line = found.frame().set_index("where").loc["site=rare"]
    assert (line["events"], line["ratio"], line["ratio_low"], line["pooled"]) == (0, 0, 0, False)
    assert line["verdict"] == TOO_FEW
    assert np.isnan(line["slope"])
    assert "at least 5 events" in line["note"]
    assert found.pooled["sites"].tolist() == [2, 2, 2]
    assert np.isinf(found.pooled["new_high"]).all()
    assert "is predicted" not in found.spread


def test_equal_sites_have_no_spread_and_different_ones_have():
    same = between(rows_of(dict.fromkeys("abcdef", 200)), "site").pooled.set_index("measure")
    assert same.loc["ratio", "tau"] == 0
    assert same.loc["ratio", "mean"] == pytest.approx(1, abs=1e-3)
    other = between(rows_of({"a": 200, "b": 300, "c": 120, "d": 220, "e": 90}), "site").pooled.set_index("measure")
    assert other.loc["ratio", "tau_low"] > 0.2
    assert other.loc["ratio", "p"] < 1e-6
    assert other.loc["ratio", "new_low"] < 0.6 < 1.4 < other.loc["ratio", "new_high"]
    assert other.loc["ratio", "i2"] > 0.9


def test_weights_that_copy_rows_are_copies():
    rows = rows_of({"a": 60, "b": 40}, n=250)
    twice = np.where(np.arange(500) % 2 == 0, 2, 1)
    one = between(rows.replace(weights=twice), "site")
    other = between(rows.take(np.repeat(np.arange(500), twice)), "site")
    pd.testing.assert_frame_equal(one.frame(), other.frame())
    pd.testing.assert_frame_equal(one.pooled, other.pooled)


def test_numbers_are_cut_as_slices_are():
    rows = rows_of({"a": 200, "b": 200})
    aged = rows.replace(metadata=rows.metadata.assign(age=np.arange(2000) % 70 + 20))
    found = between(aged, "age", edges=[40, 60]).frame()
    assert sorted(found["where"]) == ["age=..40", "age=40..60", "age=60.."]
    assert set(found["where"]) == set(cc.slices.table(aged, "age", edges=[40, 60])["where"])


def test_other_rows_are_refused_in_a_sentence():
    rows = rows_of({"a": 20, "b": 30}, n=100)
    with pytest.raises(NotAnswerable, match="only one value"):
        between(rows.replace(metadata=pd.DataFrame({"site": ["a"] * 200})), "site")
    with pytest.raises(NotAnswerable, match="independent rows"):
        between(rows.replace(groups=np.arange(200) // 2), "site")
    with pytest.raises(InputError, match="method is 'ml'"):
        between(rows, "site", method="ml")
    with pytest.raises(InputError, match="ratio is 1"):
        between(rows, "site", ratio=1)
    with pytest.raises(InputError):
        between(rows, "ward")
    three = Predictions(np.full((6, 3), 1 / 3), [0, 1, 2] * 2, metadata=pd.DataFrame({"site": list("ababab")}))
    with pytest.raises(NotAnswerable):
        between(three, "site")


def test_a_forest_plot_draws_the_table():
    found = between(rows_of({"fine": 205, "off": 330, "close": 240, "low": 110}, n=1000), "site")
    figure = cc.figures.draw(found)
    frame, drawn = found.frame(), {trace.name: trace for trace in figure.data}
    for verdict, name in ((WITHIN, "within tolerance"), (MISCALIBRATED, MISCALIBRATED), (TOO_CLOSE, TOO_CLOSE)):
        lines = frame[frame["verdict"] == verdict]
        trace = drawn[name]
        np.testing.assert_allclose(trace.x, lines["ratio"])
        np.testing.assert_allclose(trace.x + trace.error_x.array, lines["ratio_high"])
        np.testing.assert_allclose(trace.x - trace.error_x.arrayminus, lines["ratio_low"])
        assert list(trace.y) == lines.index.tolist()
        assert [record["slice"] for record in trace.customdata] == lines["where"].tolist()
    ratio = found.pooled.set_index("measure").loc["ratio"]
    assert drawn["pooled"].x[0] == pytest.approx(ratio["mean"])
    np.testing.assert_allclose(drawn["a new one"].x, ratio[["new_low", "new_high"]].astype(float))
    assert figure.layout.shapes[0].x0 == pytest.approx(0.8)
    assert len({drawn[name].marker.symbol for name in ("within tolerance", MISCALIBRATED, TOO_CLOSE)}) == 3
    two = cc.figures.sites(between(rows_of({"a": 200, "b": 0}), "site"))
    assert "a new one" not in {trace.name for trace in two.data}
    assert np.isfinite(np.concatenate([np.array(trace.x, float) for trace in two.data])).all()


def test_a_site_differs_at_a_level_that_is_shared_by_all_sites():
    """54 events where 40 are expected differ at 5 % in one site, but not as one of four."""
    events = dict.fromkeys(["two", "three", "four"], 40)
    rows = rows_of({"one": 54} | events, n=200)
    one = rows.take(np.flatnonzero(rows.metadata["site"] == "one"))
    joint, single = (
        cc.risk.ratio_ends(one.probs[:, 1].astype(float), one.labels == 1, None, miss / 2)[0] for miss in (0.0125, 0.05)
    )
    assert joint < 1 < single
    assert not between(rows, "site").frame()["differs"].any()
    assert between(rows_of({"one": 56} | events, n=200), "site").frame()["differs"].sum() == 1


def test_rows_without_an_answer_play_no_part_at_any_site():
    rows = rows_of({"a": 60, "b": 40, "silent": 40}, n=200)
    silent = (np.arange(600) % 4 == 0) | (np.arange(600) >= 400)
    some = Predictions(rows.probs, rows.labels, metadata=rows.metadata, abstained=silent)
    pd.testing.assert_frame_equal(
        between(some, "site").frame(), between(rows.take(np.flatnonzero(~silent)), "site").frame()
    )


def test_which_sites_are_pooled_is_known_before_the_outcomes():
    """4 expected events are too few, however many are observed; 6 expected ones are enough if none is."""
    p = np.repeat([0.02, 0.03, 0.1, 0.1], 200)
    died = np.concatenate([np.arange(200) < number for number in (12, 0, 20, 30)]).astype(int)
    sites = pd.DataFrame({"site": np.repeat(list("abcd"), 200)})
    found = between(Predictions(np.column_stack([1 - p, p]), died, metadata=sites), "site")
    assert found.frame().set_index("where")["pooled"].to_dict() == {
        "site=a": False, "site=b": True, "site=c": True, "site=d": True
    }  # fmt: skip
    assert found.pooled.set_index("measure").loc["ratio", "sites"] == 3
