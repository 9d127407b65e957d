"""Choice of a calibrator by cross-validation: whether to recalibrate, and by one calibrator or by a blend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._base.arrays import Bools, Codes, Float64s, frozen
from calib_core._base.errors import as_share, as_whole
from calib_core._base.pandas_input import rows_of
from calib_core.calibrators.base import CALIBRATORS, Calibrator, as_calibrator
from calib_core.calibrators.blend import returns_rows, without_small
from calib_core.columns.cut import coded
from calib_core.defaults import JUDGED_FOLDS as FOLDS
from calib_core.defaults import LEVEL, SEED
from calib_core.evaluation.calibrator_choice import CalibratorChoice
from calib_core.evaluation.candidate_ranking import ALONE, BOLD, ENOUGH, Contest
from calib_core.evaluation.candidates import (
    COLUMNS,
    IDENTITY,
    SINGLE,
    FoldTrial,
    candidates_for,
    is_tilt,
    simplicity,
)
from calib_core.evaluation.cross_fitting import over_folds, plain_folds
from calib_core.evaluation.group_gains import GroupGains
from calib_core.evaluation.remaining_error import Remaining
from calib_core.evaluation.row_losses import CONFIDENCE, COST, SCORES
from calib_core.evaluation.update_gains import own_recipes
from calib_core.inference.comparison.paired_differences import Difference
from calib_core.inference.intervals.influence_functions import counting
from calib_core.inference.significance.multiple_testing import holm
from calib_core.predictions.plausibility import blocking
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.predictions.validation import effective_rows
from calib_core.registry.registry import Recipe
from calib_core.text import score as written
from calib_core.text import several

__all__ = ["FOLDS", "MOST_NUMBERS", "SCORES", "CalibratorChoice", "Remaining", "candidates_for", "choose"]

FEWEST_FOLDS = 3
"""One fold to evaluate, one to choose, one to fit."""
MOST_NUMBERS = 1_000_000
"""Largest number of rows times classes; larger data are subsampled, stratified by class."""


def same_events(fit: Predictions, held_out: Predictions) -> bool:
    """True if both have the same share of events up to rounding, as after a stratified split.

    >>> p = Predictions([[0.7, 0.3]] * 1000, [0, 0, 0, 1] * 250)
    >>> same_events(p, p.take(range(501))), same_events(p, p.take(range(0, 1000, 2)))
    (True, False)
    """
    if fit.event is None or held_out.event is None:
        return False
    here, there = (np.asarray(rows.true_labels == rows.event) for rows in (fit, held_out))
    return bool(abs(here.sum() * len(there) - there.sum() * len(here)) <= len(here))


_WITH_TILTS = ("logistic-recalibration", "vector", "dirichlet")
"""Calibrators whose maps include those of temperature scaling and, for an event, of an intercept update."""


def choose(
    predictions: Predictions,
    candidates: Sequence[str | Recipe | Calibrator] | None = None,
    score: str = "log-loss",
    folds: int | None = None,
    random_state: int = SEED,
    level: float = LEVEL,
    progress: Callable[[int], object] | None = None,
    held_out: Predictions | None = None,
    *,
    costs: ArrayLike | str = "",
    worst_of: str = "",
) -> CalibratorChoice:
    """Choose a calibrator by cross-validation; the model stays unchanged unless recalibration helps.

    Every candidate is fitted ``folds`` times (3 or more, by default 7, or as many as there are rows or groups). It is
    judged on the fold that it has not seen. Folds are random and are not stratified by label (``plain_folds``); groups
    stay whole.

    By default the candidates are averaged in a *blend* (``calibrators.Blend``). Their weights are proportional to
    exp(.35 L), with L their log likelihood on the rows left out. Its evidence is honest, as on each fold the blend has
    weights from the other folds. It is recommended if it makes the outcomes more than e^2 = 7.4 times as likely as the
    model does (``Contest.evidence``). Otherwise the model stays unchanged, bit for bit. A candidate with more than .9
    of the weight is recommended alone. So is a correction of only the rows with one value of a metadata column, if it
    does as well. ``simple`` is the simplest candidate that does as well as the blend, by the paired test below. With
    few rows, where the evidence is not enough, a calibrator of one parameter can be recommended as in (2) below.

    The other ``score`` keys state a use. "confidence" is for use of the predicted class and its confidence h. The loss
    of a row is -log h if the class is right, else -log(1 - h). With two classes, and for single claims, this is the log
    loss. "cost" is for decisions of least expected cost. Its ``costs`` are those of ``decisions.cost_matrix``, for two
    classes also a threshold. A cost says little about each row. So the blend, its weights and its evidence are those by
    log loss, and two conditions are added. The blend must also lower the loss of this use, and on held-out rows its
    gain in log loss must be significant. In simulations with two classes and 300 to 3,000 rows, this achieved 85 % of
    the possible fall of the cost at a threshold. A choice by the cost itself achieved 49 %, and the choice by log loss
    94 %. That one cost more than the model in 9 % of samples,
    this one in 3.5 % (tests/simulations/stated_uses.py).

    ``worst_of`` names a metadata column: no group of its rows may be harmed (``GroupGains.harmed``). Corrections by
    this column then compete with the other candidates. If the recommended calibrator harms a group, an equally good
    one that harms none is taken, else the model stays unchanged. ``groups`` of the result has the gain of each group.

    If ``candidates`` are named, with the Brier score, and for rows of single claims, one candidate is chosen. There are
    two questions, in this order:

    1. *With what?* Candidates are those that do as well as the best (``Contest.equals``: a paired test at ``level``).
       The simplest is taken (``candidates.simplicity``). First comes a correction of only the rows with one value of a
       metadata column (such as one hospital), if their risk is off by more than that of others. Then come calibrators
       that change no predicted class, and of these the one with the fewest parameters. For the risk of an event the
       number of parameters comes first, and bins come last. The same rule without each fold in turn gives the
       ``picks``. A candidate that is never picked is not recommended.
    2. *Recalibrate at all?* Yes, if the interval of that candidate's gain is above 0 and a second condition is met. By
       log loss, a mixture of all candidates makes the outcomes more than e^2 = 7.4 times as likely as the model does
       (``Contest.evidence``). Its weights are from the other folds. By the Brier score, the interval of the gain is
       also above 0 if each fold is recalibrated by its pick. By log loss with few rows there is a second way, for
       calibrators of one parameter (temperature, an intercept). One of them is accepted under three conditions. (a) It
       gains in cross-validation. (b) A likelihood-ratio test of its best value rejects the unchanged model at .05,
       corrected for the number of such calibrators. (c) It does as well as the best candidate, if there is one. The
       interval of the gain is then that of this best value (``tilts.best_gain``), and is above 0. In all other cases
       the model stays unchanged, bit for bit.

    With ``held_out`` rows (other predictions of the same model) every candidate is fitted on all of ``predictions`` and
    judged on them. The table, ``before`` and ``gain`` are of these rows. A candidate whose gain there can be 0 is not
    recommended. The interval's ends are those of ``score_differences.of_gains``.

    With few rows this caution has a small cost. In simulations with 100 to 500 rows and 2 to 10 classes, the logits
    were the true ones or 2 or 0.7 times as large. There, the mean excess log loss is .0047 by the blend, and .0029 if
    temperature scaling is always applied (Monte Carlo error .0003; less is better). An error of T = 0.7 is too small to
    be seen in 100 rows of two classes: even the likelihood-ratio test of T alone, at .05, costs .0031. Over all
    simulated cases, which include two that no temperature corrects, the mean is .0116 by the blend and .0252 by
    temperature scaling (tests/simulations/few_rows_choice.py).

    ``candidates`` are keys, recipes or calibrators, by default ``candidates_for``; the model is always among them. Rows
    with only the predicted class are judged as two classes, right and wrong, by Brier as (c - z)^2. Where a candidate
    recalibrates only the predicted class, the other classes share the rest in the old proportions. A candidate is
    excluded in four cases. (1) By log loss, it gives a class probability 0 where the model did not. (2) It makes some
    outcomes so unlikely (fewer than one expected in all rows) that a single one would cost more than half of the gain.
    (3) It cannot be fitted in some fold, for example because a class is missing, or it leaves rows unanswered. (4) It
    is not named in ``candidates`` and needs more than ``FEW`` times these rows. The table gives the reason. If rows
    times classes exceed ``MOST_NUMBERS``, a random sample of the rows is used. ``progress`` receives percent.

    In 211 simulated and real experiments the blend was worse than the unchanged model in 3, by at most .009 nats. The
    candidate with the least cross-validated loss was worse in 19 (tests/simulations/calibrator_choice.py).

    Raises NotAnswerable if no advice can be given (``doubts.blocking``): there is one observed class, predictions equal
    the labels, or scores are no better than chance. The same is true by log loss if rows need not sum to one.

    What can mislead: folds share rows to fit on, and the interval treats the fitted maps as fixed. It does not cover
    future rows from another distribution. "Equal" means that the rows show no difference that matters.

    References: Bayle, Bayle, Janson & Mackey 2020 (the interval); Yao, Vehtari, Simpson & Gelman 2018 (weights from
    likelihoods of rows left out); Vovk & Wang 2021 (likelihood ratios as evidence).

    >>> p = Predictions([[0.99, 0.01], [0.01, 0.99]] * 100, [0, 1, 0, 1, 0, 1, 0, 0] * 25)
    >>> found = choose(p, ["temperature"])
    >>> found.recipe.key, found.gain.low > 0, found.headline
    ('temperature', True, 'Use temperature scaling')
    """
    if score not in SCORES:
        raise InputError(f"score is {score!r}; it must be one of {', '.join(SCORES)}")
    as_share(level, "level")
    if score != COST and not (isinstance(costs, str) and not costs.strip()):
        raise InputError(f"costs are for score='cost', and score is {score!r}")
    if predictions.kind == "per-class" and score == "log-loss":
        raise NotAnswerable("log loss is not defined for rows that need not sum to one; choose by the Brier score")
    if score == COST and predictions.kind != "full":
        raise NotAnswerable("decisions by costs need the probabilities of all classes, which these rows do not contain")
    for judged in (predictions, *(() if held_out is None else (held_out,))) if worst_of else ():
        coded(judged, worst_of)  # refuses a column that divides no rows
    if score == CONFIDENCE and (
        predictions.kind in SINGLE or (predictions.kind == "full" and predictions.n_classes == 2)
    ):
        score = "log-loss"  # the same loss, and the rows of an event keep it
    pooled = candidates is None and score != "brier" and predictions.kind == "full"
    given = candidates_for(predictions) if candidates is None else [CALIBRATORS.recipe(each) for each in candidates]
    recipes = tuple(dict.fromkeys((IDENTITY, *given)))
    as_whole(random_state, "random_state", 0)
    if folds is not None:
        as_whole(folds, "folds", FEWEST_FOLDS)
    if candidates is None:
        by_columns = (CALIBRATORS.described("multicalibrated", by=worst_of),) if pooled and worst_of else ()
        recipes += tuple(each for each in (*by_columns, *own_recipes(predictions)) if each not in recipes)
    rows = _drawn(counting(predictions), random_state)
    folds = _folds(rows, folds)
    for judged in (rows, *(() if held_out is None else (held_out,))):
        if found := blocking(judged):
            raise NotAnswerable(f"no calibrator is recommended on these rows: {found[0].fact}")
    fold = plain_folds(rows, folds, random_state)
    trial = likelihood = FoldTrial(rows, fold, folds, score, level, costs)
    if pooled and score != "log-loss":
        likelihood = FoldTrial(rows, fold, folds, "log-loss", level)
    tried = _Tried(trial, likelihood, recipes, worst_of, unasked=candidates is None, pooled=pooled)
    for i, recipe in enumerate(recipes[1:], start=1):
        if progress is not None:
            progress(100 * (i - 1) // len(recipes))
        tried.add(i, recipe)
    if pooled:
        tried.blend()
    return tried.choice(predictions, held_out, random_state)


@dataclass(eq=False)
class _Tried:
    """All candidates evaluated on the same folds, the model first."""

    trial: FoldTrial
    likelihood: FoldTrial
    """The same by log loss, which a blend is made by whatever it is used for."""
    recipes: tuple[Recipe, ...]
    worst_of: str
    """Column whose groups must not be harmed; empty if all rows are judged together only."""
    unasked: bool
    pooled: bool
    afters: dict[int, Predictions] = field(init=False)
    wholes: dict[int, Predictions] = field(init=False)
    """Whole rows after each candidate; ``afters`` are in the form that is scored."""
    gains: Float64s = field(init=False)
    nats: Float64s = field(init=False)
    """Gains in log loss."""
    bold: Float64s = field(init=False)
    price: Float64s = field(init=False)
    lines: list[dict[str, Any]] = field(init=False)
    single: int = field(init=False)
    by_likelihood: set[int] = field(init=False, default_factory=set)
    applied: dict[int, Predictions] = field(init=False, default_factory=dict)
    """Held-out rows after candidates that were fitted on all other rows."""
    blended: int | None = None
    """Place of the blend, or of the candidate with nearly all of its weight; None without a blend."""
    shares: Float64s | None = None
    of_other_folds: Predictions | None = None
    """Rows after the blend, whose weights are those of the other folds."""

    def __post_init__(self) -> None:
        shape = len(self.recipes), self.trial.rows.n_rows
        self.gains, self.nats, self.bold, self.price = (np.zeros(shape) for _ in range(4))
        self.single = len(self.recipes)
        self.afters, self.wholes = {0: self.trial.base}, {0: self.likelihood.base}
        self.lines = [self.trial.line(IDENTITY, self.trial.rows, self.gains[0])]

    def add(self, i: int, recipe: Recipe) -> None:
        """Fit a candidate in every fold and evaluate it; if that fails, leave it out with the reason."""
        trial = self.trial
        try:
            if self.unasked:
                trial.check_rows(recipe)
            after = over_folds(trial.rows, trial.rows, recipe, trial.fold, trial.fold)
            self.afters[i], self.wholes[i] = trial.seen(after, None), self.likelihood.seen(after, None)
            self.gains[i], self.nats[i] = self._gains(after)
            self.lines.append(trial.line(recipe, after, self.gains[i]))
            if np.isfinite(self.nats[i]).all():
                self.bold[i], self.price[i] = self.likelihood.bold_claims(self.wholes[i])
        except (InputError, NotAnswerable) as why:
            self.gains[i] = self.nats[i] = -np.inf
            self.lines.append(trial.left_out(recipe, str(why)))

    def _gains(self, after: Predictions) -> tuple[Float64s, Float64s]:
        """Each row's gain by the score and by log loss, (n,) each."""
        gains = self.trial.gains(after, None)
        return gains, gains if self.likelihood is self.trial else self.likelihood.gains(after, None)

    def blend(self) -> None:
        """Average the candidates, and compare the result with them."""
        trial, contest = self.trial, self._mixture(self._contest())
        shares = without_small(contest.shares(contest.every, self._worth))
        self.shares = shares
        self.blended = int(shares.argmax())
        if shares.max() > ALONE:
            return
        members = np.flatnonzero(shares)[np.argsort(-shares[shares > 0], kind="stable")]
        weights = np.round(shares[members], 4)
        recipe = CALIBRATORS.described(
            "blend", members=tuple(self.recipes[i] for i in members), weights=tuple(map(float, weights))
        )
        places = [np.flatnonzero(trial.fold == f) for f in range(trial.folds)]
        apart = [contest.shares(trial.fold != f, self._worth)[members] for f in range(trial.folds)]
        parts = [self._mixed(members, each, place) for each, place in zip(apart, places, strict=True)]
        seen = [trial.seen(part, place) for part, place in zip(parts, places, strict=True)]
        self.of_other_folds = trial.joined(seen, places)
        self.blended = len(self.recipes)
        self.recipes += (recipe,)
        # As on every page: the recommended blend, with its final weights, after members fitted on the other folds.
        after = self._mixed(members, weights, np.arange(trial.rows.n_rows))
        self.afters[self.blended], self.wholes[self.blended] = trial.seen(after, None), after
        gains, nats = self._gains(after)
        self.lines.append(trial.line(recipe, after, gains))
        both = zip((self.gains, self.nats, self.bold, self.price),
                   (gains, nats, *self.likelihood.bold_claims(after)), strict=True)  # fmt: skip
        self.gains, self.nats, self.bold, self.price = (np.vstack([old, new]) for old, new in both)

    def _mixed(self, members: Codes, weights: Float64s, where: Codes) -> Predictions:
        """These rows after the average of these candidates."""
        shares = zip(members, weights / weights.sum(), strict=True)
        probs = sum(w * self.wholes[int(i)].take(where).probs for i, w in shares)
        return self.likelihood.base.take(where).with_probs(frozen(np.asarray(probs, dtype=np.float64)))

    def _mixture(self, contest: Contest) -> Contest:
        """The candidates that the blend averages; a mixture reads nothing but their gains."""
        singles = self.recipes[: self.single]
        able = np.array([not self.pooled or returns_rows(recipe) for recipe in singles])
        return replace(contest, gains=np.where(able[:, None], self.nats[: self.single], -np.inf))

    @property
    def _worth(self) -> float:
        return effective_rows(self.trial.rows.n_rows, self.trial.rows.weights)

    def _of_blend(self, contest: Contest, rows: Bools, *, enough: bool) -> int:
        """Return the candidate recommended by the blend's rule on these rows; 0 for none.

        An update of one value that does as well is preferred, as it leaves all other rows unchanged.
        """
        place = self.blended or 0
        if not (enough and contest.eligible(rows)[place]):
            return 0
        own = [i for i in contest.equals(rows) if dict(self.recipes[i].params).get("only")]
        return next((i for i in own if _shown(self.lines[i])), place)

    def _simple(
        self, found: int, equals: Sequence[int], lines: Sequence[dict[str, Any]], accepted: Callable[[int], bool]
    ) -> Recipe | None:
        """Return the simplest calibrator with a significant gain that does as well as the blend and is simpler.

        ``accepted`` answers whether a candidate meets the conditions of the stated use on the judged rows.
        """
        level = [i for i in equals if _shown(lines[i]) and self.order[i] < self.order[found]]
        if self.blended is None or not found:
            return None
        simplest = (i for i in sorted(level, key=self.order.__getitem__) if accepted(i))
        return next((self.recipes[i] for i in simplest), None)

    def _by_group(self, i: int) -> GroupGains:
        """Return a candidate's gain in each group."""
        return GroupGains.of(self.trial, self.afters[i], self.gains[i], self.worst_of)

    def _by_group_of(self, about: int, fit: Predictions, held_out: Predictions) -> GroupGains:
        """Return a candidate's gain in each group of held-out rows."""
        there = self._judging(held_out)
        after = self._applied(about, fit, there.rows)
        gains = there.gains(after, None, judged=True)
        return GroupGains.of(there, there.seen(after, None), gains, self.worst_of)

    def _for_groups(self, found: int, groups: dict[int, GroupGains]) -> int:
        """Return the recommended candidate, or if it harms a group, an equally good one that harms none; 0 for none.

        Of several it is the one with the largest gain in the group that gains least.
        """
        if not found or not _harms(groups[found]):
            return found
        harmless = [i for i, gains in groups.items() if not _harms(gains) and _shown(self.lines[i])]
        return max(harmless, key=lambda i: groups[i].least, default=0)

    def choice(self, predictions: Predictions, held_out: Predictions | None, random_state: int) -> CalibratorChoice:
        """Return the choice."""
        trial, recipes, contest = self.trial, self.recipes, self._contest()
        winner, equals = contest.best(contest.every), contest.equals(contest.every)
        others = [trial.fold != f for f in range(trial.folds)]
        mixture = self._mixture(contest)
        picked = [contest.simplest(rows) for rows in others]
        by_likelihood = self.pooled or trial.score == "log-loss"
        evidence = mixture.evidence(trial.fold, self._worth) if by_likelihood else float("nan")
        enough = evidence > ENOUGH
        # A likelihood ratio replaces intervals in the table: it is asked only where the blend shows too little.
        by_blend = self.blended is not None and enough
        if not by_blend:
            choosing, tested, why = self._of_picks(picked)
            enough = enough if by_likelihood else choosing.low > 0
        chosen = [i for i in equals if i in picked]
        found = 0 if by_blend or why else self._recommended(contest, chosen, picked, enough=enough)
        about = found or min(chosen, key=lambda i: contest.simplicity[i], default=winner)
        blended, times = self.blended is not None and not found, picked
        if self.blended is not None and not found:
            picked = [
                self._of_blend(contest, rows, enough=mixture.evidence(trial.fold, self._worth, rows) > ENOUGH)
                for rows in others
            ]
            # The simplest that is about as good counts, too.
            times = [*picked, *(i for i, pick in zip(times, picked, strict=True) if pick and i not in (0, pick))]
            choosing, tested, why = self._of_picks(picked)
            found = 0 if why else self._of_blend(contest, contest.every, enough=enough)
            about = found or self.blended or winner
            winner, equals = (found, sorted({found, *equals})) if found else (winner, equals)
        groups, harmful = dict[int, GroupGains](), 0
        if self.worst_of and about:
            groups = {i: self._by_group(i) for i in (about, *equals) if i in self.afters}
            chosen_first, found = found, self._for_groups(found, groups)
            harmful = chosen_first if found != chosen_first else 0
            about = found or about
        by_group = groups.get(about)
        before, floored, tested_on, lines = trial.mean(trial.losses), int(trial.floored.sum()), 0, self.lines
        if held_out is not None:
            judged = counting(held_out)
            before, floored, lines = self._on_held_out(counting(predictions), judged, {0, about, winner})
            tested_on = judged.n_rows
            tested = judged.weights is None and judged.row_groups is None
            found = found if self._confirmed(found, lines, predictions, judged) else 0
            if by_group is not None and (harmful == about or about not in self.applied):
                by_group = replace(by_group, where="In cross-validation, ")
            elif by_group is not None:
                by_group = self._by_group_of(about, predictions, judged)
                if found and _harms(by_group):
                    found, harmful = 0, found

        def accepted(i: int) -> bool:
            if held_out is None:
                return not _harms(groups.get(i))
            if not self._confirmed(i, lines, predictions, judged) or _harms(groups.get(i)):
                return False
            return not (self.worst_of and _harms(self._by_group_of(i, predictions, judged)))

        rest = self._without_floored(found, predictions, held_out) if found and floored else None
        floored_fit, fitted_without = 0, None
        if held_out is not None and about:
            floored_fit, fitted_without = self._fitted_without_floored(about, predictions, held_out)
        if not found:
            equals = sorted({0, *equals})  # no significant gain: the model is as good as any
        gain = Difference(*(float(str(lines[about][name])) for name in ("gain", "low", "high", "p")))
        return CalibratorChoice(
            recipe=recipes[found],
            winner=recipes[winner],
            equals=tuple(recipes[i] for i in equals),
            picks=tuple(recipes[i] for i in picked),
            recipes=recipes,
            score=trial.score,
            before=before,
            gain=gain,
            choosing=choosing,
            evidence=evidence,
            level=trial.level,
            tested=tested,
            rows=trial.rows.n_rows,
            among=counting(predictions).n_rows,
            held_out=tested_on,
            kind=predictions.kind,
            floored=floored,
            table=self._table(times, equals, lines),
            about=recipes[about],
            random_state=random_state,
            why=why,
            order=self.order,
            of_value=_of_value(counting(predictions), recipes[found]),
            update=_update(counting(predictions), recipes[found]),
            others=rest,
            floored_fit=floored_fit,
            fitted_without=fitted_without,
            same_events=held_out is not None and same_events(predictions, held_out),
            by_likelihood=held_out is None and about in self.by_likelihood,
            event_rate=_event_rate(counting(predictions if held_out is None else held_out)),
            blended=blended,
            simple=self._simple(found, equals, lines, accepted),
            costs=_as_text(trial.costs),
            groups=by_group,
            harmful=recipes[harmful] if harmful else None,
        )

    def _without_floored(self, found: int, predictions: Predictions, held_out: Predictions | None) -> Difference:
        """Return the gain of a candidate without the rows in which the model's log loss is at its maximum."""
        if held_out is None:
            return self.trial.without_floored(self.afters[found], self.gains[found])
        there = self._judging(counting(held_out))
        seen = self._applied(found, predictions, there.rows)
        return there.without_floored(seen, there.gains(seen, None, judged=True))

    def _fitted_without_floored(
        self, about: int, predictions: Predictions, held_out: Predictions
    ) -> tuple[int, Difference | None]:
        """Return the number of calibration rows whose log loss is at its maximum, and a candidate's gain without them.

        The gain is on the held-out rows; None if there are no such rows, or the others do not suffice for a fit.
        """
        fit = counting(predictions)
        floored = self._judging(fit).floored
        if not floored.any():
            return 0, None
        there = self._judging(counting(held_out))
        with suppress(InputError, NotAnswerable):
            after = as_calibrator(self.recipes[about]).fit_on(fit.take(np.flatnonzero(~floored))).apply(there.rows)
            return int(floored.sum()), there.test(there.seen(after, None), there.gains(after, None, judged=True))[0]
        return int(floored.sum()), None

    def _judging(self, judged: Predictions, trial: FoldTrial | None = None) -> FoldTrial:
        """Return the trial for rows on which candidates fitted elsewhere are evaluated."""
        trial, place = trial or self.trial, np.zeros(judged.n_rows, dtype=np.intp)
        return FoldTrial(judged, place, 1, trial.score, trial.level, trial.costs)

    def _applied(self, i: int, fit: Predictions, held_out: Predictions) -> Predictions:
        """Return held-out rows after a candidate fitted on all others; each is fitted once."""
        if i not in self.applied:
            self.applied[i] = as_calibrator(self.recipes[i]).fit_on(counting(fit)).apply(held_out)
        return self.applied[i]

    def _confirmed(self, found: int, lines: Sequence[dict[str, Any]], fit: Predictions, held_out: Predictions) -> bool:
        """True if a candidate's gain is also significant on held-out rows, or by log loss with some gain in its use."""
        if not found or self.likelihood is self.trial:
            return bool(found) and _shown(lines[found])
        if not lines[found]["gain"] > 0:
            return False
        there = self._judging(held_out, self.likelihood)
        after = self._applied(found, fit, there.rows)
        gain = there.test(there.seen(after, None), there.gains(after, None, judged=True))[0]
        return bool(gain.low > 0)

    def _recommended(self, contest: Contest, chosen: Sequence[int], picked: Sequence[int], *, enough: bool) -> int:
        """Return the candidate recommended by cross-validation, one of ``chosen``; 0 for none."""
        shown = [i for i in chosen if enough and _shown(self.lines[i])]
        if shown:
            return min(shown, key=lambda i: contest.simplicity[i])
        tilts = sum(map(is_tilt, self.recipes))
        by_ratio = {i: self.trial.by_likelihood(self.recipes[i], self.lines[i], tilts) for i in set(picked) - {0}}
        known = {i: line for i, line in by_ratio.items() if line is not None}
        equal = {i: line for i, line in known.items() if i in chosen or not chosen}
        if equal:
            best = max(equal, key=lambda i: float(equal[i]["gain"]))
        else:
            equal = self._containing(chosen, known)
            best = min(equal, key=lambda i: contest.simplicity[i], default=0)
        if best:
            self.lines[best] = equal[best]
            self.by_likelihood.add(best)
        return best

    def _containing(self, chosen: Sequence[int], known: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
        """Return lines of the chosen calibrators that contain a one-parameter map with a significant gain.

        The best map of a larger family gains at least as much, so that the lower end is valid for it too.
        """
        inner = [line for i, line in known.items() if not dict(self.recipes[i].params)]
        if not inner:
            return {}
        best = max(inner, key=lambda line: float(line["low"]))
        return {
            i: self.lines[i] | {"low": max(best["low"], self.lines[i]["low"]), "p": min(best["p"], self.lines[i]["p"])}
            for i in chosen
            if self.recipes[i].key in _WITH_TILTS and best["low"] < self.lines[i]["gain"]
        }

    @property
    def order(self) -> tuple[tuple[float, ...], ...]:
        """Simplicity of the candidates; the model is first and simplest."""
        classes, of_event = self.trial.rows.n_classes or 2, self.trial.rows.event is not None
        return (-1.0,), *(simplicity(recipe, classes, of_event=of_event) for recipe in self.recipes[1:])

    def _contest(self) -> Contest:
        """The contest by the score; bold claims cost log loss, so they rule a candidate out for every use."""
        contest = self._by_log_loss
        if self.likelihood is self.trial:
            return contest
        totals, nothing = contest.totals(contest.every), np.zeros_like(self.gains)
        able = np.isfinite(totals) & (contest.risk(contest.every) <= BOLD * np.maximum(totals, 0.0))
        gains = np.where(able[:, None], self.gains, -np.inf)
        return replace(contest, gains=gains, bold=nothing, price=nothing, losses=None)

    @property
    def _by_log_loss(self) -> Contest:
        """The contest by log loss, or without a blend by the score."""
        rows, weights = self.trial.rows, self.trial.weights
        units = np.arange(rows.n_rows) if rows.row_groups is None else rows.row_groups.codes
        losses = self.likelihood.losses if self.likelihood.score == "log-loss" else None
        return Contest(self.nats, self.bold, self.price, weights / weights.mean(), units, self.order, self.trial.level,
                       losses, *self._risks())  # fmt: skip

    def _risks(self) -> tuple[Float64s, Bools] | tuple[None, None]:
        """Return the event's risk after each candidate and the outcomes; None without an event."""
        rows = self.trial.rows
        if rows.event is None:
            return None, None
        risks = np.full((len(self.recipes), rows.n_rows), np.nan)
        for i, after in self.afters.items():
            risks[i] = after.rows.column(rows.event)
        return risks, np.asarray(rows.true_labels == rows.event)

    def _of_picks(self, picked: Sequence[int]) -> tuple[Difference, bool, str]:
        """Return the gain if each fold is recalibrated by the choice without it, with its test."""
        trial = self.trial
        places = [np.flatnonzero(trial.fold == f) for f in range(trial.folds)]
        parts, apart = [], np.zeros(len(trial.fold))
        for pick, where in zip(picked, places, strict=True):
            after = self.of_other_folds if pick == self.blended and self.of_other_folds else self.afters[pick]
            parts.append(after.take(where))
            if pick:
                apart[where] = trial.gains(parts[-1], where, judged=True)
        return trial.test(trial.joined(parts, places), apart)

    def _on_held_out(
        self, fit: Predictions, judged: Predictions, wanted: set[int]
    ) -> tuple[float, int, list[dict[str, Any]]]:
        """Return, for held-out rows, the model's score, the number at the maximum loss, and a line for each candidate.

        One left out for a new probability of 0 has no score here, as it has none in the folds.
        Where rows were drawn to choose on, fits to all of them take long: then only those ``wanted`` are judged.
        """
        there = self._judging(judged)
        lines = [there.line(IDENTITY, judged, there.nothing)]
        few = self.trial.rows.n_rows < fit.n_rows
        for i, recipe in enumerate(self.recipes[1:], start=1):
            note = str(self.lines[i]["note"])
            if i not in self.afters or (few and i not in wanted):
                lines.append(there.left_out(recipe, note or "compared only on the sampled rows"))
                continue
            try:
                after = self._applied(i, fit, judged)
                line = there.line(recipe, after, there.gains(after, None, judged=True))
                if np.isneginf(self.gains[i]).any():  # what can cost infinitely much has no mean, whatever happened
                    line |= dict.fromkeys(("score", "gain", "low", "high", "p"), float("nan"))
                lines.append(line | {"note": note or line["note"]})
            except (InputError, NotAnswerable) as why:
                lines.append(there.left_out(recipe, note or str(why)))
        return there.mean(there.losses), int(there.floored.sum()), lines

    def _table(self, times: Sequence[int], equals: Sequence[int], lines: Sequence[dict[str, Any]]) -> pd.DataFrame:
        table = pd.DataFrame(lines).assign(
            gain_in_folds=[line["gain"] for line in self.lines],
            rows_needed=[line["rows_needed"] for line in self.lines],
            picked=np.bincount(times, minlength=len(self.recipes)),
            weight=np.nan if self.shares is None else np.append(self.shares, np.nan)[: len(self.recipes)],
            equal_to_best=[i in equals for i in range(len(self.recipes))],
        )
        table["p_holm"] = holm(table["p"])
        by_log_loss = self._by_log_loss
        totals, risks = by_log_loss.totals(by_log_loss.every), by_log_loss.risk(by_log_loss.every)
        for i in np.flatnonzero((totals > 0) & np.isfinite(totals) & (risks > BOLD * totals)):
            table.loc[i, "note"] = (
                "gives possible outcomes a probability near 0. One such outcome would raise the total log loss by "
                f"{written(risks[i])}, over half of its gain in all rows ({written(totals[i])}, cross-validated)"
            )
        return table[list(COLUMNS)]


def _harms(gains: GroupGains | None) -> bool:
    """True if a candidate is significantly worse than the model in some group."""
    return gains is not None and len(gains.harmed) > 0


def _as_text(costs: ArrayLike | str) -> str:
    """Return costs as text, one line per decision."""
    if isinstance(costs, str):
        return costs
    table = np.atleast_2d(np.asarray(costs, dtype=float)).tolist()
    return "; ".join(" ".join(str(each).removesuffix(".0") for each in line) for line in table)


def _shown(line: dict[str, Any]) -> bool:
    """True if the interval of a candidate's gain is above 0."""
    return bool(line["low"] > 0)


def _of_value(rows: Predictions, recipe: Recipe) -> int:
    """Number of rows for fitting an update of one column value; 0 for all other calibrators."""
    params = dict(recipe.params)
    if not params.get("only") or rows.metadata is None:
        return 0
    return int(rows_of(rows.metadata[str(params["by"])], str(params["only"])).sum())


def _update(rows: Predictions, recipe: Recipe) -> tuple[float, float]:
    """Slope and shift of an update of one column value, fitted on all rows; 1 and 0 for other calibrators."""
    if not dict(recipe.params).get("only"):
        return 1.0, 0.0
    fitted: Any = as_calibrator(recipe).fit_on(rows)
    return float(fitted.slopes_[0]), float(fitted.intercepts_[0])


def _folds(rows: Predictions, folds: int | None) -> int:
    """Return the number of folds, checked against the number of rows or groups."""
    parts = rows.n_rows if rows.row_groups is None else len(rows.row_groups.values)
    if parts >= max(folds or 0, FEWEST_FOLDS):
        return folds or min(FOLDS, parts)
    there = f"there are {several(parts) if rows.row_groups is None else rows.row_groups.words}"
    if parts < FEWEST_FOLDS:
        raise NotAnswerable(f"choosing by cross-validation needs at least 3 non-empty folds, and {there}")
    raise InputError(f"folds is {folds}, but {there}; use fewer folds, at least 3")


def _event_rate(rows: Predictions) -> float:
    """Return the observed frequency of the event; NaN without an event."""
    if rows.event is None:
        return float("nan")
    return float(np.average(rows.true_labels == rows.event, weights=rows.weights))


def _drawn(rows: Predictions, random_state: int) -> Predictions:
    """Return the rows, subsampled if they are too many."""
    share = MOST_NUMBERS / (rows.n_rows * (rows.n_classes or 2))
    return rows if share >= 1 else rows.split(share, random_state=random_state)[0]
