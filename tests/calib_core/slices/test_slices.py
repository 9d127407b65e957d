"""Slices: their text both ways, cuts, exact tests against slow twins, and simulated guarantees of scans and tables."""

import itertools
import math
import re
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import calib_core as cc
from calib_core import InputError, NotAnswerable, Predictions
from calib_core.columns.cut import divided_by
from calib_core.inference import benjamini_hochberg, benjamini_yekutieli
from calib_core.inference.intervals.elementary import share_floor, share_test
from calib_core.inference.noise.outcome_draws import poisson_binomial
from calib_core.inference.significance.count_tests import count_noise, count_test
from calib_core.slices import Slice, Span, Value
from calib_core.slices.gaps import judged

SCANNING = sys.modules["calib_core.slices.scan"]
NAMES = st.text(min_size=1, max_size=8).filter(lambda text: text.strip())


def told(confidence, right, **columns):
    return Predictions.from_confidence(confidence, right, metadata=pd.DataFrame(columns))


TRIALS = pytest.mark.parametrize("trials", [30, pytest.param(400, marks=pytest.mark.wide)])


def above(share, trials, nominal=0.05):
    """Return True if a share of this many trials exceeds a nominal one by more than three standard errors."""
    return share > nominal + 3 * math.sqrt(nominal * (1 - nominal) / trials)


# ---- text ----------------------------------------------------------------------------------------------------


@st.composite
def conditions(draw, column):
    if draw(st.booleans()):
        return Value(column, draw(st.none() | NAMES))
    low, high = sorted(draw(st.lists(st.floats(allow_nan=False), min_size=2, max_size=2, unique=True)))
    return Span(column, low, high)


@settings(max_examples=40)
@given(names=st.lists(NAMES, min_size=1, max_size=2, unique=True), data=st.data())
def test_the_text_of_a_slice_reads_back_as_it(names, data):
    where = Slice(tuple(data.draw(conditions(name)) for name in names))
    assert Slice.read(str(where)) == where
    assert hash(Slice.read(str(where))) == hash(where)


@pytest.mark.parametrize(
    ("text", "slice_"),
    [
        ("subject=law", Slice((Value("subject", "law"),))),
        (" subject = law ", Slice((Value("subject", "law"),))),
        ("subject=", Slice((Value("subject", None),))),
        ('subject=""', Slice((Value("subject", ""),))),
        ("age=40..60&site=a", Slice((Span("age", 40, 60), Value("site", "a")))),
        ("age=..-4.5", Slice((Span("age", -math.inf, -4.5),))),
        ('age="40..60"', Slice((Value("age", "40..60"),))),
        ("a b=c=d", Slice((Value("a b", "c=d"),))),
        ("page=1.5.2", Slice((Value("page", "1.5.2"),))),
    ],
)
def test_slices_as_people_write_them(text, slice_):
    assert Slice.read(text) == slice_


@pytest.mark.parametrize("text", ["", "law", "=law", "a=b & ", "a=b & c=d & e=f", "a=b & a=c", "age=6..4", "age=1e..2"])
def test_what_says_no_slice_is_refused(text):
    with pytest.raises(InputError):
        Slice.read(text)


def test_titles_are_words():
    texts = ["age=40..60 & site=a", "age=..40", "age=40..", "site="]
    assert [Slice.read(text).title for text in texts] == [
        "age 40 to 60, site = a",
        "age below 40",
        "age 40 or more",
        "site not given",
    ]


# ---- cutting -------------------------------------------------------------------------------------------------

NUMBERS = st.lists(st.one_of(st.integers(-5, 60), st.sampled_from([None, 0.25])), min_size=1, max_size=80)


@given(ages=NUMBERS, parts=st.integers(2, 6), seed=st.integers(0, 9))
@example(ages=[7] * 30 + list(range(20)), parts=4, seed=0)
def test_every_row_lies_in_one_slice_and_the_slice_finds_it_again(ages, parts, seed):
    site = np.random.default_rng(seed).choice(["a", "b", "", "a & b"], len(ages))
    columns = {"age": pd.Series(ages, dtype=float), "site": pd.Series(site, dtype=object)}
    p = told([0.7] * len(ages), [True] * len(ages), **columns)
    for by in ("age", "site", ("age", "site")):
        masks = np.stack([Slice.read(str(part)).rows(p) for part in cc.slices.cut(p, by, parts=parts)])
        assert (masks.sum(axis=0) == 1).all()
        assert masks.any(axis=1).all()
    ranged = [part for part in cc.slices.cut(p, "age", parts=parts) if isinstance(part.conditions[0], Span)]
    assert not ranged or len(set(columns["age"].dropna())) > 12


def test_many_numbers_are_cut_into_equal_parts_at_short_numbers():
    p = told([0.7] * 1000, [True] * 1000, x=np.random.default_rng(0).normal(size=1000))
    parts = cc.slices.cut(p, "x")
    assert [str(part) for part in parts] == ["x=..-0.7", "x=-0.7..-0.1", "x=-0.1..0.6", "x=0.6.."]
    assert all(abs(part.rows(p).sum() - 250) <= 30 for part in parts)


def test_given_edges_cut_low_inclusive_and_missing_numbers_are_a_slice():
    p = told([0.7] * 5, [True] * 5, age=[39.0, 40.0, 60.0, np.nan, np.inf])
    parts = cc.slices.cut(p, "age", edges=[40, 60])
    assert [(str(part), part.rows(p).nonzero()[0].tolist()) for part in parts] == [
        ("age=..40", [0]),
        ("age=40..60", [1]),
        ("age=60..", [2, 4]),
        ("age=", [3]),
    ]


@pytest.mark.parametrize("kind", ["category", "string", "Int64", "boolean", "datetime64[ns]"])
def test_columns_of_every_kind_are_cut_by_their_values(kind):
    values = {
        "Int64": [1, 2, None],
        "boolean": [True, False, None],
        "datetime64[ns]": ["2020-01-01", None, "2021-01-01"],
    }
    column = pd.Series(values.get(kind, ["x", "y", None])).astype(kind)
    p = told([0.7] * 3, [True] * 3, c=column)
    parts = cc.slices.cut(p, "c")
    assert len(parts) == 3
    assert str(parts[-1]) == "c="
    assert all(part.rows(p).sum() == 1 for part in parts)


def test_what_cannot_be_cut_says_why():
    p = told([0.7] * 300, [True] * 300, question=[f"q{i}" for i in range(300)], site=["a", "b"] * 150)
    with pytest.raises(NotAnswerable, match="'question' has 300 different values, too many for slices"):
        cc.slices.cut(p, "question")
    with pytest.raises(NotAnswerable, match="no column 'sites'; did you mean 'site'"):
        cc.slices.cut(p, "sites")
    with pytest.raises(NotAnswerable, match="no numbers"):
        cc.slices.cut(p, "site", edges=[1])
    with pytest.raises(NotAnswerable, match="no numbers"):
        Slice.read("site=1..2").rows(p)
    with pytest.raises(InputError, match="edges apply to one column"):
        cc.slices.cut(p, ["site", "question"], edges=[1])
    with pytest.raises(InputError, match="ascending"):
        cc.slices.cut(told([0.7], [True], age=[3]), "age", edges=[2, 1])
    with pytest.raises(NotAnswerable, match="no metadata columns"):
        cc.slices.cut(Predictions.from_confidence([0.7], [True]), "site")


# ---- the test of a slice -------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 20), min_size=1, max_size=9))
def test_floor_and_p_hold_for_every_outcome_there_is_whatever_the_single_chances(twentieths):
    chance, n = np.array(twentieths) / 20, len(twentieths)
    law = np.zeros(n + 1)
    for outcome in itertools.product((0, 1), repeat=n):
        law[sum(outcome)] += math.prod(s if z else 1 - s for s, z in zip(chance, outcome, strict=True))
    says, rows, right = np.full(n + 1, chance.mean()), np.full(n + 1, float(n)), np.arange(n + 1) / n
    counts = np.tile(np.bincount(twentieths, minlength=21), (n + 1, 1))
    p, floor = count_noise(np.arange(21) / 20, counts, np.arange(n + 1.0))
    for tested in (p, share_test(right, says, rows, counted=True)):
        assert all(law[tested <= alpha].sum() <= alpha + 1e-9 for alpha in (0.01, 0.05, 0.2))
    beyond = np.abs(right - says) > floor + 1e-9
    assert law[beyond].sum() <= 0.05 + 1e-9
    assert (p[beyond] <= 0.05 + 1e-9).all(), "a gap above its floor has a p of at most 5 %"
    assert floor[0] <= share_floor(rows)[0]
    assert floor[0] == pytest.approx(floor_by_hand(law, chance.mean()))


def test_the_floor_of_a_slice_is_that_of_its_own_scores():
    """Sixty rows at 5 and sixty at 95 % vary less than 120 at 50 %: the floor is smaller, and agrees with p."""
    scores = [0.05, 0.95] * 60
    first, law = poisson_binomial(np.array([60.0, 60.0]), np.array([0.05, 0.95]))
    exact = floor_by_hand(np.concatenate([np.zeros(first), law]), 0.5, 120)
    for right in range(40, 80):
        p = told(scores, [True] * right + [False] * (120 - right), site=["a"] * 120)
        line = cc.slices.table(p, "site").iloc[0]
        assert line["floor"] == pytest.approx(exact)
        assert (abs(line["gap"]) > line["floor"] + 1e-9) == (line["p"] <= 0.05)
    assert exact < 0.6 * binom_floor(120, 0.5)


def test_the_first_sentence_of_a_scan_states_which_rows_it_is_about():
    """The half that confirms, of which a slice can be significant where all rows together are not, and vice versa."""
    rng = np.random.default_rng(3)
    site, right = np.repeat(list("abcd"), 250), rng.random(1000)
    for drop, seed in ((0.0, 0), (0.12, 1), (0.12, 2), (0.3, 0)):
        p = told([0.8] * 1000, right < np.where(site == "d", 0.8 - drop, 0.8), site=site)
        found = cc.slices.scan(p, confirm=0.4, random_state=seed)
        number = found.second if len(found.found) else found.first
        where = rf" on (the )?{number:,} (confirmation rows|rows that the scan searched|others)"
        assert re.search(where, found.headline)
        assert found.headline.startswith("No slice is confirmed") == (
            len(found.found) > 0 and not found.found["stands_out"].any()
        )
        assert (found.first, found.second) == (600, 400), "the confirming rows are the share that is given"
        assert f"examined on {found.first:,} rows" in found.basis
        assert not len(found.found) or f"tested on {found.second:,} other rows" in found.basis
        assert found.found["rows"].max() <= found.second or not len(found.found)
        assert ("rows. 1 was significant" in found.basis) == (found.picked == 1)


def floor_by_hand(law, mean, n=None):
    """Return the distance from the mean chance to the further 2.5 % point of a count with these chances."""
    n = len(law) - 1 if n is None else n
    low, high = (next(k for k in range(n + 1) if law[: k + 1].sum() >= point - 1e-9) for point in (0.025, 0.975))
    return max(mean - low / n, high / n - mean)


@pytest.mark.parametrize("kept", ["plain", "copies", "weights", "groups"])
def test_findings_slices_and_scans_judge_the_same_rows_alike(kept):
    rng = np.random.default_rng(8)
    h, site = rng.choice([0.55, 0.98], 400), np.repeat(["a", "b"], 200)
    more = {
        "plain": {},
        "copies": {"weights": rng.integers(0, 3, 400)},
        "weights": {"weights": rng.uniform(0.5, 2, 400)},
        "groups": {"groups": np.repeat(np.arange(80), 5)},
    }[kept]
    p = Predictions.from_confidence(h, rng.random(400) < h - 0.1, metadata=pd.DataFrame({"site": site}), **more)
    finding = cc.findings(p, by="site").query("kind == 'slice'").set_index("slice").sort_index()
    line = cc.slices.table(p, "site").set_index("where").sort_index()
    assert line["p"].tolist() == pytest.approx(finding["p"].tolist())
    assert line["right"].tolist() == pytest.approx(finding["right"].tolist())


def test_a_right_mean_of_wrong_chances_is_a_gap_a_little_more_often_than_the_level():
    """All of 200 rows at 55 or 98 % come true in 76.5 %: they are not calibrated, though their mean is right.

    By the law of the scores' mean alone this is no gap (``share_test``), which is less powerful where scores are right.
    """
    nodes, right = np.array([0.0, 0.55, 0.98, 1.0]), np.arange(201.0)
    law, calibrated = binom.pmf(right, 200, 0.765), np.zeros(201)
    low, exact = poisson_binomial(np.array([100.0, 100.0]), np.array([0.55, 0.98]))
    calibrated[low : low + len(exact)] = exact
    p = count_test(nodes, np.tile([0.0, 100.0, 100.0, 0.0], (201, 1)), right)
    assert 0.03 < calibrated[p <= 0.05].sum() <= 0.05
    assert 0.05 < law[p <= 0.05].sum() < 0.1
    careful = share_test(right / 200, np.full(201, 0.765), np.full(201, 200.0), counted=True)
    assert law[careful <= 0.05].sum() <= 0.05
    assert calibrated[careful <= 0.05].sum() < 0.025


def test_a_table_by_hand():
    site = ["a"] * 40 + ["b"] * 40 + ["c"] * 3
    p = told([0.75] * 83, [True] * 30 + [False] * 10 + [True, False] * 20 + [False] * 3, site=site)
    table = cc.slices.table(p, "site")
    assert table["slice"].tolist() == ["site = b", "site = a", "site = c"]
    exact = 2 * binom.cdf(20, 40, 0.75)
    assert table["p"].tolist()[:2] == pytest.approx([exact, 1.0])
    assert table["p_corrected"].tolist()[:2] == pytest.approx([2 * 2 * exact, 1.0])  # bins and slices, two tests
    assert table["gap"].tolist() == pytest.approx([-0.25, 0.0, -0.75])
    assert table["floor"].tolist()[0] == pytest.approx(binom_floor(40, 0.75))
    assert table["stands_out"].tolist() == [True, False, False]
    assert table.iloc[2][["p", "p_corrected", "floor"]].isna().all(), "three rows are listed and not tested"
    assert table["adds"].tolist()[0] == pytest.approx(40 / 83 * (0.25 - binom_floor(40, 0.75)))


def binom_floor(n, s):
    low = next(k for k in range(n + 1) if sum(binom.pmf(j, n, s) for j in range(k + 1)) >= 0.025)
    high = next(k for k in range(n + 1) if sum(binom.pmf(j, n, s) for j in range(k + 1)) >= 0.975)
    return max(s - low / n, high / n - s)


def test_copies_are_rows_and_other_weights_count_as_what_they_are_worth():
    rng = np.random.default_rng(1)
    h, right, site = rng.uniform(0.5, 1, 60), rng.random(60) < 0.6, rng.choice(list("ab"), 60)
    weights = rng.integers(0, 3, 60).astype(float)
    p = Predictions.from_confidence(h, right, weights=weights, metadata=pd.DataFrame({"site": site}))
    pd.testing.assert_frame_equal(cc.slices.table(p, "site"), cc.slices.table(p.written_out(), "site"))
    other = weights + 0.5
    table = cc.slices.table(p.replace(weights=other), "site").set_index("slice")
    for letter in "ab":
        mine, line = site == letter, table.loc[f"site = {letter}"]
        worth = other[mine].sum() ** 2 / np.square(other[mine]).sum()
        gap = np.average(right[mine] - h[mine], weights=other[mine])
        assert [line["rows"], line["worth"], line["gap"]] == pytest.approx([mine.sum(), worth, gap])
        assert line["share"] == pytest.approx(other[mine].sum() / other.sum())
        if worth >= 20:
            assert line["p"] == pytest.approx(min(1, 2 * math.exp(-2 * worth * gap**2)))
            assert line["floor"] == pytest.approx(math.sqrt(math.log(40) / (2 * worth)))


def test_rows_the_model_declines_make_no_claim():
    p = Predictions([[0.5, 0.5]] * 50 + [[0.9, 0.1]] * 50, [0] * 100, abstained=[True] * 50 + [False] * 50,
                    metadata=pd.DataFrame({"site": ["a", "b"] * 50}))  # fmt: skip
    assert cc.slices.table(p, "site")["rows"].tolist() == [25, 25]
    for notion, claimed in ((None, 0.1), ("event", 0.1), ("confidence", 0.9)):
        assert cc.slices.table(p, "site", notion=notion)["claimed"].tolist() == pytest.approx([claimed, claimed])


@given(st.lists(st.floats(0, 1) | st.just(np.nan), min_size=1, max_size=12))
def test_the_correction_that_holds_under_any_dependence(p):
    known = [x for x in p if x == x]
    factor = sum(1 / i for i in range(1, len(known) + 1))
    twin = np.minimum(benjamini_hochberg(p) * factor, 1)
    assert benjamini_yekutieli(p).tolist() == pytest.approx(twin.tolist(), nan_ok=True)


# ---- scanning ------------------------------------------------------------------------------------------------


def many_columns(n, columns, rng):
    h = rng.uniform(0.5, 1, n)
    return h, {f"c{j}": rng.integers(0, 4, n) for j in range(columns)}


def by_convolution(scores, positives):
    """Return the two-sided p of a count of independent outcomes, its distribution built row by row."""
    law = np.ones(1)
    for s in scores:
        law = np.convolve(law, [1 - s, s])
    return min(1.0, 2 * min(law[: positives + 1].sum(), law[positives:].sum()))


def test_a_scan_looks_at_every_slice_once(monkeypatch):
    rng = np.random.default_rng(3)
    h, columns = many_columns(900, 3, rng)
    columns |= {"copy": columns["c0"] % 2, "row": [f"r{i}" for i in range(900)], "same": ["x"] * 900}
    p = told(h, rng.random(900) < h, **columns)
    looked = []
    monkeypatch.setattr(SCANNING, "benjamini_yekutieli", lambda p: looked.append(p) or np.zeros(len(p)))
    found = cc.slices.scan(p, min_rows=20)
    first = ~cc.predictions.predictions.split_rows(np.zeros(900, dtype=int), 0.5, 0)
    names, expected = ["c0", "c1", "c2", "copy"], []
    for pair in [*((name,) for name in names), *itertools.combinations(names, 2)]:
        for part in cc.slices.cut(p, pair):
            mine = part.rows(p) & first
            sides = [(Slice((c,)).rows(p) & first).sum() for c in part.conditions] if len(pair) > 1 else []
            if mine.sum() >= 20 and mine.sum() not in sides:
                expected.append(by_convolution(h[mine], p.correct[mine].sum()))
    assert found.looked == len(expected)
    assert sorted(looked[0]) == pytest.approx(sorted(expected), rel=5e-3)
    assert dict(found.left_out) == {
        "row": "it has a different value in almost every row",
        "same": "it has the same value in every row",
    }
    line = found.frame().iloc[0]
    places = np.flatnonzero(Slice.read(line["where"]).rows(p) & ~first)
    twin = judged(p, [places], among=np.flatnonzero(~first)).iloc[0]
    assert line[list(twin.index)].tolist() == pytest.approx(twin.tolist())


def test_a_planted_crossing_is_found_and_its_parts_are_not_listed_beside_it():
    rng = np.random.default_rng(5)
    h, columns = many_columns(20_000, 5, rng)
    off = (columns["c1"] == 2) & (columns["c3"] == 0)
    p = told(h, rng.random(20_000) < h - 0.3 * off, **columns)
    found = cc.slices.scan(p)
    assert found.frame().iloc[0][["where", "stands_out"]].tolist() == ["c1=2 & c3=0", True]
    assert found.headline.startswith(
        "Largest contribution to the error on the 10,000 confirmation rows: c1 = 2, c3 = 0, mean 75 %, observed 4"
    )
    assert f"{found.looked:,} slices of 5 columns and crossings of two were examined on 10,000 rows" in found.basis


def test_a_scan_without_anything_to_look_at_says_so():
    with pytest.raises(NotAnswerable, match="no metadata columns"):
        cc.slices.scan(Predictions.from_confidence([0.7] * 4, [True] * 4))
    few = cc.slices.scan(told([0.7] * 8, [True] * 8, site=["a", "b"] * 4))
    assert few.headline == "No slice has enough rows."
    assert few.frame().empty
    with pytest.raises(NotAnswerable, match="'row' has 300 different values, too many for slices"):
        cc.slices.scan(told([0.7] * 300, [True] * 300, row=[f"r{i}" for i in range(300)]), ["row"])


@pytest.mark.parametrize(
    ("name", "numbers", "left_out"),
    [
        ("row", np.arange(150), True),  # consecutive
        ("row", np.arange(150) * 7 % 150 + 20, True),  # in any order
        ("patient_id", np.arange(150) * 3, True),  # by its name
        ("income", np.arange(150) * 3, False),
        ("grid", np.arange(150) % 75, False),  # shared by two rows each
        ("pH", np.arange(150) / 10, False),
        ("row", np.arange(400) * 3, True),  # so many distinct whole numbers identify rows by any name
    ],
)
def test_a_column_that_numbers_rows_is_not_cut_unless_it_is_requested(name, numbers, left_out):
    n = len(numbers)
    p = told([0.7] * n, [True] * n, site=["a", "b"] * (n // 2), **{name: numbers})
    cuts, out = divided_by(p, None, 4)
    assert (name in cuts) is not left_out
    assert out == (((name, "it only numbers the rows"),) if left_out else ())
    assert name in divided_by(p, [name], 4)[0]


# ---- guarantees, by simulation -------------------------------------------------------------------------------


@TRIALS
def test_scans_of_calibrated_models_confirm_wrongly_in_at_most_a_twentieth(monkeypatch, trials):
    # Everything is selected, so that only the confirmation controls the error.
    monkeypatch.setattr(SCANNING, "benjamini_yekutieli", lambda p: np.zeros(len(p)))
    wrong, unheld, uncorrected = 0, 0, 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        h, columns = many_columns(600, 4, rng)
        p = told(h, rng.random(600) < h, **columns)
        frame = cc.slices.scan(p, crossings=False, min_rows=10, random_state=seed).frame()
        wrong += bool(frame["stands_out"].any())
        uncorrected += bool((frame["p"] <= 0.05).any())
        first = np.flatnonzero(~cc.predictions.predictions.split_rows(np.zeros(600, dtype=int), 0.5, seed))
        chosen = [first[Slice.read(where).rows(p)[first]] for where in frame["where"]]
        # Twin: chosen and judged on the same rows, the one that looks worst not corrected for having been chosen.
        unheld += bool(judged(p, chosen)["p"].min() <= 0.05)
    assert not above(wrong / trials, trials)
    assert above(uncorrected / trials, trials)
    assert above(unheld / trials, trials)


@TRIALS
def test_a_table_with_slices_that_are_off_keeps_its_share_of_false_alarms(trials):
    false, uncorrected, power = [], [], []
    site = np.repeat(np.arange(20), 60)
    truly = site < 4
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        h = rng.uniform(0.55, 0.95, len(site))
        table = cc.slices.table(told(h, rng.random(len(site)) < h - 0.3 * truly, site=site.astype(str)), "site")
        off = table["where"].str.removeprefix("site=").astype(int) < 4
        for calls, shares in ((table["stands_out"], false), (table["p"] <= 0.05, uncorrected)):
            shares.append((calls & ~off).sum() / max(1, calls.sum()))
        power.append(table["stands_out"][off].mean())
    error = np.std(false) / math.sqrt(trials)
    assert np.mean(false) <= 0.05 + 3 * error
    assert np.mean(uncorrected) > 0.05 + 3 * error
    assert np.mean(power) > 0.8


def test_rows_in_groups_are_not_taken_for_independent():
    # Twelve rows per group, right or wrong together: every group has the information of one row.
    trials, wrong, confirmed, taken_apart = 40, 0, 0, 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        group = np.repeat(np.arange(100), 12)
        h = np.full(1200, 0.8)
        right = (rng.random(100) < 0.8)[group]
        site = (group % 5).astype(str)
        p = Predictions.from_confidence(h, right, groups=group, metadata=pd.DataFrame({"site": site}))
        table = cc.slices.table(p, "site")
        assert table[["rows", "groups", "worth"]].values.tolist() == [[240, 20, 20]] * 5
        wrong += bool(table["stands_out"].any())
        confirmed += bool(cc.slices.scan(p).frame()["stands_out"].any())
        taken_apart += bool(cc.slices.table(p.replace(groups=None), "site")["stands_out"].any())
    assert not above(wrong / trials, trials)
    assert not above(confirmed / trials, trials)
    assert above(taken_apart / trials, trials)


def test_a_scan_keeps_groups_on_one_side():
    rng = np.random.default_rng(0)
    group, site = np.repeat(np.arange(300), 4), rng.choice(["a", "b"], 1200)
    p = Predictions.from_confidence(
        rng.uniform(0.8, 1, 1200), rng.random(1200) < 0.3, groups=group, metadata=pd.DataFrame({"site": site})
    )
    found = cc.slices.scan(p)
    first = p.row_groups.first_part(np.zeros(1200, dtype=int), 0.5, 0)
    assert found.second == first.sum()
    assert found.frame()["stands_out"].all()
    assert "confirmed (Hoeffding's bound, Holm-corrected)" in found.basis


def grouped_scan(rng, off=0.0):
    """Return three hundred groups of four rows with equal outcomes; at the second site less often than predicted."""
    group, site = np.repeat(np.arange(300), 4), np.repeat(rng.choice(["a", "b", "c", "d"], 300), 4)
    columns = {"site": site, "day": np.repeat(rng.integers(0, 5, 300), 4).astype(str)}
    right = np.repeat(rng.random(300), 4) < 0.75 - off * (site == "b")
    return Predictions.from_confidence(np.full(1200, 0.75), right, groups=group, metadata=pd.DataFrame(columns))


@pytest.mark.parametrize("dense", [0, 8])
def test_what_stands_out_on_the_first_rows_is_judged_as_the_table_judges_it(monkeypatch, dense):
    rng, looked = np.random.default_rng(1), []
    monkeypatch.setattr(SCANNING, "_DENSE", dense)
    monkeypatch.setattr(SCANNING, "benjamini_yekutieli", lambda p: looked.append(p) or np.ones(len(p)))
    p = grouped_scan(rng, 0.3)
    p = p.replace(weights=rng.uniform(0.5, 2, 1200))
    cc.slices.scan(p, ["site", "day"], crossings=False, min_rows=20)
    first = ~p.row_groups.first_part(np.zeros(1200, dtype=int), 0.5, 0)
    parts = [part for name in ("site", "day") for part in cc.slices.cut(p, name)]
    twin = judged(p, [np.flatnonzero(part.rows(p) & first) for part in parts], among=np.flatnonzero(first))
    assert (twin["rows"] >= 20).all()
    assert sorted(looked[0]) == pytest.approx(sorted(twin["p"]))


@TRIALS
def test_copies_of_a_calibrated_model_do_not_stand_out_on_the_first_rows(trials):
    """The twin that treats a group's rows as independent finds some in most scans."""
    wrong, alone, found = 0, 0, 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        p = grouped_scan(rng)
        wrong += cc.slices.scan(p, random_state=seed).picked > 0
        alone += cc.slices.scan(p.replace(groups=None), random_state=seed).picked > 0
        found += bool(cc.slices.scan(grouped_scan(rng, 0.5), random_state=seed).frame()["stands_out"].any())
    assert not above(wrong / trials, trials)
    assert above(alone / trials, trials)
    assert found > 0.8 * trials


def test_a_column_of_slices_too_small_to_test_is_offered_last():
    columns = {"patient": np.arange(90) % 30, "site": np.arange(90) % 2}
    found = cc.slices.by_column(
        told(np.full(90, 0.75), np.arange(90) // 2 % 4 > 0, **{k: v.astype(str) for k, v in columns.items()})
    )
    assert found["column"].iloc[0] == "site"
    assert found["spread"].iloc[0] < 0, "what is not further apart than noise is still before what is not known"
    assert found["spread"].isna().sum() == 30


def test_columns_that_cannot_be_cut_are_left_out_and_infinities_lie_in_the_outermost_range():
    columns = {"x": np.r_[np.arange(20.0), np.full(20, np.inf)], "tags": [["a"], ["b"]] * 20}
    p = Predictions.from_confidence([0.7] * 40, [True, False] * 20, metadata=pd.DataFrame(columns))
    assert {line["slice"].split()[0] for line in cc.slices.by_column(p).to_dict("records")} == {"x"}
    assert cc.slices.table(p, "x")["rows"].sum() == 40
    with pytest.raises(NotAnswerable, match="contains lists"):
        cc.slices.cut(p, "tags")


def test_numbers_of_32_bits_are_written_with_their_own_digits():
    narrow = pd.DataFrame({"x": np.array([0.1, 0.2] * 20, dtype=np.float32)})
    p = Predictions.from_confidence([0.7] * 40, [True, False] * 20, metadata=narrow)
    assert [str(part) for part in cc.slices.cut(p, "x")] == ["x=0.1", "x=0.2"]


def test_a_column_shares_its_part_of_the_5_percent_with_the_others():
    site = pd.DataFrame({"site": ["a"] * 40 + ["b"] * 40})
    p = Predictions.from_confidence([0.75] * 80, ([True] * 3 + [False]) * 10 + [True, False] * 20, metadata=site)
    alone, seven = cc.slices.table(p, "site"), cc.slices.table(p, "site", columns=7)
    np.testing.assert_allclose(seven["p_corrected"], np.minimum(7 * alone["p_corrected"], 1))
    two = p.replace(metadata=site.assign(half=[1, 2] * 40))
    both = cc.slices.by_column(two).query("column == 'site'").drop(columns=["column", "spread"])
    pd.testing.assert_frame_equal(both.reset_index(drop=True), cc.slices.table(two, "site"))
    np.testing.assert_allclose(both["p_corrected"], np.minimum(2 * alone["p_corrected"], 1))
    chosen = cc.slices.by_column(two, ["site"]).drop(columns=["column", "spread"])
    pd.testing.assert_frame_equal(chosen, cc.slices.table(two, "site"))
    found = cc.findings(two, by="site").set_index("place").loc[alone["slice"]]
    np.testing.assert_allclose(found["p_corrected"], cc.slices.table(two, "site")["p_corrected"])


def test_a_scan_of_one_slice_says_one():
    site = pd.DataFrame({"site": ["a"] * 390 + ["b"] * 10})
    found = cc.slices.scan(Predictions.from_confidence([0.75] * 400, [True, True, True, False] * 100, metadata=site))
    assert found.looked == 1
    assert found.headline == "The only slice examined is not significantly off on the 200 rows that the scan searched."
    assert found.basis.startswith("1 slice of 1 column was examined on 200 rows. ")


def test_what_people_marked_of_some_answers_is_an_outcome_and_no_slice():
    """Among the rows that people called right all are right, for any model: that is no failure of the model."""
    marks = np.where(np.arange(60) % 3 == 0, np.arange(60) % 2, np.nan)
    columns = pd.DataFrame({"human": marks, "smoker": marks, "site": list("ab") * 30})
    rows = Predictions.from_confidence([0.8] * 60, np.arange(60) % 2 == 1, metadata=columns)
    found = cc.slices.scan(rows)
    assert [name for name, _ in found.left_out] == ["human"]
    assert {"smoker", "site"} <= set(found.columns)
    assert len(cc.slices.cut(rows, "human")) == 3, "who asks for it has it"


def test_a_range_of_numbers_means_the_same_rows_whatever_is_chosen():
    rng = np.random.default_rng(4)
    age, site = rng.integers(18, 90, 600), rng.choice(list("ab"), 600)
    age[site == "a"] //= 2  # another distribution, so that quantiles of a slice lie elsewhere
    risk = rng.uniform(0.05, 0.9, 600)
    columns = pd.DataFrame({"age": age, "site": site, "row": np.arange(600)})
    rows = cc.Predictions(np.column_stack([1 - risk, risk]), rng.random(600) < risk, metadata=columns)
    ranges = {str(part): set(np.flatnonzero(part.rows(rows))) for part in cc.slices.cut(rows, "age")}
    assert len(ranges) == 4
    fit, test = rows.split()
    updated = cc.slices.part(rows, "site=a").with_probs(np.full((int((site == "a").sum()), 2), 0.5))
    for chosen in (fit, test, cc.slices.part(rows, "site=a"), cc.slices.part(test, "site=b"), updated):
        here = set(chosen.metadata["row"])
        found = {str(part): set(chosen.metadata["row"][part.rows(chosen)]) for part in cc.slices.cut(chosen, "age")}
        assert found == {text: within & here for text, within in ranges.items() if within & here}
        told = cc.slices.by_column(chosen, ["age"], notion="event")
        assert set(told["where"]) <= set(ranges)
    one = cc.slices.part(rows, next(iter(ranges)))
    assert [str(part) for part in cc.slices.cut(one, "age")] == [next(iter(ranges))]
    assert "age" not in set(cc.slices.by_column(one)["column"]), "one range divides nothing"


def test_columns_without_a_significant_slice_stand_by_how_far_their_slices_lie_apart():
    rng = np.random.default_rng(5)
    stated = rng.uniform(0.5, 1.0, 900)
    columns = {f"column {i}": rng.choice(list("abc"), 900) for i in range(4)}
    rows = Predictions.from_confidence(stated, rng.random(900) < stated, metadata=pd.DataFrame(columns))
    found = cc.slices.by_column(rows)
    assert not found["stands_out"].any()
    spread = found.groupby("column", sort=False)["spread"].first()
    assert spread.nunique() == 4
    assert spread.is_monotonic_decreasing
