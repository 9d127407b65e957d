"""Twins of bins and curves of the confidence, or of an event's risk."""

import math

import by_hand
import numpy as np
from compared import twin
from scipy.stats import binom, norm


def stars(data, model, whole=True):
    """Return one line per bin of the diagram: 15 of equal width, for any declared outputs."""
    scores, outcomes = data.claim(model)
    edges, kept, lines = by_hand.edges_of(data.bins), model.kept, []
    for b, here in by_hand.cells_of(scores, edges).items():
        line = {
            "bin": b,
            "lower": edges[b],
            "upper": edges[b + 1],
            "count": len(here),
            "share": len(here) / len(scores),
            "confidence": np.mean(scores[here]),
            "accuracy": np.mean(outcomes[here]),
        }
        if whole:
            line["delta"] = line["top_label"] = math.nan
            if kept.predicted is not None and not data.of_event:
                # Mean over the predicted classes, by their rows, of how far each is off in this bin.
                off = 0.0
                for c in range(len(kept.names)):
                    mine = [i for i in here if kept.predicted[i] == c]
                    off += abs(sum(float(outcomes[i]) - float(scores[i]) for i in mine))
                line["delta"] = off / len(here)
                side = 1 if line["accuracy"] > line["confidence"] else -1
                line["top_label"] = line["confidence"] + side * line["delta"]
        lines.append((line, here))
    if whole:
        _class_differences(data, kept, scores, outcomes, lines)
    return lines


def _class_differences(data, kept, scores, outcomes, lines):
    """Add how the classes of each bin differ, and what noise alone shows: sums over binomial laws, cell by cell."""
    cells = []
    for line, here in lines:
        line |= dict.fromkeys(("class_difference", "class_edge", "class_p", "null_low", "null_high"), math.nan)
        mine = []
        if kept.predicted is not None and not data.of_event:
            mine = [[i for i in here if kept.predicted[i] == c] for c in range(len(kept.names))]
        mine = [rows for rows in mine if rows]
        cells.append(mine if len(mine) > 1 and len(here) >= 10 else [])
    tested = sum(bool(mine) for mine in cells)
    for (line, here), mine in zip(lines, cells, strict=True):
        if not mine:
            continue
        n, gap = len(here), line["accuracy"] - line["confidence"]
        off, found = 0.0, {"own": [0.0, 0.0], "diagonal": [0.0, 0.0]}
        for rows in mine:
            size, says = len(rows), float(np.mean(scores[rows]))
            off += abs(float(np.sum(outcomes[rows])) - size * (says + gap)) / n
            true, k = min(max(says + gap, 0.0), 1.0), np.arange(size + 1)
            mass = binom.pmf(k, size, true)
            for about, centre in (("own", true), ("diagonal", says)):
                away = np.abs(k - size * centre) / n
                found[about][0] += mass @ away
                found[about][1] += mass @ away**2 - (mass @ away) ** 2
        if not found["own"][1] > 1e-15:
            continue
        z, (mean, variance), (middle, width) = norm.isf(0.05 / tested), found["own"], found["diagonal"]
        line["class_difference"] = off
        line["class_edge"] = mean + z * math.sqrt(variance)
        line["class_p"] = min(1.0, tested * norm.sf((off - mean) / math.sqrt(variance)))
        line["null_low"] = max(0.0, middle - z * math.sqrt(width))
        line["null_high"] = middle + z * math.sqrt(width)


def bands(compared, data, model_of, low="band_low", high="band_high"):
    """Check that a calibrated model's share is between the 5 and 95 % points of its count, up to a row or two."""
    wrong = []
    for line in compared.frame.to_dict("records"):
        scores, _ = data.claim(model_of(line))
        here = scores[by_hand.cells_of(scores, by_hand.edges_of(data.bins))[line["bin"]]]
        ends = [by_hand.quantile_of_count(here, q) / len(here) for q in (0.05, 0.95)]
        wrong.append(max(abs(line[low] - ends[0]), abs(line[high] - ends[1])) > 1.01 / len(here))
    compared.holds(~np.array(wrong), low, high)


@twin("bins")
def banded(compared, data):
    lines = [line for line, _ in stars(data, data.base)]
    for line in lines:
        ends = by_hand.clopper_pearson(round(line["count"] * line["accuracy"]), line["count"])
        line["accuracy_low"], line["accuracy_high"] = ends
    compared.all_same(lines)
    compared.same("model", [data.title] * len(lines))
    bands(compared, data, lambda line: data.base)


@twin("reliability")
def reliability(compared, data):
    lines = []
    for title, model in data.models.items():
        for line, _ in stars(data, model, whole=not data.of_event):
            line = {"model": title, **line}
            if data.of_event:
                count, seen = line["count"], line.pop("accuracy")
                del line["share"]
                ends = by_hand.clopper_pearson(round(count * seen), count)
                line |= {"risk": line.pop("confidence"), "observed": seen, "low": ends[0], "high": ends[1]}
            lines.append(line)
    compared.all_same(lines)
    if data.of_event:
        bands(compared, data, lambda line: data.models[line["model"]])


@twin("movement")
def movement(compared, data):
    title = list(data.models)[1]
    before, after = data.base, data.models[title]
    lines = []
    if data.of_event:
        # A mark and its counterpart are of the same rows: those of a bin of the risk before.
        for stage, model in (("before", before), ("after", after)):
            scores = model.probs[:, 1]
            for line, here in stars(data, before, whole=False):
                seen = line.pop("accuracy")
                line |= {"risk": np.mean(scores[here]), "observed": seen}
                del line["confidence"]
                lines.append({"calibrator": title, "stage": stage, **line})
    else:
        for stage, model in (("before", before), ("after", after)):
            lines += [{"calibrator": title, "stage": stage, **line} for line, _ in stars(data, model, whole=False)]
    compared.all_same(lines)


def looked_at(data):
    """Return the focused bin: the chosen one, otherwise the one that contributes most to the error."""
    lines = stars(data, data.base)
    chosen = data.scene.focus.bin
    for line, here in lines:
        if line["bin"] == chosen:
            return line, here
    off = [
        line["share"]
        * (line["delta"] if line["delta"] == line["delta"] else abs(line["accuracy"] - line["confidence"]))
        for line, _ in lines
    ]
    return lines[int(np.argmax(off))]


@twin("bin-models")
def bin_models(compared, data):
    place, _ = looked_at(data)
    lines = []
    for title, model in data.models.items():
        scores, outcomes = data.claim(model)
        last = place["upper"] >= 1
        here = [i for i, s in enumerate(scores) if place["lower"] <= s and (s < place["upper"] or last)]
        n, right = len(here), sum(bool(outcomes[i]) for i in here)
        line = {"model": title, "rows": n, "says": math.nan, "right": math.nan}
        line |= {"right_low": math.nan, "right_high": math.nan}
        if n:
            line |= {"says": sum(scores[here]) / n, "right": right / n}
            line["right_low"], line["right_high"] = by_hand.clopper_pearson(right, n)
        lines.append(line)
    compared.all_same(lines)


@twin("bin")
def bin_by_class(compared, data):
    _, here = looked_at(data)
    model, lines = data.base, []
    seen = sorted({int(model.predicted[i]) for i in here})
    for c in seen:
        mine = [i for i in here if model.predicted[i] == c]
        says, right = np.mean(model.h[mine]), np.mean(model.right[mine])
        low, high = by_hand.clopper_pearson(sum(model.right[mine]), len(mine), 1 - 0.1 / len(seen))
        lines.append(
            {
                "model": data.title,
                "class": model.names[c],
                "count": len(mine),
                "confidence": says,
                "accuracy": right,
                "gap": right - says,
                "right_low": low,
                "right_high": high,
                "stands_out": not low <= says <= high,
            }
        )
    lines.sort(key=lambda line: -max(line["right_low"] - line["confidence"], line["confidence"] - line["right_high"]))
    compared.all_same(lines)


def row_lines(data, chosen, probabilities=False):
    """Return the file's content for these rows: row, predicted, label, confidence, correct, metadata columns."""
    file, model, lines = data.file, data.base, []
    for i in chosen:
        line = {"row": i}
        if data.of_event:
            line |= {"risk": file["risk"][i], "event": bool(file["died"][i])}
        elif data.name == "levels":
            line |= {"confidence": file["confidence"][i], "correct": bool(file["correct"][i])}
        else:
            told = file.loc[i, list(model.names)].astype(float)
            line |= {"predicted": told.idxmax(), "label": file["label"][i], "confidence": told.max()}
            line["correct"] = line["predicted"] == line["label"]
            line |= {f"P({name})": told[name] for name in model.names} if probabilities else {}
        lines.append(line | {name: file[name][i] for name in data.columns})
    return lines


@twin("bin-rows")
def bin_rows(compared, data):
    _, here = looked_at(data)
    code = data.scene.focus.code
    if data.scene.focus.bin is not None and code is not None and not data.of_event:
        here = [i for i in here if data.base.predicted[i] == code]
    compared.all_same(row_lines(data, here))


@twin("levels")
def levels(compared, data):
    lines = []
    for title, model in data.models.items():
        kept = model.kept
        cells = by_hand.values_of(kept.h)
        if len(cells) > 50:
            continue
        mine = []
        for here in cells.values():
            h, n, k = float(kept.h[here[0]]), len(here), int(sum(kept.right[here]))
            low, high = by_hand.clopper_pearson(k, n)
            line = {"model": title, "confidence": h, "rows": n, "share": n / len(kept), "right": k / n}
            mine.append({**line, "low": low, "high": high, "p": by_hand.share_p(k, n, h)})
        for line, p in zip(mine, by_hand.holm([line["p"] for line in mine]), strict=True):
            side = "overconfident" if line["right"] < line["confidence"] else "underconfident"
            line |= {"p_holm": p, "stands_out": side if p <= 0.05 else ""}
        lines += mine
    compared.all_same(lines, rel=1e-6)


@twin("risk-groups")
def risk_groups(compared, data):
    scores, outcomes = data.claim(data.base)
    lines = []
    for line, here in stars(data, data.base, whole=False):
        n, k = len(here), int(sum(outcomes[here]))
        low, high = by_hand.clopper_pearson(k, n)
        calm = by_hand.clopper_pearson(sum(scores[here]), n)
        p = by_hand.count_p(scores[here], k) if n >= 10 else math.nan
        del line["share"]
        few = (calm[1] - calm[0]) / 2 > 0.1 or n < 10
        lines.append({"model": data.title, **line, "low": low, "high": high, "p": p, "too_few": few})
    found = by_hand.corrected([line["p"] for line in lines], data.kinds)
    for line, p in zip(lines, found, strict=True):
        side = "overconfident" if line["accuracy"] < line["confidence"] else "underconfident"
        line |= {"p_corrected": p, "stands_out": side if p <= 0.05 else ""}
    compared.all_same(lines, rel=0.005)


@twin("selective")
def selective(compared, data):
    lines = []
    for title, model in data.models.items():
        kept = model.kept
        for t in sorted(set(kept.h), reverse=True):
            sure = kept.h >= t
            n, wrong = int(sum(sure)), int(sum(~kept.right[sure]))
            low, high = by_hand.clopper_pearson(wrong, n)
            line = {"model": title, "threshold": t, "coverage": n / len(kept), "rows": n, "risk": wrong / n}
            lines.append({**line, "low": low, "high": high})
    compared.all_same(lines)


@twin("overall")
def overall(compared, data):
    lines, shown = [], compared.frame.to_dict("records")
    for (title, model), line in zip(data.alike.items(), shown, strict=True):
        says, right = (float(np.mean(part)) for part in data.claim(model))
        sides = ("too high", "too low") if data.of_event else ("overconfident", "underconfident")
        inside = line["low"] - 1e-9 <= says <= line["high"] + 1e-9
        lines.append(
            {
                "model": title,
                "rows": len(model),
                "claimed": says,
                "right": right,
                "gap": right - says,
                "direction": "" if inside else sides[says < right],
            }
        )
    compared.all_same(lines)
    n, frame = np.array([line["rows"] for line in lines]), compared.frame
    # Ends of a score interval at about 90 %: outside of 80 %, inside of 99 %, but where another end is taken over.
    for line, rows in zip(shown, n, strict=True):
        k = round(line["right"] * rows)
        inner, outer = by_hand.clopper_pearson(k, rows, 0.7), by_hand.clopper_pearson(k, rows, 0.99)
        assert outer[0] < line["low"] < inner[0], line
        assert inner[1] < line["high"] < outer[1], line
    compared.holds((frame["low"] < frame["right"]) & (frame["right"] < frame["high"]), "low", "high")
    claims = [data.claim(model) for model in data.alike.values()]
    own = [by_hand.count_p(scores, int(sum(outcomes))) for scores, outcomes in claims]
    sides = zip(own, shown, strict=True)
    compared.holds([by_hand.shares_a_level(p, line, line["claimed"]) for p, line in sides], "p")
    compared.words("headline", "basis", "method")


@twin("hero")
def hero(compared, data):
    """Check rows near a place: from 3 to 12 points on either side (log-odds for a risk), until there are 100."""
    lines, frame = [], compared.frame
    base = data.base.kept
    for title, model in data.models.items():
        if title not in set(frame["model"]):
            continue
        scores, outcomes = data.claim(model)
        updated = data.of_event and title != data.title
        if data.of_event:
            steps = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01]
            every = np.sort(base.probs[:, 1])
            top = every[math.ceil(0.999 * len(every)) - 1]
            step = next(s for s in [*steps, 9] if 100 * s >= top or s == 0.01)
            places = [round(i * step, 4) for i in range(101)]
        else:
            places = [i / 100 for i in range(101)]
        near_of = data.claim(data.base)[0] if updated else scores
        if updated:
            near_of = data.base.probs[:, 1][model.answered]
        values = sorted(set(map(float, near_of)))
        few = len(values) <= 50 and len(near_of) / len(values) >= 10 and not data.of_event
        for place in places:
            unit = 0.04 * min(max(place, 1e-4), 1 - 1e-4) * (1 - min(max(place, 1e-4), 1 - 1e-4))
            unit = unit if data.of_event else 0.01
            lines.append((title, place, near_of, scores, outcomes, unit, values, few))
    lines = [line for line in lines if is_near(*line[1:3], line[5])]
    assert len(lines) == len(frame)
    compared.same("model", [line[0] for line in lines])
    compared.same("confidence", [line[1] for line in lines])
    told = []
    for shown, (_, _, near_of, scores, outcomes, *_) in zip(frame.to_dict("records"), lines, strict=True):
        # The window is the one that lower and upper close in, and its numbers are of the rows in it.
        ends = shown["lower"] - 1e-9, shown["upper"] + 1e-9
        updated = near_of is not scores
        inside = [i for i, s in enumerate(near_of) if ends[0] <= s <= ends[1]] if not updated else None
        if updated:
            told.append(None)
            continue
        n, k = len(inside), int(sum(outcomes[inside]))
        low, high = by_hand.clopper_pearson(k, n)
        told.append(
            {
                "rows": n,
                "share": n / len(scores),
                "claimed": np.mean(scores[inside]),
                "right": k / n,
                "low": low,
                "high": high,
                "lower": min(scores[inside]),
                "upper": max(scores[inside]),
            }
        )
    known = [i for i, line in enumerate(told) if line]
    for name in ("rows", "share", "claimed", "right", "low", "high", "lower", "upper"):
        part = frame[name].to_numpy()[known]
        assert np.allclose(part, [told[i][name] for i in known], rtol=1e-9), name
        compared.holds(True, name)
        compared.seen[name] = "recomputed"
    for shown, (_, place, near_of, scores, _, unit, _, few) in zip(frame.to_dict("records"), lines, strict=True):
        if near_of is scores and not few:
            window(shown, place, scores, unit)
    for (title, place), shown in zip(zip(frame["model"], frame["confidence"], strict=True), frame.to_dict("records"),
                                     strict=True):  # fmt: skip
        if data.of_event and title != data.title:
            after_update(data, title, place, shown, frame)
    compared.holds(frame["reach"] >= 0, "reach", "near")
    off = (frame["claimed"] < frame["low"]) | (frame["claimed"] > frame["high"])
    compared.holds(off | ~frame["shown"], "shown")
    compared.words("headline", "basis", "difference", "range")


def is_near(place, scores, unit):
    """Return True if a row has about this score: within 3 units, or half a point if scores take few values."""
    values = set(map(float, scores))
    few = len(values) <= 50 and len(scores) >= 10 * len(values)
    return min(abs(value - place) for value in values) <= (min(0.005, 3 * unit) if few else 3 * unit) + 1e-6


def window(shown, place, scores, unit):
    """Check that the window is as narrow as possible, and no wider than its rows allow."""
    reached = [i for i, s in enumerate(scores) if abs(s - place) <= 3 * unit + 1e-6]
    assert shown["near"] == bool(reached), shown
    if not reached:
        return
    best = None
    for width in range(3, 13):
        here = [float(s) for s in scores if abs(s - place) <= width * unit + 1e-6]
        if abs(sum(here) / len(here) - place) <= 3 * unit + 1e-6:
            best = (width * unit, len(here))
            if len(here) >= 100:
                break
    if best:
        assert abs(best[0] - shown["reach"]) < 1e-9, (shown, best)
        assert best[1] == shown["rows"], (shown, best)


def after_update(data, title, place, shown, frame):
    """Check that a recalibrated model's line has the same rows: their risk after, and their observed frequency."""
    first = frame[(frame["model"] == data.title) & (frame["confidence"] == place)].iloc[0]
    base, model = data.base, data.models[title]
    old, new = base.probs[:, 1], model.probs[:, 1]
    kept = model.answered & (old >= first["lower"] - 1e-9) & (old <= first["upper"] + 1e-9)
    if not kept.any() or not model.answered.all():
        return  # if rows are left out, the window is searched again
    assert shown["rows"] == kept.sum()
    assert abs(shown["claimed"] - new[kept].mean()) < 1e-9, (title, place)
    assert abs(shown["right"] - (base.label[kept] == 1).mean()) < 1e-9, (title, place)
