"""Twins of slices by metadata columns, and of all significant places."""

import math

import by_hand
import numpy as np
import pandas as pd
from compared import twin
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.stats import beta, chi2, t
from twins_of_bins import stars
from twins_of_classes import classes_of

from dashboard.exhibits import EXHIBITS


def hybrid(here, rest, level):
    """Return Newcombe's interval of a difference of two shares, as its extents below and above."""
    (k, n), (k_rest, n_rest) = here, rest
    low, high = by_hand.clopper_pearson(k, n, level)
    low_rest, high_rest = by_hand.clopper_pearson(k_rest, n_rest, level)
    below = math.hypot(k / n - low, high_rest - k_rest / n_rest)
    return below, math.hypot(high - k / n, k_rest / n_rest - low_rest)


def judged(scores, outcomes, groups, fewest=10):
    """Return one line per group of rows: the values of slices, uncorrected."""
    every, lines = set(range(len(scores))), []
    for name, here in groups.items():
        n, k = len(here), int(sum(outcomes[here]))
        says, right = float(np.mean(scores[here])), k / n
        low, high = by_hand.clopper_pearson(k, n)
        line = {"slice": name, "rows": n, "worth": n, "share": n / len(scores), "claimed": says, "right": right}
        line |= {"gap": right - says, "low": low, "high": high, "floor": math.nan, "p": math.nan}
        line |= {"adds": math.nan, "beyond": math.nan, "beyond_low": math.nan, "beyond_high": math.nan}
        line["p_beyond"] = math.nan
        if n >= fewest:
            low, high = (by_hand.quantile_of_count(scores[here], point) / n for point in (0.025, 0.975))
            line["floor"] = max(says - low, high - says)
            line["p"] = by_hand.count_p(scores[here], k)
            line["adds"] = n / len(scores) * (abs(right - says) - line["floor"])
        rest = sorted(every - set(map(int, here)))
        if min(n, len(rest)) >= fewest:
            k_rest, n_rest = int(sum(outcomes[rest])), len(rest)
            beyond = right - says - (k_rest / n_rest - float(np.mean(scores[rest])))
            below, above = hybrid((k, n), (k_rest, n_rest), 0.9)
            line |= {"beyond": beyond, "beyond_low": beyond - below, "beyond_high": beyond + above}
            line["p_beyond"] = least_miss(beyond, (k, n), (k_rest, n_rest))
        lines.append(line)
    return lines


def least_miss(beyond, here, rest):
    """Return the smallest miss probability at which the interval excludes 0."""

    def reach(log_miss):
        below, above = hybrid(here, rest, 1 - math.exp(log_miss))
        return (below if beyond > 0 else above) - abs(beyond)

    if reach(math.log(1e-12)) < 0:
        return 1e-12
    return math.exp(brentq(reach, math.log(1e-12), -1e-9)) if reach(-1e-9) < 0 else 1.0


def of_column(data, column, columns):
    """Return the slices of a column, tested and corrected for its values, the kinds of places, and the columns."""
    model = data.base
    scores, outcomes = data.claim(model)
    lines = judged(scores, outcomes, data.slices(column))
    found = by_hand.corrected([line["p"] for line in lines], data.kinds * columns)
    unlike = by_hand.holm([line["p_beyond"] for line in lines])
    for line, p, q in zip(lines, found, unlike, strict=True):
        line |= {"p_corrected": p, "stands_out": p <= 0.05, "differs": columns * q <= 0.05}
    lines.sort(key=lambda s: (not s["stands_out"], -round(abs(s["gap"]), 12) if s["stands_out"] else 0, s["p"]))
    return lines


def put(compared, lines):
    """Check lines of slices against the frame: exact tests agree to half a percent."""
    for name in lines[0]:
        p = name.startswith("p") or name == "p_beyond"
        compared.same(name, [line[name] for line in lines], rel=0.005 if p else 1e-7)


@twin("slices")
def slices(compared, data):
    lines = of_column(data, "site", len(data.columns))
    put(compared, lines)
    compared.same("where", [where(line["slice"]) for line in lines])


def firth_chances(x, y):
    """Return the chances of Firth's logistic regression on x, by a general minimizer."""
    z = (x - x.mean()) / x.std()
    design = np.column_stack([np.ones(len(z)), z])

    def loss(b):
        line = design @ b
        p = 1 / (1 + np.exp(-line))
        information = design.T @ (design * (p * (1 - p))[:, None])
        return float(np.sum(np.logaddexp(0, line) - y * line)) - 0.5 * np.linalg.slogdet(information)[1]

    b = minimize(loss, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-11}).x
    return 1 / (1 + np.exp(-design @ b))


def sites_of(data):
    """Return calibration of every value of the column that the page divides by: one line each."""
    (column,) = EXHIBITS.make("sites").split(data.scene)
    scores, outcomes = data.claim(data.base)
    lines = []
    for name, here in data.slices(column).items():
        s, y = np.asarray(scores[here], float), np.asarray(outcomes[here], float)
        x, n, k, e = np.log(s / (1 - s)), len(s), y.sum(), s.sum()
        shift = brentq(lambda b, x=x, k=k: float(np.sum(1 / (1 + np.exp(-x - b)))) - k, -20, 20)

        def loss(ab, x=x, y=y):
            line = ab[0] + ab[1] * x
            return float(np.sum(np.logaddexp(0, line) - y * line))

        slope = minimize(loss, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x
        chance = 1 / (1 + np.exp(-slope[0] - slope[1] * x))
        design = np.column_stack([np.ones(n), x])
        spread = np.linalg.inv(design.T @ (design * (chance * (1 - chance))[:, None]))[1, 1]
        firth = firth_chances(x, y)
        pi = np.sum(firth**2) / np.sum(firth)
        size = min(n, k / (k / n + max(pi - k / n, 0) * max(0.0, 1 - 5 / min(k, n - k))))
        at = 1 / (1 + np.exp(-x - shift))
        line = {"slice": name, "where": where(name), "rows": n, "events": k, "expected": e, "ratio": k / e}
        line |= {"intercept": shift, "slope": slope[1], "x": x, "size": size}
        line["ratio_error"], line["slope_error"] = math.sqrt((1 - k / size) / k), math.sqrt(spread)
        line["intercept_error"] = 1 / math.sqrt(np.sum(at * (1 - at)))
        lines.append(line)
    return sorted(lines, key=lambda line: -line["ratio"])


@twin("sites")
def sites(compared, data):
    """Check numbers by a general minimizer, exact ends by the beta law, and what ends of one measure say of another."""
    lines, frame = sites_of(data), compared.frame
    for name in ("slice", "where", "rows", "events"):
        compared.same(name, [line[name] for line in lines])
    for name in ("expected", "ratio", "intercept"):
        compared.same(name, [line[name] for line in lines], rel=1e-6)
    compared.same("slope", [line["slope"] for line in lines], rel=1e-3)
    differs = []
    for i, line in enumerate(lines):
        n, k, e = line["size"], line["events"], line["expected"]

        def ends(miss, n=n, k=k, e=e):
            tail = miss / 2 / len(lines)
            return n * beta.ppf(tail, k, n - k + 1) / e, n * beta.isf(tail, k + 1, n - k) / e

        for name, end in zip(("low", "high"), ends(0.1), strict=True):
            assert abs(frame[f"ratio_{name}"][i] / end - 1) < 1e-2
            there = np.sum(1 / (1 + np.exp(-line["x"] - frame[f"intercept_{name}"][i])))
            assert abs(there / (frame[f"ratio_{name}"][i] * e) - 1) < 1e-6
        least, most = ends(0.05)
        differs.append(bool(least > 1 or most < 1))
    compared.same("differs", differs)
    for name in ("ratio", "intercept", "slope"):
        low, high = f"{name}_low", f"{name}_high"
        compared.holds((frame[low] <= frame[name]) & (frame[name] <= frame[high]), low, high)
    inside = (frame["ratio_low"] > 0.8) & (frame["ratio_high"] < 1.25)
    outside = (frame["ratio_low"] > 1.25) | (frame["ratio_high"] < 0.8)
    compared.holds((frame["verdict"] == "within") == inside, "verdict")
    compared.holds((frame["verdict"] == "miscalibrated") == outside, "verdict")
    compared.same("pooled", [min(line["expected"], line["rows"] - line["expected"]) >= 5 for line in lines])
    compared.words("note")


@twin("pooled-sites")
def pooled_sites(compared, data):
    """Check the restricted likelihood by a search over tau^2, and Hartung and Knapp's ends by their formula."""
    lines = [line for line in sites_of(data) if min(line["expected"], line["rows"] - line["expected"]) >= 5]
    names, found = ("ratio", "intercept", "slope"), []
    for name in names:
        y = np.array([math.log(line["ratio"]) if name == "ratio" else line[name] for line in lines])
        v, k = np.array([line[f"{name}_error"] for line in lines]) ** 2, len(lines)

        def restricted(tau2, y=y, v=v):
            w = 1 / (v + tau2)
            return 0.5 * (np.sum(np.log(v + tau2)) + math.log(w.sum()) + np.sum(w * (y - w @ y / w.sum()) ** 2))

        inner = minimize_scalar(restricted, bounds=(0, 5), method="bounded", options={"xatol": 1e-12}).x
        tau2 = inner if restricted(inner) < restricted(0.0) else 0.0
        w = 1 / (v + tau2)
        mean = w @ y / w.sum()
        error = math.sqrt(max(1.0, np.sum(w * (y - mean) ** 2) / (k - 1)) / w.sum())
        half = t.isf(0.05, k - 1) * error
        ends = [mean, mean - half, mean + half]
        ends = [math.exp(end) for end in ends] if name == "ratio" else ends
        fixed = 1 / v
        typical = (k - 1) * fixed.sum() / (fixed.sum() ** 2 - np.sum(fixed**2))
        q = np.sum(fixed * (y - fixed @ y / fixed.sum()) ** 2)
        line = dict(zip(("mean", "low", "high"), ends, strict=True))
        found.append(line | {"tau": math.sqrt(tau2), "i2": tau2 / (tau2 + typical), "p": chi2.sf(q, k - 1)})
    frame = compared.frame
    for name in found[0]:
        compared.same(name, [line[name] for line in found], rel=0.02, least=2e-3)
    compared.same("measure", names)
    compared.same("sites", [len(lines)] * 3)
    compared.same("reference", [1, 0, 1])
    compared.holds((frame["tau_low"] <= frame["tau"]) & (frame["tau"] <= frame["tau_high"]), "tau_low", "tau_high")
    # Draws have a test of their own: a new value is less certain than the mean.
    compared.holds((frame["new_low"] <= frame["low"]) & (frame["high"] <= frame["new_high"]), "new_low", "new_high")
    compared.words("title", "note")


@twin("slice-columns")
def slice_columns(compared, data):
    """Check the order: first the column of the largest significant gap, or else of the widest spread."""
    tables = []
    for column in data.columns:
        lines = of_column(data, column, len(data.columns))
        mean = sum(s["share"] * s["gap"] for s in lines) / sum(s["share"] for s in lines)
        spread = sum(s["share"] * ((s["gap"] - mean) ** 2 - (s["floor"] / 1.959964) ** 2) for s in lines)
        most = max([abs(s["gap"]) for s in lines if s["stands_out"]], default=0.0)
        tables.append((most, spread, column, [{**line, "column": column, "spread": spread} for line in lines]))
    lines = [line for *_, part in sorted(tables, key=lambda t: t[:3], reverse=True) for line in part]
    for name in lines[0]:
        p = name.startswith("p")
        compared.same(name, [line[name] for line in lines], rel=0.005 if p else 1e-6)
    compared.same("where", [where(line["slice"]) for line in lines])


@twin("slice-panels")
def slice_panels(compared, data):
    first = max(data.columns, key=lambda c: max([abs(s["gap"]) for s in of_column(data, c, len(data.columns))
                                                 if s["stands_out"]], default=0))  # fmt: skip
    order = [line["slice"] for line in of_column(data, first, len(data.columns))]
    edges, lines = by_hand.edges_of(data.bins), []
    for title, model in data.models.items():
        scores, outcomes = model.claims(data.notion)[0][0]
        for name in order:
            here = np.array([i for i in data.slices(first)[name] if model.answered[i]])
            for b, places in by_hand.cells_of(scores[here], edges).items():
                mine = here[places]
                says, right = np.mean(scores[mine]), np.mean(outcomes[mine])
                line = {"model": title, "slice": name, "bin": b, "lower": edges[b], "upper": edges[b + 1]}
                line |= {"count": len(mine), "mean_score": says, "mean_outcome": right, "gap": right - says}
                lines.append({**line, "weight": len(mine) / sum(model.answered)})
    compared.all_same(lines)


@twin("findings")
def findings(compared, data):
    """Check every bin, class, class in a bin, slice and all rows, each in its family, corrected once."""
    model = data.base
    scores, outcomes = data.claim(model)
    families = [[("bin", {"bin": line["bin"], "lower": line["lower"], "upper": line["upper"]}, here, scores, outcomes)
                 for line, here in stars(data, model, whole=False)]]  # fmt: skip
    edges = by_hand.edges_of(data.bins)
    tests = {}
    if model.predicted is not None and not data.of_event:
        cells, classes, every = [], [], []
        tests = {line["class"]: line["p"] for line in classes_of(data, model)}
        for c, name in enumerate(model.names):
            mine = np.flatnonzero(model.predicted == c)
            for b, places in by_hand.cells_of(model.h[mine], edges).items():
                place = {"class": name, "code": c, "bin": b, "lower": edges[b], "upper": edges[b + 1]}
                cells.append(("class and bin", place, mine[places], scores, outcomes))
            classes.append(("predicted class", {"class": name, "code": c}, mine, scores, outcomes))
            rows = np.arange(len(model))
            every.append(("class", {"class": name, "code": c}, rows, model.probs[:, c], model.label == c))
        families += [cells, classes, every]
    families.append([("direction", {}, np.arange(len(scores)), scores, outcomes)])
    for column in data.columns:
        groups = data.slices(column).items()
        families.append([("slice", {"slice": where(name)}, here, scores, outcomes) for name, here in groups])
    lines = []
    for family in families:
        mine = []
        for kind, place, here, s, z in family:
            n, k = len(here), int(sum(z[here]))
            says, right = float(np.mean(s[here])), k / n
            low, high = by_hand.clopper_pearson(k, n)
            if kind == "direction":  # as all rows are reported elsewhere, inside and outside of other levels
                shown = compared.frame[compared.frame["kind"] == kind].iloc[0]
                inner, outer = by_hand.clopper_pearson(k, n, 0.7), by_hand.clopper_pearson(k, n, 0.99)
                low, high = float(shown["low"]), float(shown["high"])
                assert outer[0] < low < inner[0]
                assert inner[1] < high < outer[1]
            p = tests[place["class"]] if kind == "predicted class" else by_hand.count_p(s[here], k)
            if kind == "direction":
                assert by_hand.shares_a_level(p, shown, says)
                p = float(shown["p"])
            line = {"kind": kind, "class": None, "code": math.nan, "bin": math.nan, "slice": None}
            line |= {"lower": math.nan, "upper": math.nan, **place}
            line |= {"rows": n, "worth": n, "says": says, "right": right, "gap": right - says}
            line |= {"low": low, "high": high, "level": 0.9, "p": p if n >= 10 else math.nan}
            line["p_of"] = "error over bins" if kind == "predicted class" else ""
            least = max(low - says, says - high, 0.0)
            mine.append({**line, "rows_off": n * least if n >= 10 else 0.0})
        kind = mine[0]["kind"]
        families_of = 1 if kind == "direction" else data.kinds * (len(data.columns) if kind == "slice" else 1)
        found = by_hand.corrected([line["p"] for line in mine], families_of)
        for line, p in zip(mine, found, strict=True):
            line |= {"p_corrected": p, "stands_out": p <= 0.05}
        lines += mine
    names = ("kind", "class", "bin", "slice")
    shown = {tuple(none(line[name]) for name in names): line for line in compared.frame.to_dict("records")}
    assert len(shown) == len(lines)
    ordered = {tuple(none(line[name]) for name in names): line for line in lines}
    assert set(shown) == set(ordered)
    lines = [ordered[key] for key in shown]
    for name in lines[0]:
        loose = name in ("p", "p_corrected")
        rel = 0.1 if loose and tests else 0.06 if loose else 1e-9
        compared.same(name, [line[name] for line in lines], rel=rel, least=2e-3 if loose and tests else 1e-11)
    every = next(line for line in lines if line["kind"] == "direction")
    if as_a_whole(lines, every):
        assert lines[0] is every, "the model is off as a whole"
        lines = lines[1:]
    # A predicted class that is off as a whole comes before its bins, whose gaps can be larger.
    for i, whole in enumerate(lines):
        cells = [s for s in lines if s["kind"] == "class and bin" and s["class"] == whole["class"]]
        if whole["kind"] == "predicted class" and as_a_whole(cells, whole):
            after = [s for s in lines[i + 1 :] if s["stands_out"]]
            assert not any(s in lines[:i] for s in cells)
            assert not after or abs(whole["gap"]) >= abs(after[0]["gap"]) or after[0] in cells
    lines = [s for s in lines if s["kind"] != "predicted class" or not s["stands_out"]]
    places = [(not s["stands_out"], -round(abs(s["gap"]), 12) if s["stands_out"] else 0) for s in lines]
    assert places == sorted(places)
    rest = [s["p"] for s in compared.frame.to_dict("records") if not s["stands_out"] and s["p"] == s["p"]]
    assert rest == sorted(rest)
    compared.words("finding", "place")


def as_a_whole(lines, every):
    """True if nearly all tested places are off as all rows are, and no single one is the cause."""
    tested = [line for line in lines if line["p"] == line["p"] and line["kind"] != "class"]
    opposed = [line for line in tested if (line["gap"] > 0) != (every["gap"] > 0)]
    for kind in {line["kind"] for line in opposed}:
        total, against = (
            sum(line["rows"] * abs(line["gap"]) for line in these if line["kind"] == kind)
            for these in (tested, opposed)
        )
        if against > total / 10:
            return False
    for line in tested:
        size, mean = abs(line["gap"]), abs(every["gap"])
        if line["stands_out"] and size >= 2 * mean and line["rows"] * size >= every["rows"] * mean / 2:
            return False
    return every["stands_out"] and not any(line["stands_out"] for line in opposed)


def none(value):
    return None if value is None or value != value else value


def where(name):
    """Return the text of a slice, as in links."""
    column, _, value = name.partition(" ")
    if value.startswith("below "):
        return f"{column}=..{value.removeprefix('below ')}"
    if value.endswith(" or more"):
        return f"{column}={value.removesuffix(' or more')}.."
    return f"{column}={value.removeprefix('= ').replace(' to ', '..')}"


_SIZES = np.geomspace(0.05, 2.5, 12)
_BETS, _COUNT_BETS = np.geomspace(0.005, 0.5, 14), np.geomspace(0.01, 2.5, 16)


def _evidence(months):
    """Return the evidence after each of these months by the definition: over starts, shifts, bets and rows."""
    every = len(months)
    weights = [0.75 / every + (0.25 if k == 0 else 0) for k in range(every)]
    found = []
    for last in range(every):
        total = 1 - sum(weights[: last + 1])
        for k in range(last + 1):
            s, y = (np.concatenate([month[part] for month in months[k : last + 1]]) for part in (0, 1))
            products = []
            for sign in (1, -1):
                base = np.clip(s + sign * 0.02, 0, 1)
                inside = (base > 0) & (base < 1)
                for size in _SIZES:
                    b, happened = base[inside], y[inside] == 1
                    q = 1 / (1 + (1 - b) / b * math.exp(-sign * size))
                    products.append(np.exp(np.sum(np.log(np.where(happened, q / b, (1 - q) / (1 - b))))))
            places = np.minimum((s * 10).astype(int), 9)
            gaps = np.array([np.sum((y - s)[places == place]) for place in range(10)])
            v, n = np.sum((y - s) ** 2), len(s)
            steady = np.exp(-_BETS * n * 0.02 + (np.log(1 - _BETS) + _BETS) * v)
            bounded = [share * np.prod(np.cosh(b * gaps)) for share, b in zip(steady, _BETS, strict=True)]
            odds = 1 / (1 + np.log(_SIZES / 0.25) ** 2)
            shifted = np.average(products, weights=[*odds, *odds])
            total += weights[k] * (0.75 * shifted + 0.25 * np.mean(bounded))
        found.append(total)
    return found


def _against(s, y, gap, sign):
    """Return the evidence that the mean gap of these rows is further in this direction than ``gap``."""
    n, events, expected = len(s), y.sum(), s.sum()
    moved, v = sign * (events - expected - n * gap), np.sum((y - s) ** 2)
    true = min(max(expected + n * gap, 0), n)
    parts = [
        np.mean(np.exp(_BETS * moved + (np.log(1 - _BETS) + _BETS) * v)),
        np.mean(np.exp(sign * _COUNT_BETS * events - (np.exp(sign * _COUNT_BETS) - 1) * true)),
        np.mean(np.exp(-sign * _COUNT_BETS * (n - events) - (np.exp(-sign * _COUNT_BETS) - 1) * (n - true))),
    ]
    return np.mean(parts)


@twin("over-time")
def over_time(compared, data):
    """Check every month from its rows, and the evidence and the ends at all times by their definitions."""
    (s, y), frame = data.claim(data.base), compared.frame
    s, y = np.asarray(s, float), np.asarray(y, float)
    month = data.file["seen"].str.slice(0, 7).to_numpy()
    names = sorted(set(month))
    assert len(names) == len(frame) == 6
    rows = [(s[month == name], y[month == name]) for name in names]
    compared.same("start", [f"{name}-01" for name in names])
    compared.same("period", [f"{pd.Timestamp(name):%B} 2026" for name in names])
    ends = [*names[1:], "2026-07"]
    compared.same("where", [f"seen={name}-01..{end}-01" for name, end in zip(names, ends, strict=True)])
    compared.same("rows", [len(a) for a, _ in rows])
    compared.same("predicted", [a.mean() for a, _ in rows])
    compared.same("observed", [b.mean() for _, b in rows])
    compared.same("gap", [b.mean() - a.mean() for a, b in rows])
    for name, share in (("score_low", 0.1), ("score_median", 0.5), ("score_high", 0.9)):
        compared.same(name, [np.quantile(a, share) for a, _ in rows], rel=1e-6)
    low = [beta.ppf(0.05, b.sum(), len(b) - b.sum() + 1) for _, b in rows]
    high = [beta.isf(0.05, b.sum() + 1, len(b) - b.sum()) for _, b in rows]
    compared.same("low", low, rel=1e-6)
    compared.same("high", high, rel=1e-6)
    compared.same("misses", [not one <= a.mean() <= other for (a, _), one, other in zip(rows, low, high, strict=True)])
    compared.same("e_value", _evidence(rows), rel=1e-6)
    assert frame["e_value"].iloc[-1] > 20
    since = frame["since_gap"].notna().to_numpy().argmax()
    assert names[since] == "2026-04"
    for kind, first, miss in (("mean", 0, 0.05), ("since", since, 0.05 * 0.75 / 6)):
        gaps = []
        for place in range(first, 6):
            a, b = (np.concatenate([month[part] for month in rows[first : place + 1]]) for part in (0, 1))
            gaps.append(b.mean() - a.mean())
            for end, sign in (("low", 1), ("high", -1)):
                assert math.isclose(_against(a, b, frame[f"{kind}_{end}"][place], sign), 2 / miss, rel_tol=1e-5)
        compared.same(f"{kind}_gap", [*[math.nan] * first, *gaps])
        for end in ("low", "high"):
            compared.holds(frame[f"{kind}_{end}"].notna() == (np.arange(6) >= first), f"{kind}_{end}")


@twin("after-alarm")
def after_alarm(compared, data):
    """Check updates fitted by a general minimizer on the months from the start seen at the alarm, on later rows."""
    s, y = (np.asarray(part, float) for part in data.claim(data.base))
    month = data.file["seen"].str.slice(0, 7).to_numpy()
    names = sorted(set(month))
    evidence = _evidence([(s[month == name], y[month == name]) for name in names])
    alarm = next(place for place, value in enumerate(evidence) if value >= 20)
    assert names[alarm] == "2026-05"
    fit, later = (month >= "2026-04") & (month <= names[alarm]), month > names[alarm]
    x = np.log(s / (1 - s))
    z, happened = x[fit], y[fit]
    shift = brentq(lambda b: float(np.sum(1 / (1 + np.exp(-z - b)))) - happened.sum(), -20, 20)
    line = minimize(
        lambda ab: float(np.sum(np.logaddexp(0, ab[0] + ab[1] * z) - happened * (ab[0] + ab[1] * z))),
        [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13},
    ).x  # fmt: skip
    updated = [x, x + shift, line[0] + line[1] * x]
    risks = [1 / (1 + np.exp(-each[later])) for each in updated]
    o = y[later]
    n, k = len(o), o.sum()
    compared.same("update", ["no update", "Intercept update", "Logistic recalibration"])
    compared.same("rows", [n] * 3)
    compared.same("predicted", [risk.mean() for risk in risks], rel=1e-5)
    compared.same("observed", [o.mean()] * 3)
    compared.same("gap", [o.mean() - risk.mean() for risk in risks], rel=1e-3)
    low, high = beta.ppf(0.05, k, n - k + 1), beta.isf(0.05, k + 1, n - k)
    compared.same("low", [low] * 3, rel=1e-6)
    compared.same("high", [high] * 3, rel=1e-6)
    compared.same("inside", [bool(low <= risk.mean() <= high) for risk in risks])
    compared.same("log_loss", [-np.mean(np.log(np.where(o == 1, r, 1 - r))) for r in risks], rel=1e-5)
