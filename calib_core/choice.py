"""Recalibrate at all, and with what? Chosen by nested cross-validation, where a gain over doing nothing is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._arguments import as_whole
from calib_core._arrays import LOG_FLOOR
from calib_core._distributions import norm
from calib_core._repr import OneLine
from calib_core._text import count, inside
from calib_core.calibrators import CALIBRATORS, Calibrator, Contract
from calib_core.candidates import COLUMNS, IDENTITY, SCORES, Trial, candidates_for
from calib_core.cross_fitting import over_folds
from calib_core.defaults import LEVEL, SEED
from calib_core.estimators import ESTIMATORS
from calib_core.inference import holm
from calib_core.inference.influences import counting
from calib_core.inference.joint_cells import Difference
from calib_core.inference.number_words import at_level, points, told_apart
from calib_core.inference.number_words import rows as about_rows
from calib_core.inference.number_words import score as written
from calib_core.predictions import InputError, NotAnswerable, Predictions
from calib_core.registry import Recipe, RegistryError

__all__ = ["FOLDS", "MOST_NUMBERS", "SCORES", "Choice", "candidates_for", "choose"]

FOLDS = 7
"""What is judged is then fitted on nearly as many rows as what is recommended: with 5, gains of few rows go unseen."""
FEWEST_FOLDS = 3
"""One to judge on, one to choose on and one to fit on."""
MOST_NUMBERS = 1_000_000
"""Rows times classes that are looked at: of larger predictions so many rows are drawn, class by class."""


@dataclass(frozen=True, eq=False, repr=False)
class Choice(OneLine):
    """Whether to recalibrate and with what, and how sure that is.

    ``recipe`` is recommended: the identity unless a gain is shown. ``winner`` came first in plain cross-validation over
    all ``rows`` (of ``among``); ``picks`` are what each fold was recalibrated with, chosen on the others alone.
    ``gain`` is that of the picks over the model as it is, whose score is ``before``; ``tested`` whether its interval at
    ``level`` is; ``why`` there is none, where there is none. ``recipes`` are the candidates, ``table`` has a line for
    each; ``kind`` is that of the predictions, and ``floored`` the rows in which the model gave what happened a
    probability of 0.
    """

    recipe: Recipe
    winner: Recipe
    picks: tuple[Recipe, ...]
    recipes: tuple[Recipe, ...]
    score: str
    before: float
    gain: Difference
    level: float
    tested: bool
    rows: int
    among: int
    kind: str
    floored: int
    table: pd.DataFrame
    why: str = ""

    def frame(self) -> pd.DataFrame:
        """A line a candidate, the model as it is first: what it scores on rows its maps were not fitted on.

        Columns: calibrator, title, score; gain over the model as it is, its interval low to high and p-value, alone (p)
        and corrected for the number of candidates (p_holm); picked, the number of folds it was chosen for; accuracy and
        auroc (the chance that a right row has more confidence than a wrong one, ties half, within folds), what each
        gains, with an interval; mean_confidence; rows_needed, about; note, why a number is missing, as one that is
        infinite is. What can mislead: of many gains the largest is large by luck, too; what choosing gains is
        ``Choice.gain``.
        """
        return self.table.replace([np.inf, -np.inf], np.nan)

    def record(self) -> dict[str, object]:
        """What was chosen and how sure that is, in plain values."""
        gain = {name: getattr(self.gain, name) for name in ("point", "low", "high", "p_value")}
        return {
            "recommended": self.recipe.to_dict(),
            "gain_shown": self.recalibrate,
            "winner": self.winner.to_dict(),
            "picks": [pick.to_dict() for pick in self.picks],
            "score": self.score,
            "before": self.before,
            "gain": gain | {"level": self.level, "tested": self.tested},
            "rows": self.rows,
            "of_rows": self.among,
            "sentences": [self.sentence, *self.price],
            "notes": list(self.notes),
        }

    @property
    def recalibrate(self) -> bool:
        """Is a gain shown?"""
        return self.recipe != IDENTITY

    @property
    def sentence(self) -> str:
        """What to do, and the gain with its interval."""
        name, tried = inside(ESTIMATORS[self.score].title), len(self.recipes) - 1
        ends = f"{at_level(self.level)} interval {written(self.gain.low)} to {written(self.gain.high)}"
        change = (
            f"the {name} goes from {written(self.before)} to {written(self.before - self.gain.point)}, a gain of "
            f"{written(self.gain.point)} ({ends}{'' if self.tested else ', a rough guide'})"
        )
        if self.recalibrate and self.gain.low <= 0:
            return (
                f"Recalibrate with {inside(self.recipe.title)}: the model gives what happened a probability of 0 in "
                f"{_rows(self.floored)}, so that its {name} is infinite; with each of them counted as {_FLOOR}, "
                f"{change}."
            )
        if self.recalibrate:
            return f"Recalibrate with {inside(self.recipe.title)}: on rows that no fit has seen {change}."
        stay = "Leave the model as it is"
        if self.why or not tried:
            return f"{stay}: no gain can be shown, since {self.why or 'there is no calibrator to try'}."
        if not 0 < self.gain.point < np.inf:
            return f"{stay}: of {_number(tried)} tried none lowers the {name} on rows that no fit has seen."
        return f"{stay}: with the best of {_number(tried)} tried {change}; no gain is shown."

    @property
    def price(self) -> tuple[str, ...]:
        """What the recommended calibrator costs, in sentences; or what would show a gain, where none is shown."""
        if not self.recalibrate:
            return self._more_rows()
        line, base = self.table.iloc[self.recipes.index(self.recipe)], self.table.iloc[0]
        contract: Contract = CALIBRATORS[self.recipe.key].flags
        needed = int(line["rows_needed"])
        texts = (
            "No predicted class changes."
            if contract.keeps_argmax
            else f"Accuracy changes by {_with_ends(line, 'accuracy', self.level)}.",
            f"The chance that a right row has more confidence than a wrong one (AUROC) changes by "
            f"{_with_ends(line, 'auroc', self.level)}."
            if np.isfinite(line["auroc_gain"])
            else "",
            "On average the model is sure of {1} in place of {0}.".format(
                *told_apart(base["mean_confidence"], line["mean_confidence"])
            ),
            _ALONE
            if contract.output == "top-label" and self.kind == "full"
            else "Its probabilities of a row need not sum to one."
            if contract.output == "per-class"
            else "Every row is still answered.",
            f"It needs about {about_rows(needed)} rows to be fitted on; {count(self.rows)} are here." if needed else "",
        )
        return tuple(filter(None, texts))

    def _more_rows(self) -> tuple[str, ...]:
        """How many rows would show a gain of this size four times in five, where there is one to show."""
        if not (0 < self.gain.point < np.inf and self.gain.low <= 0):
            return ()
        # What was seen lies p's quantile from no gain, which grows with the root of the rows.
        seen, z = norm.isf(self.gain.p_value / 2), norm.isf((1 - self.level) / 2)
        times = ((z + norm.ppf(_SHOWN)) / seen) ** 2 if seen > 0 else np.inf
        if times > _MOST_TIMES:
            return ()
        return (f"About {about_rows(self.rows * times)} rows would show a gain of this size four times in five.",)

    @property
    def notes(self) -> tuple[str, ...]:
        """How it was chosen, what was left out, and what the interval is about."""
        same = sum(pick == self.winner for pick in self.picks)
        name = inside(ESTIMATORS[self.score].title)
        left = self.table[(self.table["note"] != "") & (self.table["calibrator"] != IDENTITY.key)]
        texts = (
            f"Chosen in {len(self.picks)} folds: each fold is judged with what came first on the others, which never "
            f"saw it; {inside(self.winner.title)} came first in {same} of {len(self.picks)}, and over all rows.",
            f"The interval is about maps fitted like these: it covers other rows to judge, not how other rows would "
            f"have changed the fits. It lies above 0 by chance alone in about {at_level((1 - self.level) / 2)} of "
            "cases at most where labels that the model and the maps both find unlikely happen about as often as both "
            "say; with few rows, and a truth unlike both, it can be more often.",
            f"{count(self.rows)} of {count(self.among)} rows were drawn, class by class, to keep this short."
            if self.rows < self.among
            else "",
            f"In {_rows(self.floored)} the model gives what happened a probability of 0: its {name} is infinite, and "
            f"counts {_FLOOR} there, so that gains look smaller than they are."
            if self.floored
            else "",
            *(f"{line.title}: {line.note}." for line in left.itertuples()),
        )
        return tuple(filter(None, texts))


_ALONE = (
    "It then gives the probability of the predicted class alone; to be compared, the other classes were given the rest "
    "in the old proportions."
)
_FLOOR = f"{-np.log(LOG_FLOOR):.0f}"
"""What a row costs that had a probability of 0."""
_SHOWN = 0.8
"""How often the rows that are said to show a gain would show it."""
_MOST_TIMES = 1000
"""How many times the rows there are may be named: beyond that the gain seen is all noise."""


def choose(
    predictions: Predictions,
    candidates: Sequence[str | Recipe | Calibrator] | None = None,
    score: str = "log-loss",
    folds: int | None = None,
    random_state: int = SEED,
    level: float = LEVEL,
    progress: Callable[[int], object] | None = None,
) -> Choice:
    """Whether to recalibrate, and with which calibrator: the model as it is stays unless a gain is shown.

    Nested cross-validation over ``folds`` folds (3 or more, by default 7, or as many as there are rows or groups;
    stratified by label, groups whole). For each fold the candidate is picked that has the least mean ``score``
    ("log-loss", "brier") on the other folds, each judged by maps fitted on the folds that are neither; it is fitted on
    all the others and judged on this one. The rows' gains over the model as it is have a mean; the ends of its interval
    are where outcomes drawn between the two models' probabilities seldom gain as much as was seen, or as little
    (further out where rows, or groups, vary more). A gain is shown where the interval at ``level`` lies above 0, and
    where the model's log loss is infinite, as it gave what happened a probability of 0, and the picks' is not: then the
    candidate with the least score in plain cross-validation over all rows is recommended, else the model as it is.

    ``candidates`` are keys, recipes or calibrators, by default ``candidates_for``; the model as it is is always among
    them. Rows of the predicted class alone are judged as two classes, right and wrong, by Brier as (c - z)^2; where a
    candidate recalibrates the predicted class alone, the other classes get the rest in the old proportions. A candidate
    that gives any class of a row a probability of 0, where the model did not, has an infinite log loss once that
    happens: it is never picked or recommended. Where one picked on other folds does so on the fold it is judged on and
    it happens, and for the model's own zeros, the row counts as in every log loss of this library, -log of
    ``LOG_FLOOR``. A candidate that cannot be fitted, leaves rows unanswered, or is not named and needs more than
    ``FEW`` times these rows, stands in the table with the reason.
    Above ``MOST_NUMBERS`` rows times classes rows are drawn. ``progress`` is told percent.

    What can mislead: folds share rows to fit on, and the interval takes the fitted maps as they are; where the rows to
    come are others than these, nothing is said.

    References: Varma & Simon 2006 (nested cross-validation); Bayle, Bayle, Janson & Mackey 2020 (the interval).

    >>> p = Predictions([[0.99, 0.01], [0.01, 0.99]] * 100, [0, 1, 0, 1, 0, 1, 0, 0] * 25)
    >>> found = choose(p, ["temperature"])
    >>> found.recipe.key, found.gain.low > 0, found.sentence[:35]
    ('temperature', True, 'Recalibrate with temperature scalin')
    """
    if score not in SCORES:
        raise InputError(f"score is {score!r}; it must be one of {', '.join(SCORES)}")
    if not 0 < level < 1:
        raise RegistryError(f"level is {level}; it must lie between 0 and 1, both excluded")
    if predictions.kind == "per-class" and score == "log-loss":
        raise NotAnswerable("log loss is not defined for rows that need not sum to one: choose by the Brier score")
    given = candidates_for(predictions) if candidates is None else [CALIBRATORS.recipe(each) for each in candidates]
    recipes = tuple(dict.fromkeys((IDENTITY, *given)))
    as_whole(random_state, "random_state", 0)
    if folds is not None:
        as_whole(folds, "folds", FEWEST_FOLDS)
    rows = _drawn(counting(predictions), random_state)
    parts = rows.n_rows if rows.row_groups is None else len(rows.row_groups.values)
    if parts < max(folds or 0, FEWEST_FOLDS):
        there = f"there are {_rows(parts) if rows.row_groups is None else rows.row_groups.words}"
        if parts < FEWEST_FOLDS:
            raise NotAnswerable(f"choosing inside of folds needs 3 folds with something in each, and {there}")
        raise InputError(f"folds is {folds}, but {there}: take fewer folds, from 3 on")
    folds = folds or min(FOLDS, parts)
    trial = Trial(rows, rows.folds(folds, random_state=random_state), folds, score, level)
    inner, lines = np.zeros((len(recipes), folds)), [trial.line(IDENTITY, rows)]
    for i, recipe in enumerate(recipes[1:], start=1):
        if progress is not None:
            progress(100 * (i - 1) // len(recipes))
        try:
            if candidates is None:
                trial.check_rows(recipe)
            inner[i] = trial.inside(recipe)
            lines.append(trial.line(recipe, over_folds(rows, rows, recipe, trial.fold, trial.fold)))
        except (InputError, NotAnswerable) as why:
            inner[i] = -np.inf
            lines.append(trial.left_out(recipe, str(why)))
    picked = inner.argmax(axis=0)
    table = pd.DataFrame(lines).assign(picked=np.bincount(picked, minlength=len(recipes)))
    table["p_holm"] = holm(table["p"])
    winner = int(table["gain"].fillna(-np.inf).argmax())
    gain, tested, why_not, certain = _gain_of_choosing(trial, [recipes[i] for i in picked])
    shown = winner > 0 and (gain.low > 0 or (certain and gain.point > 0 and not why_not))
    return Choice(
        recipe=recipes[winner] if shown else IDENTITY,
        winner=recipes[winner],
        picks=tuple(recipes[i] for i in picked),
        recipes=recipes,
        score=score,
        before=trial.mean(trial.losses),
        gain=gain,
        level=level,
        tested=tested,
        rows=rows.n_rows,
        among=counting(predictions).n_rows,
        kind=predictions.kind,
        floored=int(trial.impossible.sum()),
        table=table[list(COLUMNS)],
        why=why_not,
    )


def _gain_of_choosing(trial: Trial, picks: Sequence[Recipe]) -> tuple[Difference, bool, str, bool]:
    """The gain where each fold is judged after what was picked on the others, its test, and whether it is endless.

    It is where the model gives what happened a probability of 0, and what was picked nowhere does.
    """
    places = [np.flatnonzero(trial.fold == f) for f in range(trial.folds)]
    parts, apart = [], np.zeros(len(trial.fold))
    for pick, where in zip(picks, places, strict=True):
        rows = trial.rows.take(where)
        after = rows if pick == IDENTITY else over_folds(trial.rows, rows, pick, trial.fold, trial.fold[where])
        parts.append(trial.seen(after, where))
        apart[where] = 0.0 if pick == IDENTITY else trial.gains(after, where, judged=True)
    endless = bool(trial.impossible.any() and (apart[trial.impossible] > 0).all())
    return *trial.test(trial.base.with_parts(parts, places, ""), apart), endless


def _drawn(rows: Predictions, random_state: int) -> Predictions:
    """The rows, or as many of them as are looked at."""
    share = MOST_NUMBERS / (rows.n_rows * (rows.n_classes or 2))
    return rows if share >= 1 else rows.split(share, random_state=random_state)[0]


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{count(number)} rows"


def _number(calibrators: int) -> str:
    return "the one calibrator" if calibrators == 1 else f"{calibrators} calibrators"


def _with_ends(line: pd.Series, name: str, level: float) -> str:
    """A change of a share, with its interval."""
    gain, low, high = (float(line[f"{name}_{end}"]) for end in ("gain", "low", "high"))
    if not np.isfinite(low):
        return f"{points(gain)} (too few rows for an interval)"
    return f"{points(gain)} ({at_level(level)} interval {points(low).removesuffix(' points')} to {points(high)})"
