"""Choice of a calibrator by cross-validation: whether to recalibrate, and by one calibrator or by a blend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._base.arrays import Bools, Codes, Float64s, frozen
from calib_core._base.distributions import norm
from calib_core._base.errors import as_share, as_whole
from calib_core._base.notebook_display import OneLine
from calib_core._base.pandas_input import rows_of, title_of
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract, as_calibrator
from calib_core.calibrators.blend import returns_rows, without_small
from calib_core.columns.cut import coded
from calib_core.defaults import JUDGED_FOLDS as FOLDS
from calib_core.defaults import LEVEL, SEED, SIGNIFICANCE, TOLERANCE
from calib_core.evaluation.candidate_ranking import BOLD, ENOUGH, Contest
from calib_core.evaluation.candidates import (
    COLUMNS,
    EACH_FOLD,
    IDENTITY,
    NEW_ZERO,
    SINGLE,
    FoldTrial,
    candidates_for,
    is_tilt,
    simplicity,
)
from calib_core.evaluation.cross_fitting import over_folds, plain_folds
from calib_core.evaluation.group_gains import HARM, GroupGains
from calib_core.evaluation.remaining_error import Remaining
from calib_core.evaluation.row_losses import CONFIDENCE, COST, SCORES, name_of_score
from calib_core.evaluation.update_gains import own_recipes
from calib_core.inference.comparison.paired_differences import Difference
from calib_core.inference.intervals.influence_functions import counting
from calib_core.inference.significance.multiple_testing import holm
from calib_core.predictions.plausibility import blocking
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.predictions.proper_scores import CAPPED, floored_words
from calib_core.predictions.validation import effective_rows
from calib_core.registry.registry import Recipe
from calib_core.text import (
    at_level,
    begun,
    chance,
    count,
    in_percent,
    inside,
    listed,
    points,
    rounded,
    short_percent,
    told_apart,
)
from calib_core.text import rows as about_rows
from calib_core.text import score as written

__all__ = ["FOLDS", "MOST_NUMBERS", "SCORES", "CalibratorChoice", "Remaining", "candidates_for", "choose"]

FEWEST_FOLDS = 3
"""One fold to evaluate, one to choose, one to fit."""
MOST_NUMBERS = 1_000_000
"""Largest number of rows times classes; larger data are subsampled, stratified by class."""
ALONE = 0.9
"""Weight in a blend above which a calibrator is recommended alone."""
HELD_OUT_REJECTS = (
    "The held-out rows played no part in the choice. They serve as a final check: a calibrator is recommended only if "
    "the whole interval of its gain on them is above 0."
)
"""Sentence on the role of the held-out rows in the choice."""


@dataclass(frozen=True, eq=False, repr=False)
class CalibratorChoice(OneLine):
    """Choice of a calibrator with its gain and uncertainty.

    ``recipe`` is recommended: the identity unless recalibrating is shown to help. ``winner`` has the best score on all
    ``rows`` (of ``among``) by cross-validation. ``equals`` do as well (the identity is among them if the model stays).
    Of named candidates the simplest of these is recommended, by default a blend (``blended``). ``simple`` is then the
    simplest calibrator among its equals, None if there is none. ``picks`` are the recommendations of the same rule
    without each fold.
    ``about`` is the recommended calibrator or, if there is none, the one that is nearest to a recommendation. ``gain``
    is its gain over the model, whose score is ``before``, with its interval at ``level``. It is on the ``held_out``
    rows or, if these are 0, on all rows, cross-fitted: the numbers of its line in the table. ``choosing`` is the gain
    of the picks, each on its own fold. ``evidence`` is, for log loss, the advantage in nats of a mixture of the
    candidates over the model. ``tested``: whether intervals are valid at their level. ``why`` is the reason for a
    missing interval. ``recipes`` are the candidates, ``table`` has a line for each, and ``kind`` is that of the
    predictions. ``floored`` is the number of judged rows in which the model gave the true class a probability of
    (nearly) 0. Its log loss there is at its maximum. ``order`` is the simplicity of each of ``recipes``, least for the
    simplest (``candidates.simplicity``). ``of_value`` is the number of rows that an update of one value of a column is
    fitted on. ``update`` is its slope and shift of the log-odds, if it is recommended. ``others`` is the gain of the
    recommended calibrator without the ``floored`` rows, by the same fits. It
    is None without a recommendation or without floored rows. ``floored_fit`` is the number of such rows among the
    calibration rows if others are held out. They can decide the fit: ``fitted_without`` is the gain of ``about`` if it
    is fitted without them (None if there are none). ``same_events``: whether calibration and held-out rows
    have the same share of events. The gain of an update of the mean risk is then a little too large. ``costs`` are
    those of decisions as text. ``groups`` has the gain of ``about`` in each group of a column, if one was named.
    """

    recipe: Recipe
    winner: Recipe
    equals: tuple[Recipe, ...]
    picks: tuple[Recipe, ...]
    recipes: tuple[Recipe, ...]
    score: str
    before: float
    gain: Difference
    choosing: Difference
    evidence: float
    level: float
    tested: bool
    rows: int
    among: int
    held_out: int
    kind: str
    floored: int
    table: pd.DataFrame
    about: Recipe = IDENTITY
    random_state: int = SEED
    why: str = ""
    order: tuple[tuple[float, ...], ...] = ()
    of_value: int = 0
    update: tuple[float, float] = (1.0, 0.0)
    others: Difference | None = None
    floored_fit: int = 0
    fitted_without: Difference | None = None
    same_events: bool = False
    by_likelihood: bool = False
    event_rate: float = np.nan
    blended: bool = False
    simple: Recipe | None = None
    costs: str = ""
    groups: GroupGains | None = None

    def frame(self) -> pd.DataFrame:
        """One line per candidate, the uncalibrated model first: its score on rows that its maps were not fitted on.

        Columns:

        - calibrator, title, score;
        - gain over the model, its interval low to high and p-value, uncorrected (p) and corrected for the number of
          candidates (p_holm);
        - gain_in_folds, the gain by cross-validation, which differs where the table is of held-out rows;
        - picked, the number of folds it was chosen for;
        - weight, its share in the blend (NaN if none was made);
        - accuracy and auroc, the change of each, with an interval (auroc: the chance that a row of the event has a
          higher risk than another, ties half; without an event, that a correct prediction has higher confidence than a
          wrong one);
        - ranked_in, whether auroc compares all rows or is the mean of those of each fold, whose maps differ;
        - mean_confidence, and mean_risk of an event;
        - rows_needed, the approximate number of calibration rows, larger for a rare event (``candidates.rarity``);
        - equal_to_best, whether it does as well as the best (the model: also if no calibrator is recommended);
        - note, why a number is missing or the candidate is excluded.

        Scores are those of ``judged_on``; gain_in_folds, picked and equal_to_best, which follow from it, are always by
        cross-validation. What can mislead: the largest of many gains is partly luck, and no interval here corrects for
        that.
        """
        return self.table.replace([np.inf, -np.inf], np.nan)

    def record(self) -> dict[str, object]:
        """Return the choice and its uncertainty as plain values."""
        return {
            "recommended": self.recipe.to_dict(),
            "gain_shown": self.recalibrate,
            "winner": self.winner.to_dict(),
            "equal_to_best": [recipe.to_dict() for recipe in self.equals],
            "simple": None if self.simple is None else self.simple.to_dict(),
            "picks": [pick.to_dict() for pick in self.picks],
            "score": self.score,
            "before": self.before,
            "gain_of": self.about.to_dict(),
            "gain": _plain(self.gain) | {"level": self.level, "tested": self.tested},
            "gain_of_choosing": _plain(self.choosing) | {"level": self.level, "tested": self.tested},
            "gain_without_floored_rows": None if self.others is None else _plain(self.others) | {"rows": self._rest},
            "floored_calibration_rows": self.floored_fit,
            "gain_fitted_without_them": None if self.fitted_without is None else _plain(self.fitted_without),
            "evidence": self.evidence if np.isfinite(self.evidence) else None,
            "rows": self.rows,
            "of_rows": self.among,
            "held_out_rows": self.held_out,
            "judged_on": self.judged_on,
            "sentences": [self.sentence, *self.price],
            "notes": list(self.notes),
            **({"costs": self.costs} if self.score == COST else {}),
            **({} if self.groups is None else {"worst_of": self.groups.column, "groups": self.groups.records()}),
        }

    @property
    def recalibrate(self) -> bool:
        """True if a calibrator is recommended."""
        return self.recipe != IDENTITY

    @property
    def judged_on(self) -> str:
        """The rows on which the gain is evaluated."""
        if self.held_out:
            return "1 held-out row" if self.held_out == 1 else f"{count(self.held_out)} held-out rows"
        if self.rows < self.among:
            return f"{count(self.rows)} of {_rows(self.among)}, cross-fitted"
        return f"all {_rows(self.rows)}, cross-fitted"

    def remaining(
        self,
        predictions: Predictions,
        held_out: Predictions | None = None,
        eps: float = TOLERANCE,
        recipe: Recipe | None = None,
    ) -> Remaining:
        """The calibration error that remains after the recommended calibrator, on rows it was not fitted on.

        ``predictions`` and ``held_out`` are those given to ``choose``: without held-out rows each row is judged after a
        calibrator that was fitted on the other folds. ``recipe`` names another calibrator. What can mislead: a
        recommended calibrator lowers the score; the error that remains can still be above the tolerance ``eps``.
        """
        recipe = self.recipe if recipe is None else recipe
        if held_out is not None:
            before, after = held_out, as_calibrator(recipe).fit_on(predictions).apply(held_out)
        else:
            fold = plain_folds(predictions, len(self.picks), self.random_state)
            before, after = predictions, over_folds(predictions, predictions, recipe, fold, fold)
        return Remaining.of(before, after, eps, self.level)

    @property
    def sentence(self) -> str:
        """Headline and effect in one text."""
        return f"{self.headline}. {self.effect()}"

    @property
    def headline(self) -> str:
        """Recommendation in a few words."""
        if not self.recalibrate:
            return "No calibrator significantly helps"  # only advice, which looks for errors, says to leave the model
        params = dict(self.recipe.params)
        if self.recipe.key in _UPDATES:
            where = "of all rows"
            if params.get("by"):
                where = f"separately by {params['by']}"
            if params.get("only"):
                where = f"of {title_of(str(params['by']), str(params['only']))} only"
            verb = _UPDATES[self.recipe.key]
            return f"{verb} the risk {where} ({inside(self.recipe.without('by', 'only').title)})"
        if self.blended:
            both = (self.recipe,) if self.simple is None else (self.simple, self.recipe)
            return f"Use {', or '.join(_in_use(each) for each in both)}"
        return f"Use {inside(self.recipe.title)}"

    def effect(self, fall: str = "") -> str:
        """Effect of the recommendation, in sentences, after the one on the fall of the error (``Remaining.fall``)."""
        name = name_of_score(self.score)
        if not self.recalibrate:
            return self._reason()
        only = dict(self.recipe.params).get("only")
        changes = (
            f"{self._moved()} The risk of all other rows is unchanged."
            if only
            else ""
            if self.score == COST  # decisions turn at the costs, not at 50 % or the largest probability
            else self._of_risks()
            if self.of_event
            else ""
            if self.kind == "confidence"
            else "No predicted class changes."
            if self._contract.keeps_argmax
            else "Some predicted classes can change."
        )
        among = ""
        if self.among_equals and self.recipe in self.equals and not self.blended:
            simplest = "the simpler" if len(self.equals) == 2 else "the simplest"
            which = simplest if all(map(self._no_simpler, self.equals)) else "one"
            equals = begun(_in_words(len(self.equals)))
            among = f"{equals} calibrators are about equally good by {name}; this is {which} of them."
        score, *floored = self._then()
        if self.simple is None:
            return " ".join(filter(None, (fall, changes, among, score, *floored)))
        changes = "Some risks can cross 50 %." if changes.startswith("Some risks") else changes
        effects = " ".join(filter(None, (fall, changes, *floored)))
        return f"{self.beside} With {self._called}, {inside(effects)}" if effects else self.beside

    @property
    def _called(self) -> str:
        if self.recipe.key == "blend":
            return "the blend"
        return f"{'the ' if _is_map(self.recipe) else ''}{inside(self.recipe.title)}"

    def _then(self) -> tuple[str, ...]:
        """Sentences on the score before and after, and on rows in which it is at its maximum."""
        name = name_of_score(self.score)
        then = f"{begun(name)} {self._way} from {written(self.before)} to {written(self.before - self.gain.point)}."
        if not self.floored or self.score != "log-loss":
            return (then,)
        capped = f"{self._at_most()}. The log loss of such a row is {CAPPED}."
        rest = f"On the other {_rows(self._rest)}, the interval of the gain includes 0."
        return then, capped, rest if self.rests_on_floored else ""

    @property
    def beside(self) -> str:
        """Effect of the simpler calibrator that is about as good, in a sentence; empty if there is none."""
        if self.simple is None:
            return ""
        line = self.table.iloc[self.recipes.index(self.simple)]
        keeps = CALIBRATORS[self.simple.key].flags.keeps_argmax and self.score != COST
        keeping = " and changes no predicted class" if keeps else ""
        return (
            f"{begun(_in_use(self.simple))} is simpler and about as good: it lowers "
            f"{name_of_score(self.score)} by {written(float(line['gain']))}{keeping}; {self._called} lowers "
            f"it by {written(self.gain.point)}."
        )

    def _moved(self) -> str:
        """Effect of the recommended update on the log-odds of the rows of its value."""
        slope, shift = self.update
        odds = f"their odds are {'divided' if shift < 0 else 'multiplied'} by {written(float(np.exp(abs(shift))))}"
        if slope == 1.0:
            return f"The log-odds of these rows all change by {_signed(shift)}: {odds}."
        return f"The log-odds of these rows are all multiplied by {written(slope)}; then {odds}."

    @property
    def _way(self) -> str:
        """Verb for the direction of the score."""
        return "rises" if self.gain.point < 0 else "falls"

    def _at_most(self) -> str:
        """Sentence on the rows in which the model's log loss is at its maximum, without its period."""
        return begun(floored_words(self.floored, self._judged, bare=self.kind == "confidence"))

    @property
    def _judged(self) -> int:
        return self.held_out or self.rows

    @property
    def _rest(self) -> int:
        return self._judged - self.floored

    @property
    def rests_on_floored(self) -> bool:
        """True if there is no significant gain without the rows in which the model's log loss is at its maximum."""
        return self.others is not None and not self.others.low > 0

    def _of_risks(self) -> str:
        """Effect on the predicted class of an event's risk (above or below 50 %)."""
        kept = self._contract.keeps_argmax and self._contract.output in ("full", "same")
        if kept:
            return "No risk crosses 50 %, so no predicted class changes."
        return "Some risks can cross 50 %, so a decision at 50 % can change."

    @property
    def of_event(self) -> bool:
        """True if the rows are predicted risks of an event."""
        return bool(np.isfinite(self.table["mean_risk"].iloc[0]))

    def _no_simpler(self, other: Recipe) -> bool:
        """True if the other candidate is no simpler than the recommended one."""
        mine, its = (self.order[self.recipes.index(each)] for each in (self.recipe, other))
        return mine <= its

    def _reason(self) -> str:
        """Reason for leaving the model unchanged."""
        name, tried = name_of_score(self.score), len(self.recipes) - 1
        if self.why or not tried:
            return f"No gain can be shown because {self.why or 'there is no calibrator to try'}."
        if self.groups is not None and len(self.groups.harmed) and self.gain.point > 0:
            title = begun(inside(self.about.title))
            return f"{title} lowers the {name} of all rows, but harms a group. {self.groups.sentence}"
        if self.held_out and self._of_stated_use and self.evidence > ENOUGH and self.gain.point > 0:
            what = f"{begun(inside(self.about.title))} lowers the {name} on {self.judged_on}"
            return f"{what}, but its gain in log loss on these rows is not significant, which is also required."
        if self.blended and self.evidence > ENOUGH and not self.gain.point > 0:
            about = (
                f"the best average of {tried - 1} calibrators"
                if self.about.key == "blend"
                else inside(self.about.title)
            )
            return f"By log loss, {about} predicts clearly better than the model, but it does not lower the {name}."
        if self.about == IDENTITY or not 0 < self.gain.point < np.inf:
            where = "in cross-validation" + (" on the calibration rows" if self.held_out else "")
            none = (
                f"The only calibrator tried does not reliably lower the {name} {where}."
                if tried == 1
                else f"None of {tried} calibrators reliably lowers the {name} {where}."
            )
            return f"{none}{self._gains_not_shown_before}"
        # Another may lower it more: the simplest of the equally good is chosen, on the calibration rows only.
        nearest = f"Of {tried} calibrators, {inside(self.about.title)} is nearest to a recommendation. It"
        which = nearest if tried > 1 else begun(_ONE)
        if self.about.key == "blend":
            which = f"The best average of {tried - 1} calibrators, a {inside(self.about.title)},"
        gain, in_folds = (f"{written(each.point)} ({self._ends(each)})" for each in (self.gain, self.choosing))
        lowers = f"{which} lowers the {name} by {gain} on {self.judged_on}"
        if self.held_out and self.gain.low > 0:
            why = f". Cross-validation on the calibration rows, which is also required, shows too little: {in_folds}."
        else:
            why = ". This is too little evidence to change the model."
        return f"{lowers}{why}{self._same_events(self.about)}"

    @property
    def _gains_not_shown_before(self) -> str:
        """Sentence on calibrators that gain on held-out rows, but not on the calibration rows; empty if none does."""
        if not self.held_out or not (self.table["low"] > 0).any():
            return ""
        return (
            " Gains on the other rows only (table) do not count: those rows are the final check, and the largest of "
            "many gains is partly luck."
        )

    def _same_events(self, *recipes: Recipe) -> str:
        """Note on gains that are slightly too large for recipes that change the mean risk of all rows; else empty."""
        moved = any(recipe.key in _UPDATES and not dict(recipe.params).get("by") for recipe in recipes)
        return f" {_SAME_EVENTS}" if self.same_events and moved else ""

    @property
    def _lines(self) -> tuple[Any, Any]:
        """Table lines of the model and of the calibrator in the sentences."""
        return self.table.iloc[0], self.table.iloc[self.recipes.index(self.about)]

    @property
    def among_equals(self) -> bool:
        """True if other candidates are as good as the recommended one."""
        return len(self.equals) > 1

    @property
    def _contract(self) -> Contract:
        contract: Contract = CALIBRATORS[self.recipe.key].flags
        return contract

    def _ends(self, gain: Difference) -> str:
        guide = "" if self.tested else ", a rough guide"
        by = " by the likelihood ratio of all these rows" if self.by_likelihood and gain is self.gain else ""
        return f"{at_level(self.level)} interval {written(gain.low)} to {written(gain.high)}{by}{guide}"

    @property
    def price(self) -> tuple[str, ...]:
        """Gain with its interval and side effects, in sentences; or the number of rows needed to show a gain."""
        if not self.recalibrate:
            return tuple(filter(None, (self._of_floored_fit, *self._more_rows())))
        base, line = self._lines
        contract = self._contract
        needed = int(line["rows_needed"])
        name = name_of_score(self.score)
        texts = (
            f"On {self.judged_on}, {name} {self._way} by {written(abs(self.gain.point))} ({self._ends(self.gain)})."
            f"{self._same_events(self.about)}",
            "" if self.groups is None else self.groups.sentence,
            self._of_members(),
            self._of_floored_fit,
            "" if contract.keeps_argmax else f"Accuracy {_moves(line, self.level)}.",
            self._best(),
            self._ranking(base, line),
            *self._means(base, line),
            _ALONE
            if contract.output == "top-label" and self.kind == "full"
            else "The probabilities of a row need not sum to one."
            if contract.output == "per-class"
            else "",
            self._rows_to_fit(needed) if needed else "",
        )
        return tuple(filter(None, texts))

    def _of_members(self) -> str:
        """Sentence on the members of a recommended blend and their weights; empty for other calibrators."""
        params: dict[str, Any] = dict(self.recipe.params)
        if self.recipe.key != "blend":
            return ""
        both = zip(params["members"], params["weights"], strict=True)
        shares = [f"{inside(member.title)} ({short_percent(weight)})" for member, weight in both]
        return f"The blend averages the probabilities of {listed(shares)}."

    @property
    def _of_floored_fit(self) -> str:
        """Sentence on calibration rows of (almost) infinite log loss, and the gain of a fit without them; else empty.

        A fit by log loss weighs each by its loss, so that one such row can outweigh hundreds of others.
        """
        if self.fitted_without is None:
            return ""
        found = floored_words(self.floored_fit, self.among, bare=self.kind == "confidence")
        rows = begun(found.replace(" rows the", " calibration rows the"))
        gain = self.fitted_without
        way = "raise" if gain.point < 0 else "lower"
        return (
            f"{rows}. Such rows can decide the fit. Fitted without {'it' if self.floored_fit == 1 else 'them'}, "
            f"{inside(self.about.title)} would {way} {name_of_score(self.score)} by "
            f"{written(abs(gain.point))} ({self._ends(gain)})."
        )

    def too_few_to_fit(self, recipe: Recipe) -> str:
        """Sentence on a calibrator that usually needs more calibration rows than there are; empty if they suffice."""
        needed = int(self.table.iloc[self.recipes.index(recipe)]["rows_needed"])
        if needed <= self.among:
            return ""
        return f" But it usually needs about {about_rows(needed)} calibration rows; you have {count(self.among)}."

    def _rows_to_fit(self, needed: int) -> str:
        """Sentence on the number of rows that the recommended calibrator needs and has."""
        params = dict(self.recipe.params)
        of_value = f" of {title_of(str(params['by']), str(params['only']))}" if params.get("only") else ""
        there = self.of_value if of_value else self.among
        name = begun(inside(self.recipe.without("by", "only").title))
        return f"{name} needs about {about_rows(needed)} calibration rows{of_value}; you have {count(there)}."

    def _ranking(self, base: Any, line: Any) -> str:
        """Sentence on the ranking of rows: by the risk of an event, else of correct above wrong predictions."""
        if not np.isfinite(line["auroc_gain"]):
            return ""
        what = (
            "The probability that a row with the event has a higher risk than one without it"
            if self.of_event
            else "The probability that a correct prediction has higher confidence than a wrong one"
        ) + f" ({auroc_heading(self.table)})"
        before, after = (rounded(float(each["auroc"]), 4) for each in (base, line))
        if abs(line["auroc_gain"]) < _SAME:
            return f"{what} stays at {before}."
        low, high = (float(line[f"auroc_gain_{end}"]) for end in ("low", "high"))
        ends = "too few rows for an interval"
        if np.isfinite(low):
            ends = f"{at_level(self.level)} interval of the change {_signed(low)} to {_signed(high)}"
        return f"{what} goes from {before} to {after}{_unclear(low, high)} ({ends})."

    def _means(self, base: Any, line: Any) -> tuple[str, ...]:
        """Sentence on the mean risk of an event (else the mean confidence) before and after."""
        name, what = (
            ("mean_risk", "Mean predicted risk")
            if np.isfinite(base["mean_risk"])
            else ("mean_confidence", "Mean confidence")
        )
        if not np.isfinite(line[name]):
            return ()
        if abs(line[name] - base[name]) < _SAME:
            return (f"{what} stays {short_percent(base[name])}.",)
        way = "rises" if line[name] > base[name] else "falls"
        away = ""
        if name == "mean_risk" and abs(line[name] - self.event_rate) > abs(base[name] - self.event_rate) + _SAME:
            away = f", further from the observed {short_percent(self.event_rate)}"
        return ("{} {} from {} to {}{}.".format(what, way, *told_apart(base[name], line[name]), away),)

    def _best(self) -> str:
        """Comparison with the best candidate, if it is another."""
        if self.winner == self.recipe:
            return ""
        best, mine = (self.table.iloc[self.recipes.index(each)] for each in (self.winner, self.recipe))
        if not 0 < float(mine["gain"]) < float(best["gain"]) < np.inf:
            return ""
        share = in_percent(max(float(mine["gain"]) / float(best["gain"]), 0.0))
        name = inside(self.winner.title)
        costs = CALIBRATORS[self.winner.key].flags.keeps_argmax or not np.isfinite(best["accuracy_gain"])
        accuracy = "" if costs else f" With {name}, accuracy {_moves(best, self.level)}."
        less = " but less simple" if self._no_simpler(self.winner) else ""
        where = "on the held-out rows, " if self.held_out else ""
        return (
            f"{begun(f'{where}{inside(self.recipe.title)}')} achieves {share} of the gain of {name}, which is best in "
            f"cross-validation{less}.{accuracy}"
        )

    def _more_rows(self) -> tuple[str, ...]:
        """Sentence on the number of rows needed to show this gain, and the upper end of its interval.

        The gain is the result of a search for one that is too uncertain to be significant, and so is the first number.
        """
        gain, rows = self.gain, self.held_out or self.rows
        if self.about == IDENTITY or not 0 < gain.point < np.inf or self.why:
            return ()
        if self.groups is not None or self._of_stated_use:
            return ()  # the evidence that is missing is not only that of this gain
        if not gain.p_value < 1 or not 1 < (needed := self._rows_to_show(gain.point)) / rows <= _MOST_TIMES:
            return ()
        held_out = "held-out " if self.held_out else ""
        largest = ""
        if np.isfinite(gain.high):
            largest = (
                f" This number is as uncertain as the gain: if it is {written(gain.high)}, the upper end of its "
                f"interval, about {about_rows(self._rows_to_show(gain.high))} are enough."
            )
        return (
            f"About {about_rows(needed)} {held_out}rows would show a gain of {written(gain.point)} in four of five "
            f"samples.{largest}",
        )

    def _rows_to_show(self, size: float) -> float:
        """Return the number of rows that show a gain of this size in four of five samples, with the gain's spread."""
        rows, power = self.held_out or self.rows, norm.ppf(_SHOWN)
        # The gain is p's quantile away from 0, and this distance grows with the square root of the rows.
        spread = self.gain.point * rows**0.5 / norm.isf(self.gain.p_value / 2)
        needed = ((norm.isf((1 - self.level) / 2) + power) * spread / size) ** 2
        if np.isfinite(self.evidence) and not self.held_out:
            needed = 0.0 if self.blended else needed
            # N m - power * sqrt(N) s = ENOUGH, for rows of mean m and spread s
            root = (power * spread + ((power * spread) ** 2 + 4 * size * ENOUGH) ** 0.5) / (2 * size)
            needed = max(needed, root**2)
        return float(needed)

    @property
    def _repeated(self) -> str:
        """Name of the choice that is repeated; without a recommendation, the best calibrator failed a condition."""
        return "of a calibrator" if self.recalibrate else "of the best calibrator, before the conditions below,"

    def _other_picks(self) -> str:
        """Sentence on different choices without single folds; empty if there are none."""
        others = Counter(pick for pick in self.picks if pick != self.about)
        if not others:
            return ""
        named = listed([f"{inside(recipe.title)} ({number})" for recipe, number in others.most_common()])
        equal = self.recipe in self.equals and set(others) <= set(self.equals)
        lows = dict(zip(self.recipes, self.table["low"].tolist(), strict=True))
        if self.recalibrate and equal and all(self._no_simpler(other) or not lows[other] > 0 for other in others):
            why = "On all rows, they are about equally good: the simplest whose interval is above 0 is recommended."
        else:
            why = "A choice on fewer rows can differ; the advice uses all of them."
        return f" The others chose {named}. {why}"

    def _corrected(self) -> str:
        """Explain a corrected p-value of the recommended calibrator above the limit; empty if it is significant."""
        _, line = self._lines
        if not self.recalibrate or not line["p_holm"] > SIGNIFICANCE:
            return ""
        return (
            f"The {chance(line['p_holm'])} of {inside(self.about.title)} allows for having tried "
            f"{len(self.recipes) - 1} calibrators. The recommendation does not use it: it uses the interval of the "
            "gain and the likelihood below."
        )

    def _not_met(self) -> str:
        """Sentence on what is missing for a recommendation although the evidence is enough; empty otherwise."""
        if self.recalibrate or self.about == IDENTITY or not self.evidence > ENOUGH:
            return ""
        if not self.gain.low <= 0 <= self.gain.high:
            return ""
        what = "The third condition" if self.held_out else "The first condition"
        return f" {what} is not met: the interval of the gain of {inside(self.about.title)} includes 0."

    def _how(self) -> str:
        """Describe how the calibrator was chosen, and how often the choice is the same without one fold."""
        start = f"Chosen by {name_of_score(self.score)}, cross-validated in {len(self.picks)} random folds"
        if self.blended:
            by = "" if self.score == "log-loss" else " by log loss"
            return (
                f"{start}. A blend averages the calibrators; those that predicted left-out rows better{by} weigh more."
            )
        same = sum(pick == self.about for pick in self.picks)
        return (
            f"{start}. The choice {self._repeated} was repeated without each fold in turn: it was "
            f"{inside(self.about.title)} in {same} of {len(self.picks)} repetitions.{self._other_picks()}"
        )

    def _rule(self) -> str:
        """Describe the rule by which a calibrator is recommended by log loss, and its result."""
        by = " in log loss" if self._of_stated_use else ""
        held_out = f"the interval of its gain{by} on the held-out rows is above 0." if self.held_out else ""
        enough, times = f"more than {np.exp(ENOUGH):.1f} times the model's", _times(self.evidence)
        if self.blended:
            same = sum(pick != IDENTITY for pick in self.picks)
            wide = self.recalibrate and not self.gain.low > 0
            includes = " It decides, although the interval of the gain includes 0." if wide else ""
            return (
                "Recalibration is recommended if the blend predicts the outcomes of left-out rows clearly better than "
                "the model does. Its likelihood (the probability that it gives to all of them together) must be "
                f"{enough}; here it is {times} times.{includes} Without each fold in turn, this is so in {same} of "
                f"{len(self.picks)} cases. A calibrator with more than {in_percent(ALONE)} of the weight is "
                f"recommended alone.{self._of_use()}"
            ) + (f" On the held-out rows, the interval of its gain{by} must be above 0, too." if held_out else "")
        return (
            f"A calibrator is recommended if {'three' if self.held_out else 'two'} conditions are met. First, the "
            "interval of its gain in cross-validation is above 0. Second, a weighted average of all calibrators "
            "predicts the outcomes of these rows clearly better than the model does. Its likelihood (the probability "
            f"that it gives to all of them together) must be {enough}; here it is {times} times the model's. With few "
            "rows, one likelihood-ratio test can replace these two conditions."
            f"{f' Third, {held_out}' if held_out else ''}{self._of_use()}{self._not_met()}"
        )

    @property
    def _of_stated_use(self) -> bool:
        """True if a blend, which is made by log loss, is chosen for another use."""
        return self.blended and self.score != "log-loss"

    @property
    def held_out_rule(self) -> str:
        """Sentences on the role of the held-out rows."""
        if self._of_stated_use:
            rejects = HELD_OUT_REJECTS.replace("its gain on them", "its gain in log loss on them")
            return f"{rejects[:-1]}, and if the {name_of_score(self.score)} falls."
        return HELD_OUT_REJECTS

    def _of_use(self) -> str:
        """Describe the conditions of a stated use; empty for log loss of all rows."""
        name = name_of_score(self.score)
        use = f" It must also lower the {name} of these rows." if self._of_stated_use else ""
        if self.groups is None:
            return use
        return (
            f"{use} By {self.groups.column}, it must not harm a group: none may be significantly worse than with the "
            f"model, by more than {in_percent(HARM)} of the gain over all rows. If one is, an equally good calibrator "
            "that harms no group is recommended."
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the method of the choice, excluded candidates, and the interval."""
        left = self.table[(self.table["note"] != "") & (self.table["calibrator"] != IDENTITY.key)]
        texts = (
            self._how(),
            self._corrected(),
            _PRIOR if self.table["title"].str.contains("prior rows").any() else "",
            self._rule() if np.isfinite(self.evidence) else "",
            (
                "With so few rows, the interval of the recommended gain is for the best map of its kind, by the "
                "likelihood ratio. The other intervals treat the fitted calibrators as fixed. "
                if self.by_likelihood
                else "The interval is for new test rows; it treats the fitted calibrators as fixed. "
            )
            + (
                self.held_out_rule
                if self.held_out
                else "The calibrator was chosen by cross-validation on the same rows; the interval does not correct "
                "for that."
            ),
            f"{count(self.rows)} of {count(self.among)} rows were sampled, stratified by class, to save time."
            if self.rows < self.among
            else "",
            f"{self._at_most()}. As the log loss of such a row is {CAPPED}, gains look smaller than they are."
            if self.floored
            else "",
            "" if self._same_events(self.about) else self._same_events(*self.recipes).strip(),
            *(
                f"{line.title}: {line.note}.{_INFINITE if str(line.note).startswith(NEW_ZERO) else ''}"
                for line in left.itertuples()
            ),
        )
        return tuple(filter(None, texts))


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


def auroc_heading(table: pd.DataFrame) -> str:
    """Return the heading of the AUROC column: over all rows, or the mean within folds."""
    return "AUROC within folds" if EACH_FOLD in table["ranked_in"].tolist() else "AUROC"


_UPDATES = {
    "intercept": "Shift",
    "logistic-recalibration": "Shift and stretch",
}
"""Verb of an update of a risk in the headline."""
_WITH_TILTS = ("logistic-recalibration", "vector", "dirichlet")
"""Calibrators whose maps include those of temperature scaling and, for an event, of an intercept update."""
_INFINITE = (
    " It gives some class a probability of 0 although the model does not. If that class is the true one in any row, "
    "the log loss is infinite, so it is not listed."
)
"""Consequence of a new probability of 0."""
_SAME_EVENTS = (
    "The split gives both parts the same event rate. In new data the rate varies, so an "
    "update of the mean risk gains slightly less than shown."
)
_SAME = 5e-4
"""Smaller changes of AUROC, mean risk or mean confidence are not reported."""
_PRIOR = (
    "Prior rows: the original model counts as that number of rows of the fit. With few rows, predictions change little."
)
_ONE = "the only calibrator tried"
_ALONE = (
    "It returns the probability of the predicted class only. For the comparison, the other classes share the rest "
    "in their original proportions."
)
_SHOWN = 0.8
"""Power of the reported number of rows."""
_MOST_TIMES = 1000
"""Largest reported multiple of the available rows; beyond it, the gain is all noise."""


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

    def _of_blend(self, contest: Contest, enough: bool) -> int:
        """Return the candidate recommended by the blend's rule; 0 for none.

        An update of one value that does as well is preferred, as it leaves all other rows unchanged.
        """
        place = self.blended or 0
        if not (enough and contest.eligible(contest.every)[place]):
            return 0
        own = [i for i in contest.equals(contest.every) if dict(self.recipes[i].params).get("only")]
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
        choosing, tested, why = self._of_picks(picked)
        evidence, enough = float("nan"), choosing.low > 0
        if self.pooled or trial.score == "log-loss":
            evidence = mixture.evidence(trial.fold, self._worth)
            enough = evidence > ENOUGH
        chosen = [i for i in equals if i in picked]
        # A likelihood ratio replaces intervals in the table: it is asked only where the blend shows too little.
        by_blend = self.blended is not None and enough
        found = 0 if why or by_blend else self._recommended(contest, chosen, picked, enough=enough)
        about = found or min(chosen, key=lambda i: contest.simplicity[i], default=winner)
        blended = self.blended is not None and not found
        if self.blended is not None and not found:
            nats = [mixture.evidence(trial.fold, self._worth, rows) for rows in others]
            picked = [self.blended if each > ENOUGH else 0 for each in nats]
            choosing, tested, why = self._of_picks(picked)
            found = 0 if why else self._of_blend(contest, enough=enough)
            about = found or self.blended or winner
            winner, equals = (found, sorted({found, *equals})) if found else (winner, equals)
        groups, refused = dict[int, GroupGains](), False
        if self.worst_of and about:
            groups = {i: self._by_group(i) for i in (about, *equals) if i in self.afters}
            chosen_first, found = found, self._for_groups(found, groups)
            refused = bool(chosen_first) and not found
            about = found or about
        by_group = groups.get(about)
        before, floored, tested_on, lines = trial.mean(trial.losses), int(trial.floored.sum()), 0, self.lines
        if held_out is not None:
            judged = counting(held_out)
            before, floored, lines = self._on_held_out(counting(predictions), judged, {0, about, winner})
            tested_on = judged.n_rows
            tested = judged.weights is None and judged.row_groups is None
            found = found if self._confirmed(found, lines, predictions, judged) else 0
            if by_group is not None and refused:
                by_group = replace(by_group, where="In cross-validation, ")
            elif by_group is not None:
                by_group = self._by_group_of(about, predictions, judged)
                found = 0 if _harms(by_group) else found

        def accepted(i: int) -> bool:
            if held_out is None:
                return not _harms(groups.get(i))
            if self.worst_of and (_harms(groups.get(i)) or _harms(self._by_group_of(i, predictions, judged))):
                return False
            return self._confirmed(i, lines, predictions, judged)

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
            table=self._table(picked, equals, lines),
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

    def _table(self, picked: Sequence[int], equals: Sequence[int], lines: Sequence[dict[str, Any]]) -> pd.DataFrame:
        table = pd.DataFrame(lines).assign(
            gain_in_folds=[line["gain"] for line in self.lines],
            rows_needed=[line["rows_needed"] for line in self.lines],
            picked=np.bincount(picked, minlength=len(self.recipes)),
            weight=np.nan if self.shares is None else np.append(self.shares, np.nan)[: len(self.recipes)],
            equal_to_best=[i in equals for i in range(len(self.recipes))],
        )
        table["p_holm"] = holm(table["p"])
        by_log_loss = self._by_log_loss
        totals, risks = by_log_loss.totals(by_log_loss.every), by_log_loss.risk(by_log_loss.every)
        for i in np.flatnonzero((totals > 0) & np.isfinite(totals) & (risks > BOLD * totals)):
            table.loc[i, "note"] = (
                "a probability near 0 for outcomes that remain possible. One such outcome would raise the total "
                f"log loss by {written(risks[i])}; in cross-validation, the calibrator lowers it by only "
                f"{written(totals[i])}"
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
    there = f"there are {_rows(parts) if rows.row_groups is None else rows.row_groups.words}"
    if parts < FEWEST_FOLDS:
        raise NotAnswerable(f"choosing by cross-validation needs at least 3 non-empty folds, and {there}")
    raise InputError(f"folds is {folds}, but {there}; use fewer folds, at least 3")


def _plain(gain: Difference) -> dict[str, float]:
    return {name: getattr(gain, name) for name in ("point", "low", "high", "p_value")}


def _event_rate(rows: Predictions) -> float:
    """Return the observed frequency of the event; NaN without an event."""
    if rows.event is None:
        return float("nan")
    return float(np.average(rows.true_labels == rows.event, weights=rows.weights))


_OVR = ", one-vs-rest"


def _in_use(recipe: Recipe) -> str:
    """Title after the verb "use": maps and blends have an article."""
    title = inside(recipe.title)
    title = f"{title.removesuffix(_OVR)} ({_OVR[2:]})" if title.endswith(_OVR) else title  # no comma in a list
    if not (recipe.key == "blend" or _is_map(recipe)):
        return title
    return f"{'an' if title[0] in 'aeiou' else 'a'} {title}"


def _is_map(recipe: Recipe) -> bool:
    """True for a calibrator whose title calls it a map."""
    return recipe.title.partition(",")[0].partition(" (")[0].endswith(" map")


def _times(nats: float) -> str:
    """Format a likelihood ratio."""
    return "over a million" if nats > 13.8 else written(float(np.exp(nats)))


_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def _in_words(number: int) -> str:
    return _WORDS[number] if number < len(_WORDS) else count(number)


def _drawn(rows: Predictions, random_state: int) -> Predictions:
    """Return the rows, subsampled if they are too many."""
    share = MOST_NUMBERS / (rows.n_rows * (rows.n_classes or 2))
    return rows if share >= 1 else rows.split(share, random_state=random_state)[0]


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{count(number)} rows"


def _moves(line: pd.Series, level: float) -> str:
    """Verb for a change of the accuracy, its size, and its interval."""
    gain, low, high = (float(line[f"accuracy_gain{end}"]) for end in ("", "_low", "_high"))
    size = points(gain).lstrip("+−")
    way = "stays the same" if size.startswith("0 ") else f"{'rises' if gain > 0 else 'falls'} by {size}"
    if not np.isfinite(low):
        return f"{way} (too few rows for an interval)"
    if gain and _unclear(low, high):
        way = f"changes by {points(gain)}{_unclear(low, high)}"
    return f"{way} ({at_level(level)} interval {points(low).removesuffix(' points')} to {points(high)})"


def _unclear(low: float, high: float) -> str:
    """Note on a change whose interval includes 0; empty otherwise."""
    return ", no clear change" if low <= 0 <= high else ""


def _signed(change: float) -> str:
    """Format a change with its sign."""
    return f"{'+' if change > 0 else ''}{written(change)}"
