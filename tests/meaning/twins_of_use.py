"""Twins of uses of probabilities: decisions, sets, ranking; the advice; plans; the risk of an event as a whole."""

import math
from functools import cache

import by_hand
import numpy as np
from compared import WEAK, twin
from scipy.optimize import brentq, minimize
from scipy.stats import norm, t
from twins_of_models import both, right_area, surest

from calib_core import Predictions, Watch
from dashboard.exhibits import EXHIBITS


def acting(scores, true, threshold):
    """Return the share acted on, and net benefit above a threshold with its interval, from that of the accuracy."""
    n, odds = len(scores), threshold / (1 - threshold)
    on = scores > threshold + 1e-12
    m, k = int(sum(on)), int(sum(true[on]))
    ends = by_hand.clopper_pearson(k, m) if m else (0.0, 0.0)
    worth = [m / n * (s - (1 - s) * odds) if m else 0.0 for s in (k / m if m else 0.0, *ends)]
    return m / n, *worth


def over_all(scores, true, threshold):
    """Return the excess over acting on all: the same for the rows not acted on, with opposite sign."""
    n, odds = len(scores), threshold / (1 - threshold)
    off = scores <= threshold + 1e-12
    m, k = int(sum(off)), int(sum(true[off]))
    if not m:
        return 0.0, 0.0, 0.0
    ends = by_hand.clopper_pearson(k, m)
    value, low, high = (-m / n * (s - (1 - s) * odds) for s in (k / m, *ends))
    return value, high, low


def impact(scores, true, threshold):
    """Return rows found, standardized net benefit and rows spared, with ends: by counts and the square-and-add rule."""
    n, odds = len(scores), threshold / (1 - threshold)
    on = scores > threshold + 1e-12
    m, k, left = int(sum(on)), int(sum(true[on])), int(sum(true[~on]))
    ends = by_hand.clopper_pearson(k, m) if m else (0.0, 0.0)
    others = by_hand.clopper_pearson(left, n - m) if m < n else (0.0, 0.0)

    def scaled(s, r):
        found, missed = s * m / n, r * (n - m) / n
        return (found - (m / n - found) * odds) / (found + missed)

    s, r = k / m if m else 0.0, left / (n - m) if m < n else 0.0
    value = scaled(s, r)
    there = [value, *(scaled(s, end) for end in others)]
    low = value - math.hypot(scaled(ends[0], r) - value, min(there) - value)
    high = min(1.0, value + math.hypot(scaled(ends[1], r) - value, max(there) - value))
    spared = over_all(scores, true, threshold)
    found = {"hits": k / n, "hits_low": ends[0] * m / n, "hits_high": ends[1] * m / n}
    found |= {"standardized": value, "standardized_low": low, "standardized_high": high}
    return found | dict(zip(("avoided", "avoided_low", "avoided_high"), (each / odds for each in spared), strict=True))


def code_of(data):
    code = data.scene.focus.code
    return 1 if code is None else code


@twin("decision-curve")
def decision_curve(compared, data):
    lines, code = [], code_of(data)
    for title, model in data.models.items():
        kept = model.kept
        if kept.probs is None:
            continue
        scores, true = kept.probs[:, code], kept.label == code
        for step in range(1, 100):
            threshold = step / 100
            acted, benefit, low, high = acting(scores, true, threshold)
            every = acting(np.ones(len(true)), true, threshold)
            more = over_all(scores, true, threshold)
            line = {
                "model": title,
                "threshold": threshold,
                "acted": acted,
                "benefit": benefit,
                "low": low,
                "high": high,
            }
            line |= {"treat_all": every[1], "treat_all_low": every[2], "treat_all_high": every[3]}
            line |= {"over_all": more[0], "over_all_low": more[1], "over_all_high": more[2]}
            lines.append(line | impact(scores, true, threshold))
    compared.all_same(lines, rel=1e-8)


def impact_of_all(true, threshold):
    """Return the standardized net benefit of acting on all, as uncertain as the share of the class."""
    odds, n, k = threshold / (1 - threshold), len(true), int(sum(true))
    shares = [k / n, *by_hand.clopper_pearson(k, n)]
    names = ("standardized", "standardized_low", "standardized_high")
    return {name: 1 - (1 - a) / a * odds for name, a in zip(names, shares, strict=True)}


def impact_of_none(true, threshold):
    """Return what acting on nobody spares, compared with acting on all, and that it finds nothing."""
    odds, n, k = threshold / (1 - threshold), len(true), int(sum(true))
    low, high = by_hand.clopper_pearson(k, n)
    zero = [f"{name}{end}" for name in ("hits", "standardized") for end in ("", "_low", "_high")]
    avoided = [-(a - (1 - a) * odds) / odds for a in (k / n, high, low)]
    return dict.fromkeys(zero, 0.0) | dict(zip(("avoided", "avoided_low", "avoided_high"), avoided, strict=True))


@twin("net-benefit")
def net_benefit(compared, data, threshold=0.5):
    lines, code = [], code_of(data)
    alike = data.alike
    for title, model in alike.items():
        line = {"model": title}
        if model.probs is not None:
            scores, true = model.probs[:, code], model.label == code
            acted, benefit, low, high = acting(scores, true, threshold)
            more = over_all(scores, true, threshold)
            line |= {"acted": acted, "benefit": benefit, "benefit_low": low, "benefit_high": high}
            line |= {"over_all": more[0], "over_all_low": more[1], "over_all_high": more[2]}
            line |= impact(scores, true, threshold)
            if title != data.title:
                was = acting(alike[data.title].probs[:, code], true, threshold)
                line["change"] = benefit - was[1]
        lines.append(line)
    base = alike[data.title]
    true = base.label == code
    every = acting(np.ones(len(true)), true, threshold)
    lines.append({"model": "acting on all", "acted": 1.0, "benefit": every[1], "benefit_low": every[2],
                  "benefit_high": every[3], "over_all": 0.0, **impact(np.ones(len(true)), true, threshold),
                  "avoided_low": math.nan, "avoided_high": math.nan, **impact_of_all(true, threshold)})  # fmt: skip
    lines.append({"model": "acting on none", "acted": 0.0, "benefit": 0.0, "benefit_low": 0.0, "benefit_high": 0.0,
                  "over_all": -every[1], "over_all_low": -every[3], "over_all_high": -every[2],
                  **impact_of_none(true, threshold)})  # fmt: skip
    names = ("model", "acted", "benefit", "benefit_low", "benefit_high", "over_all", "over_all_low", "over_all_high")
    impacts = tuple(impact(np.array([0.2, 0.9]), np.array([True, False]), 0.5))
    for name in (*names, *impacts, "change"):
        compared.same(name, [line.get(name, math.nan) for line in lines], rel=1e-8)
    paired(compared, data, "change", lambda title: changed_benefit(data, title, code, threshold))
    compared.words("note")


def changed_benefit(data, title, code, threshold):
    """Return each row's contribution to the change of the net benefit."""
    odds, alike = threshold / (1 - threshold), data.alike
    model, base = alike[title], alike[data.title]
    true = model.label == code
    gain = np.where(true, 1.0, -odds)
    return gain * (model.probs[:, code] > threshold) - gain * (base.probs[:, code] > threshold)


def paired(compared, data, name, terms_of):
    """Check a paired change: its interval is Student's of the rows' contributions, or bounds of similar width."""
    ok = []
    for line in compared.frame.to_dict("records"):
        if line[name] != line[name] or line["model"] not in data.models:
            ok.append(line["p"] != line["p"])
            continue
        terms = terms_of(line["model"])
        error = terms.std(ddof=1) / math.sqrt(len(terms))
        half = t.ppf(0.95, len(terms) - 1) * error
        low, high = line[name] - half, line[name] + half
        near = abs(line[f"{name}_low"] - low) <= 0.3 * half and abs(line[f"{name}_high"] - high) <= 0.3 * half
        p = 2 * norm.sf(abs(line[name]) / error) if error else 1.0
        ok.append(near and abs(line["p"] - p) <= 0.05 and line[f"{name}_low"] <= line[name] <= line[f"{name}_high"])
    compared.holds(np.array(ok), f"{name}_low", f"{name}_high", "p")


@twin("decisions")
def decisions(compared, data):
    """Check decisions; without costs every mistake costs 1: the expected cost is one less the largest probability."""
    lines = []
    for title, model in data.alike.items():
        line = {"model": title}
        if model.probs is not None:
            expected, pays = 1 - model.probs.max(axis=1), (model.probs.argmax(axis=1) != model.label).astype(float)
            line |= {"rows": len(model), "expected": np.mean(expected), "realised": np.mean(pays)}
            line["gap"] = line["realised"] - line["expected"]
            line["gap_error"] = np.sqrt(np.square(pays - expected).sum()) / len(model)
            if title != data.title:
                base = data.alike[data.title]
                was = (base.probs.argmax(axis=1) != base.label).astype(float)
                line["change"] = np.mean(pays - was)
                line["changed"] = np.mean(model.probs.argmax(axis=1) != base.probs.argmax(axis=1))
        lines.append(line)
    for name in ("model", "rows", "expected", "realised", "gap", "change", "changed"):
        compared.same(name, [line.get(name, math.nan) for line in lines], rel=1e-8)
    frame = compared.frame
    told = frame["rows"].notna()
    inside = (frame["realised_low"] < frame["realised"]) & (frame["realised"] < frame["realised_high"])
    shares = [by_hand.clopper_pearson(round(r * n), n, 0.6) if n == n else (math.nan,) * 2
              for r, n in zip(frame["realised"], frame["rows"], strict=True)]  # fmt: skip
    wide = (frame["realised_low"] < [s[0] for s in shares]) & (frame["realised_high"] > [s[1] for s in shares])
    compared.holds(~told | (inside & wide), "realised_low", "realised_high")
    for end in ("low", "high"):
        apart = frame[f"gap_{end}"] - (frame[f"realised_{end}"] - frame["expected"])
        assert (apart[told].abs() < 1e-9).all()
        compared.seen[f"gap_{end}"] = "recomputed"
    # Upper ends are those of a Poisson count, which is wider than the normal law.
    sizes = frame["gap"] / np.array([line.get("gap_error", math.nan) for line in lines])
    differs = frame["gap_differs"].eq(True)
    compared.holds(~told | np.where(sizes > 0, differs == (sizes > 1.96), ~differs | (sizes < -1.96)), "gap_differs")

    def terms(title):
        model, base = data.alike[title], data.alike[data.title]
        return (model.predicted != model.label) * 1.0 - (base.predicted != base.label)

    paired(compared, data, "change", terms)
    compared.words("note")


def sets_of(probs, labels, threshold):
    """Return the classes whose probability reaches a threshold."""
    inside = probs >= threshold
    return inside.sum(axis=1).mean(), inside[np.arange(len(labels)), labels].mean()


@twin("uses")
def uses(compared, data, coverage=0.8):
    lines, frame = [], compared.frame
    for title in list(data.models)[1:]:
        old, new = both(data, title)
        whole = old.probs is not None and len(old.names) == 2
        pair = [p.probs[:, 1] if whole and p.probs is not None else p.h for p in (old, new)]
        known = {"auroc": [by_hand.auroc(p.h, p.right) for p in (old, new)]}
        if whole:
            known["class_auroc"] = [by_hand.auroc(s, old.label == 1) for s in pair]
        turned, tied = turned_round(*pair)
        known |= {"reversed": [math.nan, turned], "tied": [math.nan, tied]}
        known["surest_right"] = [np.mean(p.right[surest(p, coverage)]) for p in (old, new)]
        known["risk_area"] = [right_area(p) for p in (old, new)]
        for line in frame[frame["calibrator"] == title].to_dict("records"):
            before, after = known.get(line["measure"], (None, None))
            lines.append({"calibrator": title, "before": before, "after": after, "line": line})
    compared.same("calibrator", [line["calibrator"] for line in lines])
    for name in ("before", "after"):
        shown = [(line["line"][name], line[name]) for line in lines if line[name] is not None]
        assert np.allclose(*zip(*shown, strict=True), equal_nan=True), (name, shown)
        compared.seen[name] = "recomputed"
    sizes(data, lines)
    change = frame["after"] - frame["before"]
    compared.same("change", change.tolist())
    inside = (frame["low"] <= frame["change"] + 1e-12) & (frame["change"] <= frame["high"] + 1e-12)
    compared.holds(frame["low"].isna() | inside, "low", "high")
    assert frame["low"][frame["measure"].isin(["reversed", "tied"])].isna().all()
    scores = ("auroc", "class_auroc", "lac_size", "aps_size")
    compared.same("unit", ["score" if m in scores else "share" for m in frame["measure"]])
    compared.words("measure", "title", "note")


def turned_round(before, after):
    """Return the shares of all pairs of rows whose order is reversed, and lost."""
    x, y = np.sign(np.subtract.outer(*[before.round(12)] * 2)), np.sign(np.subtract.outer(*[after.round(12)] * 2))
    upper = np.triu_indices(len(before), 1)
    n = len(upper[0])
    return ((x * y)[upper] < 0).sum() / n, ((x != 0) & (y == 0))[upper].sum() / n


def sizes(data, lines):
    """Check that sets contain the true class in about 90 % of the rows, and that size grows with share."""
    for line in lines:
        shown = line["line"]
        model = data.models[line["calibrator"]]
        if shown["measure"] == "lac_size" and shown["after"] == shown["after"]:
            hit = next(
                other["line"]["after"]
                for other in lines
                if other["calibrator"] == line["calibrator"] and other["line"]["measure"] == "lac_hits"
            )
            kept = model.kept
            every = [sets_of(kept.probs, kept.label, q) for q in np.unique(kept.probs)]
            near = [size for size, share in every if abs(share - hit) < 0.02]
            assert min(near) - 0.15 <= shown["after"] <= max(near) + 0.15, shown
        if shown["measure"].endswith("hits") and shown["after"] == shown["after"]:
            assert min(shown["after"], shown["before"]) >= 0.85
        if shown["measure"].endswith("size") and shown["after"] == shown["after"]:
            assert 0 < shown["after"] <= len(data.base.names)


@twin("recommendation")
def recommendation(compared, data):
    """Check scores on the test rows, by maps of the calibration rows; p-values are corrected for the candidates."""
    frame, by_key = compared.frame, {}
    for model, rows in zip(data.scene.models.shown, data.models.values(), strict=True):
        by_key[model.recipe.key if not model.is_base else "identity"] = rows
    loss = (lambda m: by_hand.log_loss(m.probs, m.label)) if data.base.probs is not None else (
        lambda m: by_hand.log_loss(np.column_stack([1 - m.h, m.h]), m.right.astype(int)))  # fmt: skip
    ok = []
    for line in frame.to_dict("records"):
        model = by_key.get(line["calibrator"])
        right = True
        if model is not None and model.answered.all() and (model.probs is not None) == (data.base.probs is not None):
            right &= abs(line["score"] - loss(model)) < 1e-6
            right &= abs(line["accuracy"] - np.mean(model.right)) < 1e-9
            right &= abs(line["mean_confidence"] - np.mean(model.h)) < 1e-6
            ranked = (model.probs[:, 1], model.label == 1) if data.of_event else (model.h, model.right)
            right &= abs(line["auroc"] - by_hand.auroc(*ranked)) < 1e-6
            if data.of_event:
                right &= abs(line["mean_risk"] - np.mean(model.probs[:, 1])) < 1e-6
        ok.append(right)
    assert all(ok), frame[~np.array(ok)]
    base = frame.iloc[0]
    assert set(frame["ranked_in"]) == {"all rows"}, "held-out rows are compared, each after one map"
    folds = frame["gain_in_folds"]
    judged = folds.notna() & (frame["note"] == "")
    compared.holds(judged | ~frame["equal_to_best"] | (frame["calibrator"] == "identity"), "gain_in_folds")
    best = folds[judged].max()
    equals = frame["equal_to_best"] & (folds > 0)
    compared.holds(~equals | (folds >= 0.5 * best - 1e-9), "gain_in_folds", "equal_to_best")
    for name in ("score", "accuracy", "auroc", "ranked_in", "mean_confidence", "mean_risk"):
        compared.seen[name] = "recomputed"
    compared.same("gain", (base["score"] - frame["score"]).tolist(), least=1e-9)
    for name in ("accuracy", "auroc"):
        compared.same(f"{name}_gain", (frame[name] - base[name]).tolist(), least=1e-9)
        low, gain, high = (frame[f"{name}_{end}"] for end in ("gain_low", "gain", "gain_high"))
        inside = (low <= gain + 1e-9) & (gain <= high + 1e-9)
        compared.holds(low.isna() | inside, f"{name}_gain_low", f"{name}_gain_high")
    low, gain, high = frame["low"], frame["gain"], frame["high"]
    compared.holds(low.isna() | ((low <= gain) & (gain <= high)), "low", "high")
    shown = (frame["low"] > 0) | (frame["high"] < 0)
    clear = (frame["p"] < 0.08) | (frame["p"] > 0.12) | frame["p"].isna()
    compared.holds(~clear | (shown == (frame["p"] < 0.1)), "p")
    # The model is one of the candidates.
    compared.same("p_holm", by_hand.holm(frame["p"].tolist()))
    # Each of up to seven picks counts the simple calibrator beside a blend, too.
    compared.holds(frame["picked"].between(0, 7) & (frame["picked"].sum() <= 14), "picked")
    # Better results on left-out rows have more weight; the blend itself has none.
    weighted = frame[frame["weight"] > 0].sort_values("gain_in_folds")
    assert weighted["weight"].is_monotonic_increasing
    assert frame["weight"].isna().all() or math.isclose(weighted["weight"].sum(), 1.0)
    compared.holds(frame["weight"].isna() | (frame["weight"] >= 0), "weight")
    best = frame["equal_to_best"]
    # Some line is as good as the best; if that is the original model, it is chosen.
    assert best.any()
    others = best & (frame["calibrator"] != "identity")
    compared.holds(~others | (frame["gain"] > 0) | best.iloc[0], "equal_to_best")
    assert not others.any() or frame["picked"][others].max() == frame["picked"].max()
    compared.holds(frame["rows_needed"] >= 0, "rows_needed")
    assert frame["rows_needed"].iloc[0] == 0
    compared.words("calibrator", "title", "note")


@twin("file")
def file(compared, data):
    facts = []
    for rows in (data.fit, data.base):
        percent = [f"{math.floor(round(1000 * float(np.mean(v)), 6) + 0.5) / 10:.1f} %" for v in (rows.right, rows.h)]
        known = {"rows": f"{len(rows)}"}
        known |= {"accuracy, all rows": percent[0], "mean confidence, all rows": percent[1]}
        facts.append(known)
    shown = compared.frame
    # A file is identified by its content: a file stored earlier under another name has that name.
    for known, name in zip(facts, shown["file"].unique(), strict=True):
        mine = shown[shown["file"] == name].set_index("property")["value"]
        for name in ("rows", "accuracy, all rows", "mean confidence, all rows"):
            assert mine[name] == known[name], (name, mine[name], known[name])
    compared.seen["value"] = "recomputed"
    compared.words("file", "property")


@twin("fitted")
def fitted(compared, data):
    """Check that the numbers of the map give the probabilities that it returned."""
    frame = compared.frame
    title = list(data.models)[1]
    compared.same("calibrator", [title] * len(frame))
    value = frame.set_index("parameter")["value"]
    model = data.models[title]
    if data.name == "three":
        heated = data.base.probs ** (1 / value["temperature T"])
        assert np.allclose(heated / heated.sum(axis=1, keepdims=True), model.probs, atol=1e-6)
    elif data.name == "risk":
        p = data.base.probs[:, 1]
        x = value["slope"] * np.log(p / (1 - p)) + value["shift"]
        assert np.allclose(1 / (1 + np.exp(-x)), model.probs[:, 1], atol=1e-9)
    else:
        returned = {round(float(h), 6) for h in model.h}
        assert returned <= {round(float(v), 6) for v in frame["value"]}, (returned, frame)
    compared.seen["value"] = "recomputed"
    compared.words("parameter", "of", "place")


@twin("binary-map")
def binary_map(compared, data):
    """Check the map of the first class, or of all rows: every row's input score maps to its output score."""
    frame = compared.frame
    title = frame["model"].iloc[0]
    model, base = data.models[title], data.base
    mine = base.predicted == 0 if base.predicted is not None else np.ones(len(base), bool)
    order = np.argsort(frame["score"].to_numpy(), kind="stable")
    x, y = frame["score"].to_numpy()[order], frame["output"].to_numpy()[order]
    off = []
    for score, out in zip(base.h[mine], model.h[mine], strict=True):
        j = int(np.argmin(np.abs(x - score)))
        off.append(min(abs(y[max(j - 1, 0)] - out), abs(y[j] - out), abs(y[min(j + 1, len(y) - 1)] - out)))
    assert max(off) < 1e-6, max(off)
    compared.holds((frame["score"] >= 0) & (frame["score"] <= 1), "score")
    compared.seen["output"] = "recomputed"
    compared.same("model", [title] * len(frame))
    for name in ("lower", "upper"):
        if name in frame:
            compared.holds((frame["lower"] <= frame["output"]) & (frame["output"] <= frame["upper"]), name)


@twin("bin-balance")
def bin_balance(compared, data):
    edges = by_hand.edges_of(data.bins)
    scores = data.base.probs[:, 1] if data.of_event else data.base.h
    cells, n, lines = by_hand.cells_of(scores, edges), len(scores), []
    for b in range(data.bins):
        k = len(cells.get(b, []))
        # Of all bins together at 90 %: each misses with a share of the rest.
        low, high = by_hand.clopper_pearson(k, n, 1 - 0.1 / data.bins)
        line = {"bin": b, "lower": edges[b], "upper": edges[b + 1], "rows": k, "share": k / n}
        lines.append({**line, "low": low, "high": high, "times": k / n * data.bins})
    compared.all_same(lines)


@twin("plan")
def plan(compared, data):
    """Check histogram binning, 50 points per bin of the calibration rows: Theorem 1's three bounds over points."""
    frame, n = compared.frame, len(data.fit)
    lines = {
        "all outputs at once": lambda k: math.sqrt(math.log(2 * n / (k * 0.1)) / (2 * (k - 1))),
        "output for one new row": lambda k: math.sqrt(math.log(2 / 0.1) / (2 * (k - 1))),
        "calibration error on average": lambda k: math.sqrt(1 / (2 * k)),
    }
    wanted = []
    for line in frame.to_dict("records"):
        k = line["amount"]
        if line["curve"] in lines:
            wanted.append(min(1.0, lines[line["curve"]](k)))
        elif line["curve"] == "planned":
            assert k == 50
            wanted.append(lines["all outputs at once"](k))
        else:
            wanted.append(0.1)
            if line["curve"] == "needed":
                assert abs(lines["all outputs at once"](k) - 0.1) < 0.005
    ok = np.abs(frame["bound"] - wanted) < 0.08
    compared.holds(ok, "bound")
    compared.holds(frame["amount"] >= 2, "amount")
    compared.words("curve")
    falls = [part["bound"].is_monotonic_decreasing for name, part in frame.groupby("curve") if name in lines]
    assert all(falls)


@twin("plans")
def plans(compared, data):
    frame = compared.frame.set_index("key")
    n = len(data.base)
    k = int(sum(data.base.right))
    # The half width of the interval of the accuracy of this many rows.
    ends = by_hand.clopper_pearson(k, n)
    assert abs(frame.loc["accuracy-interval", "bound"] - (ends[1] - ends[0])) < 0.05
    assert frame.loc["accuracy-interval", "amount"] == n
    assert frame.loc["balance", "amount"] == len(data.fit)
    assert frame.loc["miscoverage", "needed"] == 59  # 0.95 ** 59 < 0.05
    told = frame["needed"].notna() & frame["bound"].notna() & frame["limit"].notna()
    more = frame["needed"] > frame["amount"]
    # An event is within both tolerances in a share of samples, which is to be large; all others are to be small.
    is_share = (frame.index == "within") & (frame["limit"] == 0.8)
    short = np.where(is_share, frame["bound"] < frame["limit"], frame["bound"] > frame["limit"])
    compared.holds((~told | (more == short)).to_numpy(), "needed", "bound", "limit", "amount")
    compared.words("key", "question", "answer", "inverse", "basis", "note")


def large(model):
    """Return calibration-in-the-large and scores of an event's risk."""
    s, y = model.probs[:, 1], (model.label == 1).astype(float)
    x = np.log(s / (1 - s))

    def loss(ab):
        z = ab[0] + ab[1] * x
        return float(np.sum(np.logaddexp(0, z) - y * z))

    slope = minimize(loss, [0.0, 1.0], method="BFGS").x[1]
    shift = brentq(lambda b: float(np.sum(1 / (1 + np.exp(-x - b)) - y)), -10, 10)
    brier, a = np.mean((s - y) ** 2), y.mean()
    return {
        "mean-predicted": s.mean(),
        "observed": a,
        "gap": a - s.mean(),
        "ratio": y.sum() / s.sum(),
        "intercept": shift,
        "slope": slope,
        "brier": brier,
        "scaled-brier": 1 - brier / (a * (1 - a)),
        "log-loss": by_hand.log_loss(model.probs, model.label),
        "auroc": by_hand.auroc(s, model.label == 1),
    }


REFERENCE = {"gap": 0, "ratio": 1, "intercept": 0, "slope": 1, "ici": 0, "e50": 0, "e90": 0, "emax": 0}
TITLES = {
    "mean-predicted": "predicted",
    "observed": "bserved",
    "gap": "gap",
    "ratio": "expected",
    "intercept": "intercept",
    "slope": "slope",
    "ici": "ICI",
    "e50": "E50",
    "e90": "E90",
    "emax": "Emax",
    "brier": "Brier",
    "scaled-brier": "Scaled",
    "log-loss": "loss",
    "auroc": "AUROC",
}


@twin("in-the-large", "curve-gaps")
def in_the_large(compared, data):
    frame = compared.frame
    titles = frame["model"].tolist() if "model" in frame else [data.title] * len(frame)
    known = {title: large(model) for title, model in data.alike.items()}
    lines = list(zip(titles, frame.to_dict("records"), strict=True))
    if "model" in frame:
        compared.same("model", [title for title in data.models for _ in range(len(frame) // len(data.models))])
    ok, ends = [], []
    for title, line in lines:
        value = known[title].get(line["measure"])
        ok.append(value is None or abs(line["value"] - value) < 1e-4)
        ends.append(line["low"] != line["low"] or line["low"] <= line["value"] <= line["high"])
    compared.holds(np.array(ok), "value")
    # Distances of the smooth curve are ordered as a mean, quantiles and a maximum are.
    for title in dict.fromkeys(titles):
        mine = {line["measure"]: line["value"] for name, line in lines if name == title}
        assert 0 <= mine["e50"] <= mine["e90"] <= mine["emax"]
        assert mine["ici"] <= mine["emax"]
    compared.holds(np.array(ends), "low", "high")
    for title, line in lines:
        if line["measure"] == "observed":
            model = data.alike[title]
            k, n = int(sum(model.label == 1)), len(model)
            inner, outer = by_hand.clopper_pearson(k, n, 0.7), by_hand.clopper_pearson(k, n, 0.99)
            assert outer[0] < line["low"] < inner[0]
            assert inner[1] < line["high"] < outer[1]
            observed = line
        if line["measure"] == "gap":
            says = known[title]["mean-predicted"]
            assert np.allclose([line["low"], line["high"]], [observed["low"] - says, observed["high"] - says])
        if line["measure"] == "ratio":
            assert np.allclose([line["low"], line["high"]], [observed["low"] / says, observed["high"] / says])
    compared.same("reference", [REFERENCE.get(line["measure"], math.nan) for _, line in lines])
    curve = frame["measure"].isin(["ici", "e50", "e90"])
    compared.holds(np.where(curve, frame["floor"] > 0, frame["floor"].isna()), "floor")
    assert all(TITLES[line["measure"]] in line["title"] for _, line in lines)
    compared.words("measure", "title", "note")


@twin("multicalibration")
def multicalibration(compared, data):
    """Check within a group the run of neighboring scores with the largest total deviation, as a share of the group."""
    scores, outcomes = data.claim(data.base)
    groups = {"all rows": np.arange(len(scores))}
    for column in data.columns:
        groups |= data.slices(column)
    frame = compared.frame
    assert set(frame["group"]) == set(groups)
    lines = []
    for name in frame["group"]:
        here = np.array(groups[name])
        path, total = [0.0], 0.0
        order = sorted(here, key=lambda i: scores[i])
        for j, i in enumerate(order):
            total += float(outcomes[i]) - float(scores[i])
            if j + 1 == len(order) or scores[order[j + 1]] != scores[i]:
                path.append(total)
        error = (max(path) - min(path)) / len(here)
        sigma = math.sqrt(sum(float(scores[i]) * (1 - float(scores[i])) for i in here)) / len(here)
        line = {"group": name, "rows": len(here), "share": len(here) / len(scores), "error": error}
        lines.append({**line, "deviations": error / sigma})
    compared.all_same(lines, rel=1e-8)
    compared.holds((frame["low"] <= frame["error"]) & (frame["error"] <= frame["high"]), "low", "high")
    compared.same("stands_out", (frame["p"] <= 0.05).tolist())
    # Single-step correction: p falls with the deviations, and is of the largest of all groups.
    order = frame.sort_values("deviations", ascending=False)["p"].to_numpy()
    draws = largest_of(scores, groups)
    own = np.array([np.mean(draws >= d - 0.25) for d in frame["deviations"]])
    compared.holds((frame["p"] > 0) & (frame["p"] <= own + 0.05), "p")
    assert (np.diff(order) >= -0.05).all()


def largest_of(scores, groups, draws=200):
    """Return the largest deviations of any group in draws of calibrated outcomes."""
    rng, found = np.random.default_rng(6), []
    orders = {name: np.array(sorted(here, key=lambda i: scores[i])) for name, here in groups.items()}
    for _ in range(draws):
        off = (rng.random(len(scores)) < scores) - scores
        most = 0.0
        for order in orders.values():
            path = np.append(0.0, np.cumsum(off[order]))
            most = max(most, (path.max() - path.min()) / math.sqrt((scores[order] * (1 - scores[order])).sum()))
        found.append(most)
    return np.array(found)


@twin("paper-tables")
def paper_tables(compared, data):
    """Check test rows of a separate file: top-label errors of each method, and the methods' ranks."""
    frame = compared.frame
    shown = {"Base": data.base, "TS": data.models.get("Temperature scaling")}
    first = frame[frame["measure"] == "TL-ECE"].iloc[0]
    second = frame[frame["measure"] == "TL-MCE of bins"].iloc[0]
    from twins_of_lines import worst_bin

    for name, model in shown.items():
        if model is not None and model.predicted is not None:
            assert abs(first[name] - model.error("top-label", 1, 15)) < 1e-6
            assert abs(second[name] - worst_bin(model.claims("top-label")[0], 15)) < 1e-6
    names = [name for name in frame if f"{name}, rank" in frame]
    for line in frame.to_dict("records"):
        for name in names:
            if line[name] != line[name]:
                assert line[f"{name}, rank"] != line[f"{name}, rank"]
                continue
            better = sum(line[other] < line[name] for other in names)
            equal = sum(line[other] == line[name] for other in names)
            assert line[f"{name}, rank"] == better + (equal + 1) / 2
    for name in names:
        compared.seen |= {name: "recomputed" if name in shown else WEAK, f"{name}, rank": "recomputed"}
        compared.holds(frame[f"{name}, standard error"].isna(), f"{name}, standard error")
    compared.same("unit", ["share"] * len(frame))
    compared.holds(frame["splits"] == 1, "splits")
    compared.same("file", [f"{data.name}-fit.csv"] * len(frame))
    compared.words("measure", "line")


@twin("lab-curve")
def lab_curve(compared, data):
    frame = compared.frame
    assert set(frame["of"]) == {"truth", "sample", "point"}
    sample = frame[frame["of"] == "sample"]
    rows = data.scene.get(EXHIBITS.make("lab-curve").sample())
    scores, outcomes = np.asarray(rows.probs)[:, 1], np.asarray(rows.labels) == 1
    lines = []
    for here in by_hand.cells_of(scores, by_hand.edges_of(15)).values():
        n, k = len(here), int(sum(outcomes[here]))
        low, high = by_hand.clopper_pearson(k, n)
        lines.append({"score": np.mean(scores[here]), "right": k / n, "low": low, "high": high, "rows": n})
    part = type(compared)(sample.reset_index(drop=True))
    part.all_same(lines)
    compared.seen |= part.seen
    # The true curve passes through its points, linear in the score; the sample scatters around it.
    points = frame[frame["of"] == "point"].sort_values("score")
    assert np.allclose(points["right"], [0.05, 0.1, 0.25, 0.5, 0.7, 0.9])
    truth = frame[frame["of"] == "truth"].sort_values("score")
    drawn = np.interp(sample["score"], truth["score"], truth["right"])
    held = (sample["low"] <= drawn) & (drawn <= sample["high"])
    assert held.mean() >= 0.6
    compared.words("of", "stratum")


@twin("lab-distances")
def lab_distances(compared, data):
    frame = compared.frame
    compared.holds(frame["low"] < frame["high"], "low", "high")
    totals = frame.groupby("series")["draws"].transform("sum")
    compared.holds((frame["draws"] >= 0) & (totals == 20), "draws")
    compared.words("series")
    for _, part in frame.groupby("series"):
        assert np.allclose(part["low"].iloc[1:], part["high"].iloc[:-1])
        assert part["low"].iloc[0] == 0


@twin("lab-errors")
def lab_errors(compared, data):
    """Check means over twenty samples of each size; for few rows the plain error's interval is above the truth."""
    frame = compared.frame
    compared.holds((frame["low"] < frame["value"]) & (frame["value"] < frame["high"]), "value", "low", "high")
    compared.same("draws", [20] * len(frame))
    compared.holds(frame["x"].isin([100, 300, 1000, 3000]), "x")
    truth = true_error()
    compared.same("true", [truth] * len(frame), rel=0.01)
    plain = frame[frame["series"] == "ECE"].sort_values("x")
    assert plain["value"].is_monotonic_decreasing
    assert plain["low"].iloc[0] > truth
    assert (np.abs(frame["value"] - truth)[frame["x"] == 3000] < 0.01).all()
    compared.holds((frame["true_error"] >= 0) & (frame["true_error"] < 0.01), "true_error")
    compared.holds(frame["bins"].isna() | (frame["bins"] > 0), "bins")
    compared.words("series", "note")


@twin("lab-drift")
def lab_drift(compared, data):
    compared.all_same(drift_lines())
    compared.words("method")


@cache
def drift_lines():
    """Draw the same years, and look for the first period at which each method raises an alarm."""
    asked, periods, tail = EXHIBITS.make("lab-drift"), 52, 0.05
    rng = np.random.default_rng(asked.seed)

    def year(size):
        scores = rng.beta(2, 5, (periods, asked.n))
        larger = size * (np.arange(periods) + 1 >= asked.start)
        return scores, rng.random(scores.shape) < np.clip(scores + larger[:, None], 0, 1)

    def sums(scores, happened):
        """Yield the sum of gaps of each period, its variance, and the ECE in bins."""
        for s, y in zip(scores, happened, strict=True):
            bins = [(y - s)[(10 * s).astype(int) == b].sum() for b in range(10)]
            yield (y - s).sum(), (s * (1 - s)).sum(), np.abs(bins).sum() / len(s)

    def cusums(gaps):
        up = down = 0.0
        for gap in gaps:
            allowed = asked.size / 2 * asked.n
            up, down = max(up + gap - allowed, 0.0), max(down - gap - allowed, 0.0)
            yield max(up, down)

    def first(alarms):
        return next((period for period, alarm in enumerate(alarms, 1) if alarm), math.inf)

    null = [list(zip(*sums(*year(0.0)), strict=True)) for _ in range(200)]
    floor = np.quantile(np.concatenate([ece for _, _, ece in null]), 1 - tail)
    most = np.quantile([max(cusums(gaps)) for gaps, _, _ in null], 1 - tail)
    found = []
    for _ in range(asked.draws):
        scores, happened = year(asked.size)
        gaps, variances, eces = zip(*sums(scores, happened), strict=True)
        watch = Watch(tolerance=0.0)
        for period in range(periods):
            rows = np.column_stack([1 - scores[period], scores[period]])
            watch = watch.add(Predictions(rows, happened[period].astype(int)), period + 1)
        z = np.abs(gaps) / np.sqrt(variances)
        so_far = np.abs(np.cumsum(gaps)) / np.sqrt(np.cumsum(variances))
        limit = norm.isf(tail / periods / 2)
        found.append([first(np.exp(watch.evidence.log_e) >= 1 / tail), first(c > most for c in cusums(gaps)),
                      first(so_far > limit), first(z > limit), first(z > norm.isf(tail / 2)),
                      first(np.array(eces) > floor)])  # fmt: skip
    lines = []
    for i, periods_of in enumerate(map(sorted, zip(*found, strict=True))):
        right = [each for each in periods_of if each >= asked.start]
        ends = {name: periods_of[math.ceil(share * len(periods_of)) - 1]
                for name, share in (("early", 0.1), ("median", 0.5), ("late", 0.9))}  # fmt: skip
        lines.append({
            "of_year": i < 4,
            "false_alarms": 1 - len(right) / len(periods_of),
            "found": np.mean(np.isfinite(right)) if right else math.nan,
            **{name: end if math.isfinite(end) else math.nan for name, end in ends.items()},
        })  # fmt: skip
    return lines


def true_error():
    """Return the error for uniform scores between 0 and 1, with a frequency linear between six points."""
    s = (np.arange(200_000) + 0.5) / 200_000
    points = np.array([0.05, 0.1, 0.25, 0.5, 0.7, 0.9])
    return float(np.mean(np.abs(np.interp(s, np.linspace(0, 1, 6), points) - s)))
