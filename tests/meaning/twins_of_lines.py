"""Twins of lines of estimates: value, interval, noise floor, p and verdict; scores of whole predictions."""

import math

import by_hand
import numpy as np
import pandas as pd
from compared import WEAK, twin

import calib_core as cc

BINNED = ("ece", "rmsce", "mce", "mce-of-bins", "debiased-l2")
"""Errors that are recomputed here; for the others, relations are tested."""
DRAWS = 400


def value_of(model, notion, estimator, bins):
    """Return the value of an error's formula for a model's claims."""
    if estimator in ("ece", "rmsce", "mce"):
        p = {"ece": 1, "rmsce": 2, "mce": math.inf}[estimator]
        if notion == "event":
            scores, outcomes = model.claims("event")[0][0]
            return by_hand.lp_error(scores, outcomes, model.cells(scores, bins), p)
        return model.error(notion, p, bins)
    strata, weights = model.claims(notion)
    if estimator == "mce-of-bins":
        return worst_bin(strata, bins)
    if estimator == "debiased-l2":
        found = [by_hand.debiased_square(s, z, model.cells(s, bins)) for s, z in strata]
        return sum(w * e for w, e in zip(weights, found, strict=True))
    return None


def worst_bin(strata, bins):
    """Return the largest gap of a bin of equal width shared by all classes, averaged over classes by their rows."""
    every = {}
    for scores, outcomes in strata:
        for b, here in by_hand.cells_of(scores, by_hand.edges_of(bins)).items():
            off = abs(sum(float(outcomes[i]) - float(scores[i]) for i in here))
            rows, total = every.get(b, (0, 0.0))
            every[b] = rows + len(here), total + off
    return max(total / rows for rows, total in every.values())


def drawn(model, notion, estimator, bins, seed=5):
    """Return the same for outcomes drawn from the model's own probabilities: values of calibrated models."""
    rng, found = np.random.default_rng(seed), []
    strata, weights = model.claims(notion)
    cells = [model.cells(scores, bins) for scores, _ in strata]
    k = len(model.names)
    for _ in range(DRAWS):
        if notion == "class-wise":
            labels = (rng.random(len(model))[:, None] > model.probs.cumsum(axis=1)).sum(axis=1).clip(0, k - 1)
            fresh = [(scores, labels == c) for c, (scores, _) in enumerate(strata)]
        else:
            fresh = [(scores, rng.random(len(scores)) < scores) for scores, _ in strata]
        errors = []
        for (scores, outcomes), cell in zip(fresh, cells, strict=True):
            sums = [abs((outcomes[i] - scores[i]).sum()) for i in cell.values()]
            errors.append(sum(sums) / len(scores))
        found.append(sum(w * e for w, e in zip(weights, errors, strict=True)))
    return np.array(found)


def put(compared, data, models, tolerance=0.02):
    """Check the columns common to all tables of lines."""
    frame, lines = compared.frame, compared.frame.to_dict("records")
    answered = [line["value"] == line["value"] for line in lines]
    known, floors = [], []
    for line, told in zip(lines, answered, strict=True):
        model = models[line["model"]]
        value = value_of(model, line["notion"], line["estimator"], data.bins) if told else math.nan
        known.append(value)
        if not told:
            assert line["note"], line
            floors.append(True)
            continue
        assert line["rows"] == len(model), line
        if line["estimator"] == "ece" and line["floor"] == line["floor"] and line["floor"] is not None:
            draws = drawn(model, line["notion"], "ece", data.bins)
            ends = np.quantile(draws, [0.88, 0.985])
            floors.append(ends[0] <= line["floor"] <= ends[1])
            # p is of what the interval is about, in groups of its own: it agrees where there is no doubt.
            own = np.mean(draws >= line["value"] - 1e-9)
            floors[-1] &= 0 < line["p"] <= (0.05 if own == 0 else 1) and (own < 0.5 or line["p"] > 0.01)
        else:
            floors.append(True)
    written = [i for i, value in enumerate(known) if value is not None]
    assert np.allclose(frame["value"].to_numpy()[written], np.array(known, float)[written], equal_nan=True, rtol=1e-8)
    rest = [i for i in range(len(lines)) if i not in written]
    assert ((frame["value"].to_numpy()[rest] >= 0) & (frame["value"].to_numpy()[rest] <= 1)).all()
    compared.seen["value"] = "recomputed" if not rest else WEAK
    compared.holds(np.array(floors), "floor", "p", "rows")
    low, point, high = (frame[name].astype(float) for name in ("low", "point", "high"))
    compared.holds(low.isna() | ((low <= point) & (point <= high) & (low < high)), "low", "point", "high")
    compared.holds((frame["level"] == 0.9) | ~np.array(answered), "level")
    nested(data, lines, models)
    limits(compared, data, tolerance)
    compared.words("p_of", "title", "about", "method", "sentence", "note", "mark")
    compared.words("estimator", "notion", "bins")
    compared.holds(frame["tested"].isna() | frame["tested"].isin([True, False]), "tested")
    units = {"debiased-l2": "square", "skce": "square", "two-bin": "square"}
    compared.same("unit", [units.get(line["estimator"], "share") for line in lines])


def nested(data, lines, models):
    """Check that the interval at a lower level is inside: the ends are those of an interval, in order."""
    shown = next((line for line in lines if line["estimator"] == "ece" and line["low"] is not None), None)
    if shown is None or shown["low"] != shown["low"]:
        return
    model = next(m for m in data.scene.models.shown if m.title == shown["model"])
    own = cc.estimate(data.scene.get(model.predictions), shown["notion"], "ece", data.bins if data.bins != 15 else None)
    inner, outer = own.interval(level=0.8), own.interval(level=0.95)
    assert outer.low <= shown["low"] <= inner.low <= inner.high <= shown["high"] <= outer.high
    assert inner.high < shown["high"] < outer.high


def limits(compared, data, tolerance):
    """Check that the verdict follows from the interval, the tolerance on the scale of the error, and p."""
    words, ok = [], []
    for line in compared.frame.to_dict("records"):
        if line["low"] is None or line["low"] != line["low"]:
            ok.append(True)
            continue
        scale = 2 / len(data.base.names) if line["notion"] == "class-wise" else 1.0
        wanted = (tolerance * scale) ** (2 if line["unit"] == "square" else 1)
        ok.append(line["limit"] is not None and abs(line["limit"] - wanted) < 1e-12)
        within, beyond = line["high"] < wanted, line["low"] > wanted and line["p"] <= 0.05
        right = (
            ("within",) if within else ("miscalibrated",) if beyond else ("too close to call", "too few rows to tell")
        )
        words.append((line["verdict"] in right, line))
    compared.holds(np.array(ok), "limit")
    assert all(right for right, _ in words), [line for right, line in words if not right]
    compared.seen["verdict"] = "recomputed"
    ratios(compared, data)


def ratios(compared, data):
    """Check observed over expected events, for an event's expected calibration error."""
    ok = []
    for line in compared.frame.to_dict("records"):
        if line.get("ratio") is None or line["ratio"] != line["ratio"]:
            ok.append(True)
            continue
        model = data.alike[line["model"]]
        ratio = (model.label == 1).sum() / model.probs[:, 1].sum()
        wide = [end / model.probs[:, 1].sum() * len(model) for end in ends_around(model, 0.99)]
        slim = [end / model.probs[:, 1].sum() * len(model) for end in ends_around(model, 0.5)]
        right = abs(line["ratio"] - ratio) < 1e-9 and wide[0] < line["ratio_low"] < slim[0]
        right &= slim[1] < line["ratio_high"] < wide[1] and line["ratio_limit"] == 1.25
        held = line["ratio_low"] > 1 / 1.25 and line["ratio_high"] < 1.25
        left = line["ratio_high"] < 1 / 1.25 or line["ratio_low"] > 1.25
        right &= line["ratio_word"] == ("within" if held else "beyond" if left else "undecided")
        ok.append(right)
    names = ("ratio", "ratio_low", "ratio_high", "ratio_limit", "ratio_word")
    compared.holds(np.array(ok), *names)


def ends_around(model, level):
    return by_hand.clopper_pearson(int((model.label == 1).sum()), len(model), level)


@twin("estimators")
def estimators(compared, data):
    keys = [line["estimator"] for line in compared.frame.to_dict("records")]
    assert len(set(keys)) == len(keys)
    one_stratum = data.notion in ("event", "confidence")  # where no classes are averaged, it is the MCE
    assert set(BINNED) & set(keys) == set(BINNED) - ({"mce-of-bins"} if one_stratum else set())
    compared.same("model", [data.title] * len(keys))
    assert set(compared.frame["notion"]) == {data.notion}
    put(compared, data, {data.title: data.alike[data.title]})
    folded(compared, data)


def folded(compared, data):
    """Check debiased ECE: the ECE less the expectation for normal means around the observed ones, in closed form."""
    scores, outcomes = data.claim(data.alike[data.title])
    cells, n = data.base.cells(scores, data.bins), len(scores)
    plain, expected = 0.0, 0.0
    for here in cells.values():
        s, z = float(np.mean(scores[here])), float(np.mean(outcomes[here]))
        spread = math.sqrt(z * (1 - z) / len(here))
        gap = z - s
        mean = abs(gap)
        if spread:
            mean = spread * math.sqrt(2 / math.pi) * math.exp(-(gap**2) / 2 / spread**2)
            mean += gap * math.erf(gap / spread / math.sqrt(2))
        plain, expected = plain + len(here) / n * abs(gap), expected + len(here) / n * mean
    shown = compared.frame.set_index("estimator").loc["debiased-ece", "value"]
    assert abs(shown - max(2 * plain - expected, 0)) < 1e-9


@twin("notions")
def notions(compared, data):
    asked = [n for n in ("top-label", "confidence", "class-wise") if n != data.notion]
    models = list(data.models)
    pairs = list(zip(compared.frame["model"], compared.frame["notion"], strict=True))
    compared.same("model", [title for title in models for _ in asked])
    assert pairs == [(title, n) for title in models for n in asked]
    put(compared, data, data.alike)


@twin("calibrator-errors")
def calibrator_errors(compared, data):
    asked = list(dict.fromkeys(compared.frame["notion"]))
    compared.same("model", [title for _ in asked for title in data.models])
    if data.name == "three":
        assert {"confidence", "top-label", "class-wise"} <= set(asked)
    known = compared.frame[compared.frame["notion"].isin(["confidence", "top-label", "class-wise", "event"])]
    rest = compared.frame.drop(known.index)
    assert (rest["value"].isna() | ((rest["value"] >= 0) & (rest["value"] <= 1))).all()
    part = type(compared)(known.reset_index(drop=True))
    put(part, data, data.alike)
    compared.seen |= part.seen | {"model": "recomputed"}


@twin("verdict")
def verdict(compared, data):
    lines = compared.frame.to_dict("records")
    compared.same("model", list(data.models))
    assert {line["notion"] for line in lines} == {data.notion}
    assert {line["estimator"] for line in lines} == {"ece"}
    put(compared, data, data.alike) if not data.of_event else (put_event(compared, data))
    ok = []
    for line in lines:
        model = data.alike[line["model"]]
        if model.probs is None:
            z = surprise(np.column_stack([model.h, 1 - model.h]), (~model.right).astype(int))
        else:
            z = surprise(model.probs, model.label)
        p = line["p_of_any_error"]
        own = math.erfc(abs(z) / math.sqrt(2))
        ok.append(abs(p - own) <= 0.02 + 0.1 * own)
    compared.holds(np.array(ok), "p_of_any_error")
    compared.words("headline", "reason")


def put_event(compared, data):
    """Check that the word of an event also needs the ratio: within both, or miscalibrated in either."""
    frame = compared.frame
    verdicts, own = [], []
    for line in frame.to_dict("records"):
        out = (line["low"] > 0.02 and line["p"] <= 0.05) or line["ratio_word"] == "beyond"
        held = line["high"] < 0.02 and line["ratio_word"] == "within"
        word = line["verdict"]
        error = "miscalibrated" if line["low"] > 0.02 and line["p"] <= 0.05 else "too close to call"
        own.append("within" if line["high"] < 0.02 else error)
        verdicts.append(word == "miscalibrated" if out else word == "within" if held else word.startswith("too"))
    part = type(compared)(frame.assign(verdict=own))
    put(part, data, data.alike)
    compared.seen |= part.seen
    compared.holds(np.array(verdicts), "verdict")


def surprise(probs, labels):
    """Return Spiegelhalter's Z of the Brier score."""
    excess, spread = 0.0, 0.0
    for row, label in zip(np.asarray(probs, float), labels, strict=True):
        every = [sum((p - (k == c)) ** 2 for k, p in enumerate(row)) for c in range(len(row))]
        mean = sum(p * s for p, s in zip(row, every, strict=True))
        excess += every[label] - mean
        spread += sum(p * (s - mean) ** 2 for p, s in zip(row, every, strict=True))
    return excess / math.sqrt(spread)


def log_surprise(probs, labels):
    """Return the same of the log loss."""
    excess, spread = 0.0, 0.0
    for row, label in zip(np.asarray(probs, float), labels, strict=True):
        every = [-math.log(p) if p > 0 else 0.0 for p in row]
        mean = sum(p * s for p, s in zip(row, every, strict=True))
        excess += every[label] - mean
        spread += sum(p * (s - mean) ** 2 for p, s in zip(row, every, strict=True))
    return excess / math.sqrt(spread)


def kuiper(scores, outcomes):
    """Return the range of the sums of outcome less score, from the lowest score up; equal scores are one step."""
    order = sorted(range(len(scores)), key=lambda i: float(scores[i]))
    path, total = [0.0], 0.0
    for j, i in enumerate(order):
        total += float(outcomes[i]) - float(scores[i])
        if j + 1 == len(order) or scores[order[j + 1]] != scores[i]:
            path.append(total)
    return (max(path) - min(path)) / math.sqrt(sum(float(s) * (1 - float(s)) for s in scores))


def range_of_path(x):
    """Return the chance that the range of a Brownian path is x or more: Feller's series."""
    from scipy.stats import norm

    return float(sum(8 * (-1) ** (k - 1) * k * norm.sf(k * x) for k in range(1, 200)))


@twin("tests")
def tests(compared, data):
    lines, subjects = [], []
    for title, kept in data.alike.items():
        whole = kept.probs is not None
        k = kuiper(*data.claim(kept))
        lines.append((title, "Kuiper", k, range_of_path(k)))
        subjects += [data.notion, "whole" if whole else "claims", "whole"]
        probs = kept.probs if whole else np.column_stack([kept.h, 1 - kept.h])
        z = surprise(probs, kept.label if whole else (~kept.right).astype(int))
        lines.append((title, "Brier", z, math.erfc(abs(z) / math.sqrt(2))))
        z = log_surprise(kept.probs, kept.label) if whole else math.nan
        lines.append((title, "log", z, math.erfc(abs(z) / math.sqrt(2)) if whole else math.nan))
    shown = compared.frame.to_dict("records")
    compared.same("model", [line[0] for line in lines])
    compared.same("subject", subjects)
    compared.same("statistic", [line[2] for line in lines], rel=1e-6)
    ok = []
    for (_, name, _, p), line in zip(lines, shown, strict=True):
        assert name in line["test"], (name, line)
        # The one fixed in advance draws outcomes where rows are few.
        ok.append(p != p or abs(line["p"] - p) <= (0.02 + 0.1 * p if name == "Brier" else 1e-4 * p + 1e-12))
    compared.holds(np.array(ok), "p")
    others = [line["p"] if "Brier" not in line["test"] else math.nan for line in shown]
    for name, rule in (("p_holm", by_hand.holm), ("p_bh", by_hand.benjamini_hochberg)):
        fresh = [p if q != q else q for p, q in zip([line["p"] for line in shown], rule(others), strict=True)]
        compared.same(name, fresh)
    compared.words("test", "note")


@twin("scores")
def scores(compared, data):
    keys = list(dict.fromkeys(compared.frame["estimator"]))
    lines, shown = [], compared.frame.to_dict("records")
    for key in keys:
        for title, model in data.alike.items():
            lines.append((title, key, score_of(data, model, key)))
    compared.same("model", [line[0] for line in lines])
    compared.same("estimator", [line[1] for line in lines])
    values = [line[2] for line in lines]
    compared.same("value", values)
    compared.same("point", values)
    ok = []
    for line in shown:
        if line["low"] is None or line["low"] != line["low"]:
            ok.append(line["value"] != line["value"])
            continue
        ok.append(line["low"] < line["value"] < line["high"])
        if line["estimator"] == "accuracy":
            model = data.alike[line["model"]]
            ends = by_hand.clopper_pearson(int(sum(model.right)), len(model))
            ok[-1] &= np.allclose([line["low"], line["high"]], ends)
    compared.holds(np.array(ok), "low", "high")
    compared.holds(np.array([noise_of(data, line) for line in shown]), "floor", "p")
    compared.same("rows", [len(data.base.only(np.logical_and.reduce([m.answered for m in data.models.values()])))
                           if v == v else 0 for v in values])  # fmt: skip
    units = ["share" if key == "accuracy" or v != v else "score" for _, key, v in lines]
    compared.same("unit", units)
    compared.holds(compared.frame["level"] == 0.9, "level")
    empty = [name for name in compared.frame if name.startswith("ratio") or name in ("verdict", "limit", "notion")]
    compared.holds(True, *empty)
    compared.words("p_of", "title", "about", "method", "sentence", "note", "mark", "bins")
    compared.holds(compared.frame["tested"].isna() | compared.frame["tested"].isin([True, False]), "tested")


def score_of(data, model, key):
    if key == "accuracy":
        return float(np.mean(model.right))
    if model.probs is None:
        return math.nan
    if key == "log-loss":
        return by_hand.log_loss(model.probs, model.label)
    whole = by_hand.brier(model.probs, model.label)
    return whole / 2 if len(model.names) == 2 else whole


def noise_of(data, line):
    """Check the noise floor: the 95 % point of calibrated models, for accuracy the 5 % point, since lower is worse."""
    if line["floor"] is None or line["floor"] != line["floor"]:
        return pd.isna(line["p"])
    model, rng = data.alike[line["model"]], np.random.default_rng(3)
    k, found = len(model.names), []
    if model.probs is None:  # whether the answer is right is all that is drawn
        assert line["estimator"] == "accuracy"
        found = [-np.mean(rng.random(len(model)) < model.h) for _ in range(DRAWS)]
    for _ in range(DRAWS if model.probs is not None else 0):
        labels = (rng.random(len(model))[:, None] > model.probs.cumsum(axis=1)).sum(axis=1).clip(0, k - 1)
        if line["estimator"] == "accuracy":
            found.append(-np.mean(model.predicted == labels))
        elif line["estimator"] == "log-loss":
            found.append(-np.log(model.probs[np.arange(len(model)), labels]).mean())
        else:
            hit = np.zeros_like(model.probs)
            hit[np.arange(len(model)), labels] = 1
            found.append(((model.probs - hit) ** 2).sum(axis=1).mean() / (2 if k == 2 else 1))
    sign = -1 if line["estimator"] == "accuracy" else 1
    low, high = np.quantile(found, [0.9, 0.985])
    p = np.mean(np.array(found) >= sign * line["value"] - 1e-12)
    return low <= sign * line["floor"] <= high and abs(line["p"] - p) <= 0.02 + 4 * math.sqrt(p * (1 - p) / DRAWS)


@twin("unbinned")
def unbinned(compared, data):
    frame = compared.frame
    compared.same("model", [title for title in data.models for _ in range(2)])
    assert set(frame["notion"]) == {data.notion}
    compared.same("assumption", ["lipschitz", "monotone"] * len(data.models))
    compared.same("value", (frame["binned"] + frame["added"]).tolist())
    compared.same("level", [0.95] * len(frame))
    upper = []
    for line in frame.to_dict("records"):
        scores, outcomes = data.claim(data.models[line["model"]])
        number = re_number(line["bins"])
        cells = (
            list(by_hand.values_of(scores).values())
            if data.models[line["model"]].discrete
            else equal_mass(scores, number)
        )
        n = len(scores)
        if line["assumption"] == "lipschitz":
            added = sum(len(c) / n * float(np.mean(np.abs(scores[c][:, None] - scores[c][None]))) for c in cells)
        else:
            added = max(len(c) for c in cells) / n / 2
            added += sum(len(c) / n * float(np.mean(np.abs(scores[c] - np.mean(scores[c])))) for c in cells)
        error = sum(len(c) / n * abs(float(np.mean(outcomes[c]) - np.mean(scores[c]))) for c in cells)
        upper.append((abs(line["added"] - added) <= 0.1 * added + 1e-9, error))
    if not any(model.discrete for model in data.models.values()):
        assert all(right for right, _ in upper), upper
    compared.holds(frame["binned"] > np.array([0.6 * error for _, error in upper]), "binned")
    compared.holds(True, "added")
    compared.words("notion", "bins", "sentence")


def equal_mass(scores, number):
    order = np.argsort(scores, kind="stable")
    return np.array_split(order, number)


def re_number(text):
    return int(text.split()[0]) if text[0].isdigit() else 1
