"""Checks of scores: their type, range and sums, missing and repeated values, and confidences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core.predictions.event_names import names_decide, words_of
from calib_core.predictions.predictions import InputError, Predictions
from calib_core.predictions.proper_scores import FLOOR_LOSS
from calib_core.predictions.validation import KEPT, RESCALED
from calib_core.readers.checks.shuffled_labels import CHANCE, association
from calib_core.readers.checks.subject import Subject
from calib_core.readers.conversion import as_probabilities
from calib_core.readers.messages import listed, quoted, shown
from calib_core.readers.proposal.answer_words import (
    SOURCES,
    confidences,
    phrase_key,
    phrases,
    ratings,
    shares_of,
    stands_for,
)
from calib_core.readers.proposal.class_columns import class_called, class_side, is_share, other_class
from calib_core.readers.proposal.column_roles import called_percent, class_of, log_base, role
from calib_core.readers.proposal.label_codes import coded_labels, digits, label_texts, positive_of, unknown_label
from calib_core.readers.proposal.named_blocks import class_decided
from calib_core.readers.proposal.score_columns import check_scores, missing_values
from calib_core.readers.proposal.score_survey import Survey, evidence, row_keys, survey
from calib_core.readers.reading import ScoreKind
from calib_core.readers.table_findings import Finding
from calib_core.readers.text_encoding import missing_text, written_as
from calib_core.readers.tool_shapes import neither_is_meant
from calib_core.text import percent, several

_WORST_ROWS = 2000
"""Number of rows passed to the rounding rule: the worst rows decide, so a copy of all rows is not needed."""


def missing(subject: Subject) -> Iterator[Finding]:
    gaps = missing_values(subject.table, subject.reading)
    if not gaps or (gaps.keys() == {subject.reading.correct} and neither_is_meant(subject.table)):
        return
    rows = np.flatnonzero(np.logical_or.reduce(list(gaps.values())))
    total = len(next(iter(gaps.values())))
    where = f"{len(rows):,} of {total:,} rows lack a value, in {listed(gaps, 4)}: {subject.table.places(rows)}."
    if subject.reading.missing == "error":
        yield Finding(
            "problem",
            "missing",
            where,
            {"missing": "exclude"},
            f"Leave out {several(len(rows))}",
        )
    else:
        yield Finding(
            "warning", "missing", f"{where} They are left out.", {"missing": "error"}, "Do not leave rows out"
        )


def written_texts(subject: Subject) -> Iterator[Finding]:
    """Report numbers written with percent signs or decimal commas, and how they are read."""
    reading, columns = subject.reading, subject.table.columns
    named = (*reading.scores, reading.confidence, reading.weights)
    found: dict[str, list[str]] = {}
    words = {reading.confidence} if reading.kind == "words" else set()
    for name in (name for name in named if name is not None and name in columns and name not in words):
        found.setdefault(written_as(columns[name]), []).append(name)
    for writing, what in (("percent", "percent signs"), ("comma", "decimal commas")):
        if writing in found:
            names = found[writing]
            column = columns[names[0]]
            first = int(np.flatnonzero(~missing_text(column))[0])
            value = float(subject.table.numeric(names[0])[first])
            verb, example = "are" if names[1:] else "is", f"{quoted(str(column[first]))} is read as {value:.6g}"
            yield Finding("note", writing, f"{listed(names, 4)} {verb} written with {what}: {example}.")


def kind(subject: Subject) -> Iterator[Finding]:
    kind, seen = evidence(subject.scores, subject.survey)
    chosen = subject.reading.kind
    if subject.scores.shape[1] == 1 and chosen == "log-probabilities" and subject.survey.high <= 0:
        kind = chosen  # logits of a rare event can be negative, too
    if subject.scores.shape[1] == 1:
        yield _one_column(subject)
        yield from _assumed_of_one(subject)
    elif chosen == "logits":
        yield from _other_logarithms(subject)
    if len(subject.reading.classes) == 1:
        yield Finding("problem", "one-class", "There is only one class. At least two classes are needed.")
    yield from _called_otherwise(subject, kind, seen)
    if kind is not None and kind != chosen:
        yield Finding(
            # The softmax of log-probabilities whose exponentials sum to 1 is the probabilities themselves.
            "problem" if subject.refused else "note" if (kind, chosen) == _SAME else "warning",
            kind,
            f"The scores look like {kind} ({seen}), but they are read as {chosen}.",
            {"kind": kind},
            f"Read as {kind}",
        )
    elif subject.refused:
        yield from _out_of_range(subject, seen)
    elif kind is not None and chosen != "probabilities":
        yield Finding(
            "note",
            "kind",
            f"The scores are read as {chosen} ({seen}).",
            {"kind": "probabilities"},
            "Read as probabilities",
        )


_SAME = ("log-probabilities", "logits")


def _assumed_of_one(subject: Subject) -> Iterator[Finding]:
    """Report what the name and values of a single score column leave open: hundredths, margins, logarithms."""
    name, chosen, found = subject.reading.scores[0], subject.reading.kind, subject.survey
    if chosen == "percentages":
        yield from _percentages(subject.scores[:, 0], name, found)
    elif chosen == "probabilities" and found.high <= 1 and _hundred_times(subject, name):
        yield _hundredths(subject, name, found.low, found.high)
    elif chosen in ("logits", "log-probabilities") and (base := log_base(name)):
        yield _other_base_of_logs(name, base, chosen)
    elif chosen == "logits" and role(name) != "logits" and not set(words_of(name)) & _LOG_ODDS:
        logs = found.high <= 0
        yield Finding(
            "warning",
            "margins",
            f"{quoted(name)} ({found.low:.4g} to {found.high:.4g}) is read as log odds and converted by the logistic "
            "function. "
            + (
                "Or are they logarithms of probabilities?"
                if logs
                else "Decision values (margins), as of a support vector machine, are not log odds: fit Platt scaling "
                "on other rows first."
            ),
            {"kind": "log-probabilities"} if logs else None,
            "Read as log probabilities" if logs else None,
        )


_LOG_ODDS = frozenset({"logit", "logits", "logodds", "odds"})


def _hundred_times(subject: Subject, name: str) -> bool:
    """True if a column is called percentages, and its values have no percent signs, which settle it."""
    column = subject.table.columns.get(name)
    return called_percent(name) and (column is None or written_as(column) != "percent")


def _hundredths(subject: Subject, name: str, low: float, high: float) -> Finding:
    return Finding(
        "warning",
        "called",
        f"{quoted(name)} is called percentages but is read as probabilities: values from {low:.4g} to {high:.4g}. The "
        "two readings differ by a factor of 100.",
        {"kind": "percentages"},
        "Read as percentages",
    )


def _percentages(values: NDArray[Any], name: str, found: Survey) -> Iterator[Finding]:
    """Report numbers read as percentages, and fractions among them."""
    yield Finding(
        "note",
        "kind",
        f"{quoted(name)} is read as percentages: values from {found.low:.4g} to {found.high:.4g}.",
        {"kind": "probabilities"},
        "Read as probabilities",
    )
    yield from _mixed_scales(values, name)


def _mixed_scales(values: NDArray[Any], name: str) -> Iterator[Finding]:
    """Report percentages next to fractions such as 0.9: nothing lies between 1 and the others."""
    known = values[np.isfinite(values)]
    small, large = known[(known > 0) & (known <= 1)], known[known > 1]
    if len(small) and len(large) and small.max() >= _LEAST_FRACTION and large.min() >= _LEAST_PERCENT:
        yield Finding(
            "warning",
            "mixed",
            f"{len(small):,} of {len(known):,} values of {quoted(name)} are at most 1 (such as {small.max():.4g}), all "
            f"others at least {large.min():.4g}. All are read as percentages. If the small ones are probabilities, "
            "multiply them by 100 in the file.",
        )


_LEAST_FRACTION, _LEAST_PERCENT = 0.1, 10


def _other_logarithms(subject: Subject) -> Iterator[Finding]:
    """Report rows of logarithms to base 2 or 10 whose powers sum to 1: the softmax would change them."""
    if subject.survey.high > 1e-6 or subject.survey.low >= 0:
        return
    some = subject.scores[:_WORST_ROWS].astype(np.float64)
    for base in (2, 10):
        if np.mean(np.abs((float(base) ** some).sum(axis=1) - 1) < 0.02) > _NEARLY_ALL:
            yield _other_base_of_logs(subject.reading.scores[0], base, "logits")


_NEARLY_ALL = 0.9


def _other_base_of_logs(name: str, base: int, chosen: str) -> Finding:
    what, remedy = "probabilities", "log probabilities"
    if "odds" in words_of(name):
        what, remedy = "odds", "logits"
    return Finding(
        "warning",
        "log-base",
        f"{quoted(name)} looks like logarithms to base {base} of {what}, but is read as {chosen}. Multiply the scores "
        f"by {np.log(base):.6g} in the file, and read them as {remedy}.",
    )


def _called_otherwise(subject: Subject, kind: ScoreKind | None, seen: str) -> Iterator[Finding]:
    """Report columns that are called logits but read as probabilities because of their values."""
    name = subject.reading.scores[0]
    prefix = class_of(name) if len(subject.reading.scores) > 1 else None
    called = role(prefix[0] if prefix else name)
    if kind != "probabilities" or subject.reading.kind != kind or called not in ("logits", "log-probabilities"):
        return
    yield Finding(
        # A single column of small logits can be in [0, 1]; rows of logits do not sum to 1.
        "warning" if subject.scores.shape[1] == 1 else "note",
        "called",
        f"{quoted(name)} is called {called} but is read as probabilities: {seen}.",
        {"kind": called},
        f"Read as {called}",
    )


def _one_column(subject: Subject) -> Finding:
    """Report the class that a single score column belongs to; a warning unless the names decide it."""
    positive, negative = subject.reading.classes[-1], subject.reading.classes[0]
    score, label = subject.reading.scores[0], subject.reading.label[0]
    this, other = f"of class {quoted(positive)}", f"of {quoted(negative)}"
    decided = class_decided(subject.table, score, label, (negative, positive))
    if codes := {positive, negative} == {"0", "1"}:
        this, other = (f"that {quoted(label)} is {value}" for value in (positive, negative))
    if decided is not None and decided.name == positive:
        sure, why = True, f", by the values of {quoted(decided.column)}"
    elif codes:
        opposite = other_class(score, label)
        why = _OPPOSITE[opposite]
        if opposite and not class_side(label):
            why = ", because it is named like the class of 0"
        sure = opposite is False or bool(opposite and class_side(score) * class_side(label))
    else:
        sure = bool(class_called(score, (negative, positive))) or names_decide((negative, positive))
        why = "" if sure else ", but no name assigns it to one of the two classes"
    return Finding(
        "note" if sure else "warning",
        "binary",
        f"{quoted(score)} is read as the probability {this}{why}.",
        {"classes": (positive, negative), "label_coding": "names"},
        f"It is the probability {other}",
    )


_OPPOSITE = {
    False: "",
    True: ", because their names refer to opposite outcomes",
    None: ", but their names may refer to opposite outcomes",
}


def _out_of_range(subject: Subject, seen: str) -> Iterator[Finding]:
    problem = subject.refused
    assert problem is not None
    others: dict[ScoreKind, str] = {"percentages": "Read as percentages", "logits": "Read as logits"}
    offers = [kind for kind in others if kind != subject.reading.kind]
    if subject.survey.low < 0 or subject.survey.high > 100:
        offers = [kind for kind in offers if kind == "logits"]
    if not offers:
        yield Finding("problem", "range", problem)
    for i, kind in enumerate(offers):
        message = f"{problem} ({seen})" if i == 0 else f"Or are they {kind}?"
        yield Finding("problem", "range", message, {"kind": kind}, others[kind])


def sums(subject: Subject) -> Iterator[Finding]:
    scale = {"probabilities": 1.0, "percentages": 100.0}.get(subject.reading.kind)
    if scale is None or subject.scores.shape[1] == 1:
        return
    off = np.nan_to_num(np.abs(subject.survey.sums / scale - 1))
    rows = np.flatnonzero(off > KEPT)
    if not len(rows):
        return
    most = float(off.max())
    text = f"{len(rows):,} of {len(off):,} rows do not sum to {scale:g}"
    if most <= RESCALED:
        yield Finding("note", "rescaled", f"{text}, by at most {most:.2g}; they are rescaled.")
    elif _explained_by_rounding(subject, rows[np.argsort(-off[rows], kind="stable")[:_WORST_ROWS]]):
        yield Finding(
            "warning",
            "rescaled",
            f"{text}, by at most {most:.2g}, consistent with rounding. They are rescaled; use unrounded values if "
            "possible.",
        )
    else:
        yield _row_sums(subject, off, scale)


def _explained_by_rounding(subject: Subject, rows: NDArray[np.intp]) -> bool:
    """True if rounding explains the row sums; the rule is in Predictions."""
    try:
        Predictions(as_probabilities(subject.scores[rows], subject.reading), np.zeros(len(rows), dtype=int))
    except InputError:
        return False
    return True


def _row_sums(subject: Subject, off: NDArray[np.float64], scale: float) -> Finding:
    far = np.flatnonzero(off > RESCALED)
    worst = far[np.argsort(-off[far], kind="stable")]
    kind, seen = evidence(subject.scores, subject.survey)
    change: dict[str, Any] | None = {"kind": kind} if kind not in (None, subject.reading.kind) else None
    label = f"Read as {kind}" if change else None
    if change is None and (change := _as_models(subject)) is not None:
        label = f"Read as {len(subject.reading.scores)} models, one column each"
    return Finding(
        "problem",
        "row-sums",
        f"{len(far):,} of {len(off):,} rows do not sum to {scale:g} ({seen}). The worst are "
        f"{subject.table.places(worst)}; the first of them sums to {subject.survey.sums[worst[0]]:.6g}.",
        change,
        label,
    )


def _as_models(subject: Subject) -> dict[str, Any] | None:
    """Return the change that reads each column as one model's probability of the same event; None if impossible."""
    scores, label = subject.reading.scores, subject.reading.label
    texts = {str(text) for text in label_texts(subject.table.column(label[0]))} - {""} if len(label) == 1 else set()
    if len(scores) < 2 or len(texts) != 2 or any(not is_share(subject.table, name) for name in scores):
        return None
    positive = positive_of(sorted(texts))
    classes = (*(texts - {positive}), positive)
    return {"score_sets": scores, "classes": classes, "label_coding": "names", "model": scores[0]}


def repeated_rows(subject: Subject) -> Iterator[Finding]:
    n = len(subject.scores)
    duplicates, tied = subject.survey.duplicates, int(subject.survey.tied.sum())
    about = (subject.scores, subject.predicted, subject.labels.codes)
    # The predicted class follows from the scores; a tie rounds to either.
    copies, times = copied(*about), _times_exported(subject.scores, np.zeros(n), subject.labels.codes)
    if n > 1 and duplicates == n - 1:
        yield Finding(
            "warning", "constant", f"All {n:,} rows have the same scores. The model seems to ignore its input."
        )
    elif copies:
        yield Finding("warning", "duplicates", _copied(max(copies, duplicates), n, "scores"))
    elif times > 1:
        yield Finding("warning", "duplicates", _APPENDED.format(times))
    elif subject.scores.shape[1] > 1 and duplicates:
        yield Finding("note", "duplicates", f"{duplicates:,} of {n:,} rows have the scores of an earlier row.")
    if tied:
        yield Finding(
            "note",
            "ties",
            f"In {tied:,} of {n:,} rows, two classes tie for the largest score; the first is taken as the prediction.",
        )
    yield from zeros(subject)


_LARGEST = 10
"""More equal rows than these are coarse scores rather than copies, unless all such rows agree."""
_BY_CHANCE = 0.01


def copied(scores: NDArray[np.generic], predicted: NDArray[np.generic], labels: NDArray[np.generic]) -> int:
    """Number of rows that look like copies of other rows: equal scores to nine digits, and always equal labels.

    0 if labels of rows with different, similar scores agree so often that chance explains the others (p above 1 %).

    >>> p, y = np.random.default_rng(0).random((40, 1)), np.arange(40) % 2
    >>> copied(np.tile(p, (2, 1)) + 1e-10, np.zeros(80), np.tile(y, 2)), copied(p, np.zeros(40), y)
    (40, 0)
    >>> copied(np.ones((80, 1)), np.zeros(80), np.ones(80))
    0
    """
    if len(scores) < 2 or not np.isfinite(scores).all():
        return 0
    values = scores.astype(np.float64, copy=False)
    # Certain predictions are alike without being copies: 0 and 1 to six digits.
    sure = [np.isclose(values.max(axis=1), end, rtol=1e-6, atol=0) for end in (1, 100)]
    unsure = ~np.logical_or(*sure) & ((values.shape[1] > 1) | (np.abs(values[:, 0]) > 1e-6))
    values, predicted, labels = values[unsure], np.asarray(predicted)[unsure], np.asarray(labels)[unsure]
    if len(values) < 2:
        return 0
    key = values @ np.random.default_rng(0).uniform(0.5, 1.5, values.shape[1])
    order = np.lexsort((key, values.max(axis=1).round(6), predicted))
    key, labels = key[order], labels[order]
    same = np.isclose(key[1:], key[:-1], rtol=1e-9, atol=1e-9) & (np.diff(predicted[order]) == 0)
    agree = labels[1:] == labels[:-1]
    run = np.concatenate([[0], np.cumsum(~same)])
    few = same & (np.bincount(run)[run[1:]] <= _LARGEST)
    many = same & ~few
    n, apart = int(few.sum()), int((~agree[~same]).sum())
    if not same.any() or not agree[few].all():
        return 0
    # Two standard errors fewer disagreements than were seen: a few are no proof.
    usual = 1 - max(0.0, apart - 2 * apart**0.5) / max(1, int((~same).sum()))
    # Many rows of one score may agree because it is 0 or 1, so that they are evidence only once.
    if agree[many].all() and usual ** (n + len(np.unique(run[1:][many]))) < _BY_CHANCE:
        return int(same.sum())
    return n if n and usual**n < _BY_CHANCE else 0


_FEWEST_DIFFERENT = 50
"""With fewer different rows, numbers of equal rows may be multiples of 2 without copies."""


_APPENDED = (
    "Every pair of scores and label occurs {0} times, or a multiple of {0} times. The rows look like copies, as if a "
    "file was appended to itself, which make intervals too narrow."
)


def _times_exported(scores: NDArray[Any], predicted: NDArray[Any], labels: NDArray[Any]) -> int:
    """Return how often every row occurs, such as 2 if a file was appended to itself; 1 without such a number.

    >>> p, y = np.linspace(0.1, 0.9, 60)[:, None], np.arange(60) % 2
    >>> _times_exported(np.tile(p, (3, 1)), np.zeros(180), np.tile(y, 3)), _times_exported(p, np.zeros(60), y)
    (3, 1)
    """
    if len(scores) < 2 * _FEWEST_DIFFERENT:
        return 1
    # Rounded, because a file that was written twice can differ in the last digits.
    rows = pd.DataFrame({"scores": row_keys(scores.round(8)), "predicted": predicted, "label": labels})
    counts = rows.value_counts(sort=False).to_numpy()
    return int(np.gcd.reduce(counts)) if len(counts) >= _FEWEST_DIFFERENT else 1


def _copied(copies: int, n: int, what: str) -> str:
    return (
        f"{copies:,} of {n:,} rows have the {what} of an earlier row, and always its label. They look like copies, "
        "which make intervals too narrow."
    )


def zeros(subject: Subject) -> Iterator[Finding]:
    if subject.reading.kind not in ("probabilities", "percentages"):
        return
    codes = subject.labels.codes
    known = np.flatnonzero(codes >= 0)
    if subject.scores.shape[1] == 1:
        p = subject.scores[:, 0] / (100 if subject.reading.kind == "percentages" else 1)
        rows = np.flatnonzero(((codes == 1) & (p == 0)) | ((codes == 0) & (p == 1)))
    else:
        rows = known[subject.scores[known, codes[known]] == 0]
    if len(rows):
        yield Finding(
            "warning",
            "zeros",
            f"The true class has probability exactly 0 in {len(rows):,} of {len(codes):,} rows: "
            f"{subject.table.places(rows)}. Each log loss is capped at {FLOOR_LOSS}, as for any probability that is "
            "nearly 0. Log loss and temperature scaling depend strongly on these rows; use logits if possible.",
        )


_FEWEST_ROWS = 50
"""With fewer rows, poor accuracy is no evidence."""
_MOST_CLASSES = 256
"""With more classes, predicted classes are not compared with shuffled labels (n x K numbers)."""
_BETTER = 0.2
"""Minimum gain in accuracy for another base to be evidence without the ranges of the codes."""


def confidence(subject: Subject) -> Iterator[Finding]:
    name = str(subject.reading.confidence)
    values = confidences(subject.table, subject.reading)
    found = survey(values)
    try:
        check_scores(subject.table, subject.reading, values)
    except InputError as e:
        yield from _confidences_out_of_range(subject, str(e), found.low, found.high)
    if subject.reading.kind == "percentages":
        yield from _percentages(values[:, 0], name, found)
    elif subject.reading.kind == "probabilities" and _hundred_times(subject, name):
        yield _hundredths(subject, name, found.low, found.high)
    elif subject.reading.kind == "log-probabilities":
        ends = f"{np.exp(found.low):.4g} to {np.exp(found.high):.4g}"
        message = f"{quoted(name)} is read as log probabilities, which are confidences from {ends}."
        yield Finding("note", "reader", message)
    if subject.reading.kind == "words":
        yield _words(subject, name)
    if (copies := copied(values, *_answers(subject))) > 0:
        yield Finding("warning", "duplicates", _copied(copies, len(values), "confidence"))
    elif (times := _times_exported(values, *_answers(subject))) > 1:
        yield Finding("warning", "duplicates", _APPENDED.format(times))
    if len(values) > 1 and found.duplicates == len(values) - 1:
        yield Finding("warning", "constant", f"All {len(values):,} rows have the same confidence.")
    if subject.reading.layout == "top-label":
        yield from _claims(subject)


def _words(subject: Subject, name: str) -> Finding:
    """Report the numbers that phrases stand for; a warning unless each was chosen, since they move every result."""
    known, counts = stands_for(subject.reading), phrases(subject.table.column(name))
    some = ", ".join(f"{quoted(phrase)} {percent(known[phrase])}" for phrase in counts.index[:5])
    more = f" and {len(counts) - 5} more" if len(counts) > 5 else ""
    message = f"{quoted(name)} contains words, read as: {some}{more}."
    chosen = {phrase_key(entry.rpartition("=")[0]) for entry in subject.reading.words}
    if set(counts.index) <= chosen:
        return Finding("note", "words", message)
    numbers = tuple(f"{phrase}={known[phrase]:g}" for phrase in sorted(counts.index))
    return Finding("warning", "words", f"{message} {SOURCES}", {"words": numbers}, "Accept these numbers")


def _answers(subject: Subject) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return codes of the predicted classes and of the outcomes of confidences, for comparisons between rows."""
    reading = subject.reading
    outcome = reading.correct if reading.layout == "confidence" else reading.label[0]
    predicted = reading.predicted if reading.layout == "top-label" else None
    codes = [
        np.zeros(subject.table.n_rows, dtype=np.intp)
        if name is None
        else np.asarray(pd.factorize(label_texts(subject.table.column(name)))[0])
        for name in (predicted, outcome)
    ]
    return codes[0], codes[1]


def _claims(subject: Subject) -> Iterator[Finding]:
    labels = coded_labels(subject.table, subject.reading)
    if labels.unknown.any():
        yield Finding("problem", "labels", unknown_label(subject.table, subject.reading, labels))
        return
    claimed = subject.reading.of_predicted
    predicted = coded_labels(subject.table, claimed)
    if predicted.unknown.any():
        yield Finding("problem", "labels", unknown_label(subject.table, claimed, predicted))
        return
    if other := _other_base(subject, predicted.codes, labels.codes):
        yield other
        return
    known = (labels.codes >= 0) & (predicted.codes >= 0)
    if known.any() and not (labels.codes == predicted.codes)[known].any():
        some = ", ".join(map(shown, pd.unique(label_texts(subject.table.column(str(subject.reading.predicted))))[:3]))
        yield Finding(
            "warning",
            "never-right",
            f"No prediction is right. Do predictions ({some}) and labels use the same codes?",
        )
    elif known.sum() >= _FEWEST_ROWS:
        yield from _by_chance(predicted.codes[known], labels.codes[known], len(subject.reading.classes))


def _confidences_out_of_range(subject: Subject, why: str, low: float, high: float) -> Iterator[Finding]:
    if subject.reading.kind == "probabilities" and low >= 0 and 1 < high <= 100:
        if steps := ratings(values := subject.table.numeric(str(subject.reading.confidence))):
            numbers = shares_of(steps)
            yield Finding(
                "problem",
                "range",
                f"{why} The {len(pd.unique(values))} whole numbers up to {steps[-1]} look like ratings.",
                {"kind": "words", "words": numbers},
                f"Read as ratings ({numbers[0].replace('=', ' is ')} … {numbers[-1].replace('=', ' is ')})",
            )
        message = "Or are they percentages?" if steps else why
        yield Finding("problem", "range", message, {"kind": "percentages"}, "Read as percentages")
    else:
        yield Finding("problem", "range", why)


def _other_base(subject: Subject, predicted: NDArray[np.int64], labels: NDArray[np.int64]) -> Finding | None:
    """Report predicted classes that count from 0 while labels count from 1, or the reverse."""
    reading = subject.reading
    names = (str(reading.predicted), reading.label[0])
    if reading.predicted_coding is not None or any(
        subject.table.column(name).dtype.kind not in "iuf" for name in names
    ):
        return None
    base = int(reading.label_coding == "1-based")
    claims, truth = predicted[predicted >= 0] + base, labels[labels >= 0] + base
    right = float(np.mean(predicted == labels))
    for first, codings in ((0, ("0-based", "1-based")), (1, ("1-based", "0-based"))):
        moved = float(np.mean(predicted + (1 if first == 0 else -1) == labels))
        ranges = (claims.min(), truth.min()) == (first, 1 - first) and abs(int(claims.max()) - int(truth.max())) == 1
        if moved > right and (ranges or (len(labels) >= _FEWEST_ROWS and moved > right + _BETTER)):
            most = max(int(claims.max()) - first, int(truth.max()) - 1 + first) + 1
            return Finding(
                "warning",
                "labels",
                f"Predicted classes run from {claims.min()} to {claims.max()}, labels from {truth.min()} to "
                f"{truth.max()}, and accuracy is {percent(right)}. With predicted classes counted from {first} and "
                f"labels from {1 - first}, it would be {percent(moved)}.",
                {"predicted_coding": codings[0], "label_coding": codings[1], "classes": digits(most)},
                f"Predicted classes count from {first}, labels from {1 - first}",
            )
    return None


def _by_chance(predicted: NDArray[np.int64], labels: NDArray[np.int64], k: int) -> Iterator[Finding]:
    """Report predicted classes that match the labels no better than shuffled labels."""
    found = association(np.eye(k)[predicted], labels) if k <= _MOST_CLASSES else None
    if found is None or found >= CHANCE:
        return
    shuffled = float(np.bincount(predicted, minlength=k) @ np.bincount(labels, minlength=k)) / len(labels) ** 2
    yield Finding(
        "warning",
        "chance",
        f"Accuracy is {percent(float(np.mean(predicted == labels)))}; shuffled labels would give {percent(shuffled)}. "
        "Are labels shifted by a row, or in the order of another file?",
    )
