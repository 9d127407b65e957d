"""Twins of models side by side: scores, costs, uses of confidences, pairs of models."""

import math

import by_hand
import numpy as np
import pandas as pd
from compared import WEAK, twin
from scipy.optimize import minimize
from scipy.stats import chi2, norm, t
from twins_of_lines import worst_bin


def measures(data, model):
    """Return every number of a model; NaN if it makes no such claims."""
    full, named = model.probs is not None, model.predicted is not None
    found = {"Accuracy": np.mean(model.right), "Log loss": math.nan, "Brier score": math.nan}
    if full:
        found["Log loss"] = by_hand.log_loss(model.probs, model.label)
        found["Brier score"] = by_hand.brier(model.probs, model.label) / (2 if len(model.names) == 2 else 1)
    able = {"conf": "confidence"}
    able |= {"TL": "top-label"} if named else {}
    able |= {"CW": "class-wise"} if full else {}
    able |= {"Event": "event"} if full and len(model.names) == 2 else {}
    for short in ("conf", "TL", "CW", "Event"):
        for name, p in (("ECE", 1), ("MCE", math.inf)):
            known = short in able
            found[f"{short}-{name}"] = model.error(able[short], p, data.bins) if known else math.nan
    found["TL-MCE of bins"] = worst_bin(model.claims("top-label")[0], data.bins) if named else math.nan
    ranks = ranked(data, model) if full else {}
    for name in ("Top-k confidence-ECE", "Top-k label-ECE", "Top-k confidence-MCE", "Top-k label-MCE"):
        found[name] = ranks.get(name, math.nan)
    return found


def ranked(data, model):
    """Return errors of the three largest classes of each row (both of two): by rank, then mean and largest."""
    every = {name: [] for name in ("c", "l", "cm", "lm")}
    order = np.argsort(-model.probs, axis=1, kind="stable")
    for k in range(min(len(model.names), compared_ranks(model))):
        scores = np.take_along_axis(model.probs, order[:, k : k + 1], axis=1)[:, 0]
        outcomes = order[:, k] == model.label
        cells = model.cells(scores, data.bins)
        every["c"].append(by_hand.lp_error(scores, outcomes, cells))
        every["cm"].append(by_hand.lp_error(scores, outcomes, cells, math.inf))
        total, largest = 0.0, 0.0
        for c in range(len(model.names)):
            mine = order[:, k] == c
            if mine.any():
                cells = model.cells(scores[mine], data.bins)
                total += mine.mean() * by_hand.lp_error(scores[mine], outcomes[mine], cells)
                largest = max(largest, by_hand.lp_error(scores[mine], outcomes[mine], cells, math.inf))
        every["l"].append(total)
        every["lm"].append(largest)
    return {
        "Top-k confidence-ECE": np.mean(every["c"]),
        "Top-k label-ECE": np.mean(every["l"]),
        "Top-k confidence-MCE": max(every["cm"]),
        "Top-k label-MCE": max(every["lm"]),
    }


def compared_ranks(model):
    return 5 if len(model.names) > 2 else 1


def table(compared, data):
    lines = {title: measures(data, model) for title, model in data.alike.items()}
    compared.same("model", list(lines))
    for name in compared.frame:
        if name in measures(data, data.base.kept):
            compared.same(name, [line[name] for line in lines.values()])
    kinds = ["one per value" if model.discrete else f"{data.bins} equal width" for model in data.models.values()]
    assert all(text.startswith(kind) for text, kind in zip(compared.frame["bins"], kinds, strict=True))
    compared.words("bins")


@twin("summary")
def summary(compared, data):
    table(compared, data)
    compared.words("note")


CONTRACTS = {
    "temperature": (True, True, True),
    "top-label-hb": (True, True, False),
    "confidence-hb": (True, True, False),
    "metacal-miscoverage": (False, False, True),
    "logistic-recalibration": (False, False, True),
}
"""Contracts: the class is unchanged, the order of the classes is unchanged, rows sum to one."""


def contracts(compared, data, base=True):
    """Check declared contracts: the base model has all of them."""
    keys = [model.recipe.key for model in data.scene.models.shown]
    kept = [CONTRACTS.get(key, (True, True, True)) for key in (keys if base else keys[1:])]
    for i, name in enumerate(("keeps_class", "keeps_order", "sums_to_one")):
        if name in compared.frame:
            compared.same(name, [line[i] for line in kept])


@twin("calibrators")
def calibrators(compared, data):
    table(compared, data)
    kinds = {"three": ["full", "full", "top-label", "full"], "risk": ["full"] * 3, "levels": ["confidence"] * 2}
    compared.same("returns", kinds[data.name])
    contracts(compared, data)


@twin("costs")
def costs(compared, data):
    lines = []
    for title, model in data.models.items():
        kept = model.kept
        loss = math.nan if kept.probs is None else by_hand.log_loss(kept.probs, kept.label)
        line = {"model": title, "accuracy": np.mean(kept.right), "log_loss": loss}
        lines.append({**line, "rows": len(model), "answered": len(kept)})
    compared.all_same(lines)


def both(data, title):
    """Return the rows before and after that the recalibrated model answers."""
    model = data.models[title]
    return data.base.only(model.answered), model.kept


@twin("side-effects")
def side_effects(compared, data):
    lines = []
    for title, model in list(data.models.items())[1:]:
        base, kept = data.base, model.kept
        before, _ = both(data, title)
        changed = math.nan if model.predicted is None else np.mean(before.predicted != kept.predicted)
        if model.predicted is not None:
            changed = sum(before.predicted != kept.predicted) / len(model)
        line = {"calibrator": title, "accuracy": np.mean(kept.right), "accuracy_before": np.mean(base.right)}
        line |= {"accuracy_change": line["accuracy"] - line["accuracy_before"], "class_changed": changed}
        line["abstained"] = 1 - len(kept) / len(model)
        if data.of_event:
            line |= {"risk_before": np.mean(before.probs[:, 1]), "risk": np.mean(kept.probs[:, 1])}
            line["observed"] = np.mean(before.label == 1)
        else:
            sure, was = kept.h >= 0.95, base.h >= 0.95
            line |= {"sure": sum(sure), "sure_before": sum(was)}
            line["sure_right"] = np.mean(kept.right[sure]) if sure.any() else math.nan
            line["sure_right_before"] = np.mean(base.right[was]) if was.any() else math.nan
        lines.append(line)
    frame = pd.DataFrame(lines)
    if data.name == "levels":
        frame["class_changed"] = compared.frame["class_changed"]
    compared.all_same(frame)
    contracts(compared, data, base=False)


@twin("update-test")
def update_test(compared, data):
    """Refit the calibration rows by a general minimizer; twice the differences of the log-likelihoods."""
    risk, died = data.fit.probs[:, 1], data.fit.label == 1
    x = np.log(risk / (1 - risk))

    def loss(line):
        return float(np.sum(np.logaddexp(0, line) - died * line))

    a = minimize(lambda v: loss(v[0] + x), [0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x[0]
    both = minimize(
        lambda v: loss(v[0] + v[1] * x), [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}
    ).x
    lines = [(0.0, 1.0), (a, 1.0), tuple(both)]
    heights = np.array([-loss(first + second * x) for first, second in lines])
    statistic = 2 * (heights[2] - heights)
    p = [chi2.sf(statistic[0], 2), chi2.sf(statistic[1], 1)]
    chosen = 0 if p[0] > 0.05 else 1 if p[1] > 0.05 else 2
    compared.same("update", ["none", "intercept", "logistic recalibration"])
    for i, name in enumerate(("intercept", "slope")):
        compared.same(name, [line[i] for line in lines], rel=1e-5, least=1e-6)
    compared.same("log_likelihood", heights, rel=1e-9)
    compared.same("statistic", [*statistic[:2], math.nan], rel=1e-6, least=1e-7)
    compared.same("parameters", [2, 1, 0])
    compared.same("p", [*p, math.nan], rel=1e-6)
    compared.same("chosen", [i == chosen for i in range(3)])


@twin("gains")
def gains(compared, data):
    lines, frame = [], compared.frame
    for title, model in list(data.models.items())[1:]:
        before, after = both(data, title)
        line = {"calibrator": title, "rows": len(model), "abstained": int(sum(~model.answered))}
        line["log_loss"], line["log_loss_before"] = math.nan, math.nan
        if before.probs is not None:
            line["log_loss_before"] = by_hand.log_loss(before.probs, before.label)
        if after.probs is not None:
            line["log_loss"] = by_hand.log_loss(after.probs, after.label)
        if data.name == "levels":
            for name, part in (("log_loss", after), ("log_loss_before", before)):
                h = np.column_stack([1 - part.h, part.h])
                line[name] = by_hand.log_loss(h, part.right.astype(int))
        if model.predicted is not None:
            line["changed"] = int(sum(before.predicted != after.predicted))
        lines.append(line)
    compared.all_same(lines)
    if "changed" not in lines[0]:
        compared.holds((frame["changed"].isna()) | (frame["changed"] == 0), "changed")
    # The numbers of the line that decides are those of the verdict, whose own twin looks at them.
    shown = data.scene.get(EXHIBITS_OF("verdict").table(data.scene)).set_index("model")
    ratio = ("ratio", "ratio_low", "ratio_high", "ratio_limit")
    for name in ("title", "point", "low", "high", "verdict", "sentence", *ratio):
        compared.same(name, [shown.loc[title, name] for title in frame["calibrator"]])
    compared.same("point_before", [shown["point"].iloc[0]] * len(frame))
    compared.same("promised", [key in PROMISING for key in keys_of(data)[1:]])
    compared.words("promise", "set_aside", "fitted")


PROMISING = ("top-label-hb", "confidence-hb", "metacal-miscoverage")
"""Calibrators with a distribution-free guarantee."""


def keys_of(data):
    return [model.recipe.key for model in data.scene.models.shown]


def EXHIBITS_OF(key):  # noqa: N802  # a short name of a registry's function
    from dashboard.exhibits import EXHIBITS

    return EXHIBITS.make(key)


@twin("promises")
def promises(compared, data):
    compared.same("calibrator", list(data.models)[1:])
    compared.same("holds", [key in PROMISING for key in keys_of(data)[1:]])
    compared.words("sentence", "set_aside")


@twin("rows")
def rows(compared, data):
    parts = (("calibration", data.fit), ("test", data.base))
    lines = [
        {"model": data.title, "part": name, "rows": len(p), "accuracy": np.mean(p.right), "confidence": np.mean(p.h)}
        for name, p in parts
    ]
    compared.all_same(lines)


def delong(scores, outcomes):
    """Return DeLong's standard error of an AUROC, and its terms by row."""
    yes = [i for i, z in enumerate(outcomes) if z]
    no = [i for i, z in enumerate(outcomes) if not z]

    def wins(a, b):
        return (scores[a] > scores[b]) + (scores[a] == scores[b]) / 2

    terms, n, a = np.zeros(len(scores)), len(scores), by_hand.auroc(scores, outcomes)
    for i in yes:
        terms[i] = (np.mean([wins(i, j) for j in no]) - a) * n / len(yes)
    for j in no:
        terms[j] = (np.mean([wins(i, j) for i in yes]) - a) * n / len(no)
    return a, terms


def right_area(model):
    """Return the mean over k = 1..n of the error rate of the k most confident rows, averaged over the order of ties."""
    total, done, wrong = 0.0, 0, 0
    for h in sorted(set(model.h), reverse=True):
        mine = ~model.right[model.h == h]
        share = mine.mean()
        for j in range(1, len(mine) + 1):
            total += (wrong + share * j) / (done + j)
        done, wrong = done + len(mine), wrong + int(sum(mine))
    return total / len(model)


def least_area(n, wrong):
    """Return the same if all wrong rows come last."""
    return sum(max(0, k - (n - wrong)) / k for k in range(1, n + 1)) / n


def surest(model, coverage):
    """Return the rows of this share, most confident first, ties together."""
    order = sorted(model.h, reverse=True)
    return model.h >= order[math.ceil(coverage * len(model) - 1e-9) - 1]


@twin("skills")
def skills(compared, data, coverage=0.8):
    lines = []
    for title, model in data.models.items():
        model = model.kept
        n, k = len(model), int(sum(model.right))
        a, says, brier = k / n, np.mean(model.h), np.mean((model.h - model.right) ** 2)
        low, high = by_hand.clopper_pearson(k, n)
        sure = surest(model, coverage)
        best = by_hand.clopper_pearson(int(sum(model.right[sure])), int(sum(sure)))
        area = right_area(model)
        line = {"model": title, "rows": n, "accuracy": a, "accuracy_low": low, "accuracy_high": high}
        line |= {"mean_confidence": says, "overconfidence": says - a}
        line |= {"overconfidence_low": says - high, "overconfidence_high": says - low}
        line |= {"skill": 1 - brier / (a * (1 - a)), "auroc": by_hand.auroc(model.h, model.right)}
        line |= {"risk_area": area, "excess_area": area - least_area(n, n - k)}
        line |= {"answered": np.mean(sure), "accuracy_answered": np.mean(model.right[sure])}
        lines.append({**line, "accuracy_answered_low": best[0], "accuracy_answered_high": best[1]})
    compared.all_same(lines)
    frame = compared.frame
    for name in ("skill", "auroc", "risk_area", "excess_area"):
        low, value, high = (frame[name + end] for end in ("_low", "", "_high"))
        compared.holds((low < value) & (value < high), f"{name}_low", f"{name}_high")
    ok = []
    for line in frame.to_dict("records"):
        model = data.models[line["model"]].kept
        a, terms = delong(model.h, model.right)
        half = norm.ppf(0.95) * math.sqrt(np.mean(terms**2) / len(terms))
        # At least as wide as DeLong's on log-odds, and not much wider with this many rows.
        logit = math.log(a / (1 - a))
        ends = [1 / (1 + math.exp(-logit - s * half / (a * (1 - a)))) for s in (-1, 1)]
        ok.append(line["auroc_low"] <= ends[0] + 2e-3 and ends[0] - line["auroc_low"] < 0.5 * half)
        ok[-1] &= line["auroc_high"] >= ends[1] - 2e-3 and line["auroc_high"] - ends[1] < 0.5 * half
    assert all(ok), frame[["auroc_low", "auroc_high"]]
    compared.words("note")


def terms_of(model, measure):
    """Return (value, contribution of each row) of a measure of confidences."""
    h, z = model.h, model.right.astype(float)
    if measure == "overconfidence":
        return np.mean(h - z), h - z - np.mean(h - z)
    if measure == "brier":
        return np.mean((h - z) ** 2), (h - z) ** 2 - np.mean((h - z) ** 2)
    if measure == "auroc":
        return delong(h, model.right)
    if measure == "skill":
        b, a = (h - z) ** 2, z.mean()
        v = a * (1 - a)
        return 1 - b.mean() / v, -(b - b.mean()) / v + b.mean() / v**2 * (1 - 2 * a) * (z - a)
    return right_area(model), None


@twin("skill-pairs")
def skill_pairs(compared, data):
    models, lines = list(data.alike.items()), []
    for i, (first, a) in enumerate(models):
        for second, b in models[i + 1 :]:
            for measure in ("overconfidence", "brier", "skill", "auroc", "risk_area"):
                (x, dx), (y, dy) = terms_of(a, measure), terms_of(b, measure)
                line = {"first": first, "second": second, "measure": measure}
                line |= {"first_value": x, "second_value": y, "difference": x - y}
                line |= {"low": math.nan, "high": math.nan, "p": math.nan}
                if dx is not None:
                    error = math.sqrt(np.mean((dx - dy) ** 2) / len(dx))
                    half = t.ppf(0.95, len(dx) - 1) * error
                    line |= {"low": x - y - half, "high": x - y + half}
                    line["p"] = 2 * t.sf(abs(x - y) / error, len(dx) - 1) if error else math.nan
                lines.append(line)
    for name in ("first", "second", "measure", "first_value", "second_value", "difference"):
        compared.same(name, [line[name] for line in lines])
    shown = compared.frame
    for name, least in (("low", 2e-3), ("high", 2e-3), ("p", 1e-2)):
        told = shown[name].notna() & pd.Series([line[name] == line[name] for line in lines])
        apart = np.abs(shown[name] - [line[name] for line in lines])[told]
        assert (apart < least).all(), (name, shown[told][apart >= least], [line[name] for line in lines])
        compared.seen[name] = "recomputed"
    compared.holds(
        shown["low"].isna() | ((shown["low"] <= shown["difference"]) & (shown["difference"] <= shown["high"]))
    )
    compared.same("p_holm", by_hand.holm(shown["p"].tolist()))
    compared.words("note")


@twin("pairs")
def pairs(compared, data, margin=0.01**2):
    """Check pairs of models; for squared errors the margin is squared, too."""
    frame, lines = compared.frame, []
    models = list(data.scene.models.shown)
    for i, a in enumerate(models):
        for b in models[i + 1 :]:
            lines.append((a.title, b.title))
    compared.same("first", [a for a, _ in lines])
    compared.same("second", [b for _, b in lines])
    told = frame["difference"].notna()
    ok = []
    for line in frame.to_dict("records"):
        if line["difference"] != line["difference"]:
            ok.append(bool(line["note"]))
            continue
        a, b = (data.models[line[name]] for name in ("first", "second"))
        claims = [data.claim(m) if data.of_event else (m.h, m.right) for m in (a, b)]
        bins = [m.cells(scores, data.bins) for m, (scores, _) in zip((a, b), claims, strict=True)]
        if a.discrete != b.discrete:
            # Pairs are judged in bins that serve both: the values of the discrete one.
            bins = None
        right = -0.5 < line["low"] <= line["difference"] <= line["high"] < 0.5
        if bins and not a.discrete:
            x, y = (by_hand.debiased_square(*each, c) for each, c in zip(claims, bins, strict=True))
            right &= abs(line["first_value"] - x) < 1e-9 and abs(line["second_value"] - y) < 1e-9
            right &= abs(line["difference"] - (x - y)) < 0.01
        little = ", within margin" if -margin < line["low"] and line["high"] < margin else ""
        word = (
            f"better{little}" if line["high"] < 0 and line["p"] <= 0.05
            else f"worse{little}" if line["low"] > 0 and line["p"] <= 0.05
            else "equivalent" if -margin < line["low"] and line["high"] < margin
            else "not worse" if line["high"] < margin
            else "cannot tell"
        )  # fmt: skip
        right &= line["verdict"] == word
        right &= (line["p"] <= 0.1) == (line["low"] > 0 or line["high"] < 0) or 0.08 < line["p"] < 0.12
        ok.append(right)
    compared.holds(np.array(ok), "first_value", "second_value", "difference", "low", "high", "p")
    compared.seen |= {"first_value": "recomputed", "second_value": "recomputed", "verdict": "recomputed"}
    compared.same("p_holm", by_hand.holm(frame["p"].tolist()))
    compared.holds(~told | frame["tested"].isin([True, False]), "tested")
    compared.words("method", "about", "note")


@twin("trade")
def trade(compared, data):
    lines = []
    for title, model in data.alike.items():
        scores, outcomes = data.claim(model)
        square = by_hand.debiased_square(scores, outcomes, model.cells(scores, data.bins))
        lines.append({"points": "model", "model": title, "error": square, "mse": np.mean((scores - outcomes) ** 2)})
    compared.all_same(lines)
    compared.words("note")


@twin("validity")
def validity(compared, data):
    """Return the share of rows whose bin is off by at most this much, on the recalibrated model's bins."""
    lines = []
    for title, model in data.models.items():
        kept = model.kept
        strata, _ = kept.claims(data.notion)
        scores, outcomes = strata[0]
        cells = kept.cells(scores, data.bins)
        if title == data.title:
            lines += steps(title, scores, outcomes, cells, len(kept))
            continue
        same = data.of_event or model.predicted is None or (data.base.predicted == model.predicted).all()
        same = same and model.answered.all() if data.of_event else same
        mine = title if same else f"{title}, own bins"
        found = compared.frame["model"].tolist()
        mine = mine if mine in found else title
        lines += steps(mine, scores, outcomes, cells, len(kept))
        beside = f"{data.title}, bins of {title}"
        if beside in found:
            before = data.base.only(model.answered)
            old = before.claims(data.notion)[0][0]
            lines += steps(beside, *old, cells, len(kept))
    compared.all_same(lines, rel=1e-7)


def steps(title, scores, outcomes, cells, n):
    off = {}
    for here in cells.values():
        gap = abs(float(np.mean(outcomes[here]) - np.mean(scores[here])))
        off[round(gap, 12)] = off.get(round(gap, 12), 0) + len(here)
    found, done = [], 0
    for gap in sorted(off):
        done += off[gap]
        found.append({"model": title, "eps": gap, "share": done / n})
    return found


@twin("sweep")
def sweep(compared, data):
    lines = []
    notions = {"levels": ("confidence",), "risk": ("event",)}.get(data.name, ("confidence", "top-label"))
    for title, kept in data.alike.items():
        for notion in notions:
            for bins in range(5, 26):
                strata, weights = kept.claims(notion)
                edges = by_hand.edges_of(bins)
                found = [by_hand.lp_error(s, z, by_hand.cells_of(s, edges)) for s, z in strata]
                value = sum(w * e for w, e in zip(weights, found, strict=True))
                lines.append({"model": title, "notion": notion, "bins": bins, "value": value})
    compared.all_same(lines)
    frame, ok = compared.frame, []
    rng = np.random.default_rng(4)
    for line in frame.iloc[:: max(1, len(frame) // 12)].to_dict("records"):
        kept = data.alike[line["model"]]
        strata, weights = kept.claims(line["notion"])
        edges, draws = by_hand.edges_of(line["bins"]), []
        cells = [by_hand.cells_of(s, edges) for s, _ in strata]
        for _ in range(300):
            total = 0.0
            for (s, _), cell, w in zip(strata, cells, weights, strict=True):
                z = rng.random(len(s)) < s
                total += w * sum(abs((z[i] - s[i]).sum()) for i in cell.values()) / len(s)
            draws.append(total)
        low, high = np.quantile(draws, [0.88, 0.99])
        ok.append(low <= line["floor"] <= high)
    assert all(ok)
    compared.seen["floor"] = WEAK


@twin("corp")
def corp(compared, data):
    lines = []
    for title, model in data.models.items():
        scores, outcomes = data.claim(model)
        brier, mean = np.mean((scores - outcomes) ** 2), np.mean(outcomes)
        fitted = rising(scores, outcomes)
        best, uncertainty = np.mean((fitted - outcomes) ** 2), mean * (1 - mean)
        line = {"model": title, "brier": brier, "miscalibration": brier - best}
        lines.append({**line, "discrimination": uncertainty - best, "uncertainty": uncertainty})
    compared.all_same(lines, rel=1e-6)


def rising(scores, outcomes):
    """Return the best increasing fit: pools of neighbors that violate the order."""
    pools = []
    for h in sorted(set(scores)):
        mine = outcomes[scores == h]
        pools.append([float(sum(mine)), len(mine), [h]])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] >= pools[-1][0] / pools[-1][1]:
            z, n, hs = pools.pop()
            pools[-1] = [pools[-1][0] + z, pools[-1][1] + n, pools[-1][2] + hs]
    value = {h: z / n for z, n, hs in pools for h in hs}
    return np.array([value[h] for h in scores])


@twin("row-flow")
def row_flow(compared, data):
    """Count every step; the judged rows have a file of their own, without missing values."""
    n = len(data.base)
    events = float(sum(data.base.label == 1)) if data.of_event else math.nan
    compared.same("step", ["rows in the file", "rows with a prediction and an outcome", "judged"])
    compared.same("reason", ["", "", ""])
    compared.same("rows", [n, n, n])
    compared.same("events", [math.nan, events, events])


@twin("characteristics")
def characteristics(compared, data):
    """Write the cells of all rows, and of those with and without the event, from the file."""
    file, frame = data.file, compared.frame
    groups = {"all": np.full(len(file), True)}
    if data.of_event:
        happened = data.base.label == 1
        groups |= {"with “died”": happened, "without “died”": ~happened}
    lines = [("rows", "", lambda which: f"{which.sum():,}")]

    def counted(mask):
        return lambda which: f"{(mask & which).sum():,} ({100 * (mask & which).sum() / which.sum():.1f} %)"

    def three(number):
        return f"{float(f'{number:.3g}'):,g}"

    def described(values):
        values = np.asarray(values, float)

        def mean(which):
            return f"{three(values[which].mean())} ({three(values[which].std(ddof=1))})"

        def quartiles(which):
            low, middle, high = np.quantile(values[which], [0.25, 0.5, 0.75])
            return f"{three(middle)} ({three(low)} to {three(high)})"

        return mean, quartiles

    if data.of_event:
        mean, quartiles = described(data.base.probs[:, 1])
        lines += [("“died”", "", counted(happened)), ("predicted risk of “died”", "mean (SD)", mean)]
        lines += [("predicted risk of “died”", "median (quartiles)", quartiles)]
    for column in data.columns:
        values = file[column]
        if values.nunique() > 12:
            mean, quartiles = described(values)
            lines += [(column, "mean (SD)", mean), (column, "median (quartiles)", quartiles)]
        else:
            lines += [(column, value, counted(np.asarray(values == value))) for value in sorted(values.unique())]
    compared.same("characteristic", [line[0] for line in lines])
    compared.same("value", [line[1] for line in lines])
    assert list(frame)[2:] == [f"rows: {name}" for name in groups]
    for name, which in groups.items():
        compared.same(f"rows: {name}", [line[2](which) for line in lines])
