"""Result of a choice of a calibrator, with its sentences: the advice, its effects, and notes on the method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib_core._base.distributions import norm
from calib_core._base.notebook_display import OneLine
from calib_core._base.pandas_input import title_of
from calib_core.calibrators.base import CALIBRATORS, Contract, as_calibrator
from calib_core.defaults import SEED, SIGNIFICANCE, TOLERANCE
from calib_core.evaluation.candidate_ranking import ALONE, ENOUGH
from calib_core.evaluation.candidates import EACH_FOLD, IDENTITY, NEW_ZERO
from calib_core.evaluation.cross_fitting import over_folds, plain_folds
from calib_core.evaluation.group_gains import HARM, GroupGains
from calib_core.evaluation.remaining_error import Remaining
from calib_core.evaluation.row_losses import COST, name_of_score
from calib_core.inference.comparison.paired_differences import Difference
from calib_core.predictions.predictions import Predictions
from calib_core.predictions.proper_scores import CAPPED, floored_words
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
    several,
    short_percent,
    told_apart,
)
from calib_core.text import rows as about_rows
from calib_core.text import score as written

HELD_OUT_REJECTS = (
    "The held-out rows played no part in the choice. They serve as a final check: a calibrator is recommended only if "
    "the whole interval of its gain on them is above 0."
)
"""Sentence on the role of the held-out rows in the choice."""
_UPDATES = {
    "intercept": "Shift",
    "logistic-recalibration": "Shift and stretch",
}
"""Verb of an update of a risk in the headline."""
_INFINITE = (
    " It gives some class a probability of 0 although the model does not. If that class is the true one in any row, "
    "the log loss is infinite, so it is not listed."
)
"""Consequence of a new probability of 0."""
_SAME_EVENTS = (
    "The split gives both parts the same event rate. In new data the rate varies, so an update of the mean risk gains "
    "slightly less than shown."
)
_SAME = 5e-4
"""Smaller changes of AUROC, mean risk or mean confidence are not reported."""
_PRIOR = (
    "Prior rows: the fit is drawn toward the original model, as if this number of further rows agreed with it. So a "
    "fit to few rows changes predictions little."
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
    ``harmful`` is a calibrator that is not recommended only because it harms such a group; None if there is none.
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
    harmful: Recipe | None = None

    def frame(self) -> pd.DataFrame:
        """One line per candidate, the original model first: its score on rows that its maps were not fitted on.

        Columns:

        - calibrator, title, score;
        - gain over the model, its interval low to high and p-value, uncorrected (p) and corrected for the number of
          candidates (p_holm);
        - gain_in_folds, the gain by cross-validation, which differs where the table is of held-out rows;
        - picked, the number of folds without which it was chosen, or was the simplest that is about as good as a blend;
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

    def _line(self) -> str:
        return self.headline

    def _facts(self) -> dict[str, object]:
        return {
            "advice": self.headline,
            "effect": self.effect(),
            "judged on": self.judged_on,
            "ask": ".frame(), .recipe, .notes",
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
            return f"{count(self.rows)} of {several(self.among)}, cross-fitted"
        return f"all {several(self.rows)}, cross-fitted"

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
        if not self.recalibrate and self.harmful == self.about:
            return "No calibrator is recommended"
        if not self.recalibrate:
            return "No calibrator significantly helps"  # only advice, which looks for errors, says to leave the model
        if self.simple is not None:
            use = "use " if self.simple.key in _UPDATES else ""
            return f"{_to_do(self.simple)}, or {use}{_in_use(self.recipe)}"
        return _to_do(self.recipe)

    def effect(self, fall: str = "", of_simpler: str = "") -> str:
        """Effect of the recommendation, in sentences, after the one on the fall of the error (``Remaining.fall``).

        ``of_simpler`` is the sentence on the error after the simpler calibrator, if there is one
        (``Remaining.change``).
        """
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
        return " ".join(
            filter(None, (self.beside, self.with_either(of_simpler, fall), self.with_recommended(changes), *floored))
        )

    def with_recommended(self, text: str) -> str:
        """Name the recommended calibrator at the start of a text, if a simpler one stands beside it."""
        return f"With {_called(self.recipe)}, {inside(text)}" if text and self.simple is not None else text

    def with_either(self, of_simpler: str, text: str) -> str:
        """Texts on the simpler and on the recommended calibrator, with their names; one if they are equal."""
        if self.simple is None:
            return text
        if of_simpler == text:
            return f"With either, {inside(text)}" if text else ""
        first = f"With {_SIMPLER}, {inside(of_simpler)}" if of_simpler else ""
        return " ".join(filter(None, (first, self.with_recommended(text))))

    def _then(self) -> tuple[str, ...]:
        """Sentences on the score before and after, and on rows in which it is at its maximum."""
        name = name_of_score(self.score)
        unclear = ""
        if self._of_stated_use and not self.gain.low > 0:
            unclear = ", not a clear change; log loss clearly falls"
        after = written(self.before - self.gain.point)
        then = f"{begun(name)} (lower is better) {self._way} from {written(self.before)} to {after}{unclear}."
        if not self.floored or self.score != "log-loss":
            return (then,)
        capped = f"{self._at_most()}. The log loss of such a row is {CAPPED}."
        rest = f"On the other {several(self._rest)}, no gain is shown: its interval includes 0."
        return then, capped, rest if self.rests_on_floored else ""

    @property
    def beside(self) -> str:
        """Effect of the simpler calibrator that is about as good, in a sentence; empty if there is none."""
        if self.simple is None:
            return ""
        keeps = CALIBRATORS[self.simple.key].flags.keeps_argmax and self.score != COST
        keeping = " It changes no predicted class." if keeps else ""
        name = f"{name_of_score(self.score)} (lower is better)"
        if float(self._row(self.simple)["gain"]) >= self.gain.point:
            return f"The first is simpler and lowers {name} at least as much.{keeping}"
        return f"{begun(_SIMPLER)} is about equally good by {name}.{keeping}"

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
        return "Risks can move across 50 %, so a decision at 50 % can change."

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
        if self.groups is not None and self.harmful == self.about:
            lowers = f"lowers the {name} of all rows, but " if self.gain.point > 0 else ""
            return f"{begun(_in_use(self.about))} {lowers}harms a group. {self.groups.sentence}"
        if self.held_out and self._of_stated_use and self.evidence > ENOUGH and self.gain.point > 0:
            what = f"{begun(_in_use(self.about))} lowers the {name} on {self.judged_on}"
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
                f"The only calibrator tried does not reliably lower the {name} (lower is better) {where}."
                if tried == 1
                else f"None of {tried} calibrators reliably lowers the {name} (lower is better) {where}."
            )
            return f"{none}{self._gains_not_shown_before}"
        # Another may lower it more: the simplest of the equally good is chosen, on the calibration rows only.
        nearest = f"Of {tried} calibrators, {inside(self.about.title)} is nearest to a recommendation. It"
        which = nearest if tried > 1 else begun(_ONE)
        if self.about.key == "blend":
            which = f"The best average of {tried - 1} calibrators (a {inside(self.about.title)})"
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
            " Some calibrators gain on the held-out rows only (see the table). These gains do not count: the held-out "
            "rows are the final check, and the largest of many gains is partly luck."
        )

    def _same_events(self, *recipes: Recipe) -> str:
        """Note on gains that are slightly too large for recipes that change the mean risk of all rows; else empty."""
        moved = any(recipe.key in _UPDATES and not dict(recipe.params).get("by") for recipe in recipes)
        return f" {_SAME_EVENTS}" if self.same_events and moved else ""

    @property
    def _lines(self) -> tuple[Any, Any]:
        """Table lines of the model and of the calibrator in the sentences."""
        return self._row(IDENTITY), self._row(self.about)

    def _row(self, recipe: Recipe) -> Any:
        """Table line of a calibrator."""
        return self.table.iloc[self.recipes.index(recipe)]

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
        contract = self._contract
        needed = int(self._lines[1]["rows_needed"])
        accuracy, means = map(self._of_both, (self._accuracy, self._means))
        texts = (
            self._gains(),
            "" if self.groups is None else self.with_recommended(self.groups.sentence),
            self._of_harmful(),
            self._of_members(),
            self._of_floored_fit,
            accuracy,
            self._best(),
            self._rankings(),
            means,
            _ALONE
            if contract.output == "top-label" and self.kind == "full"
            else "The probabilities of a row need not sum to one."
            if contract.output == "per-class"
            else "",
            self._rows_to_fit(needed) if needed else "",
        )
        return tuple(filter(None, texts))

    def _gains(self) -> str:
        """Sentence on the gain of the recommended calibrator, and of the simpler one beside it, with intervals."""
        size = f"{written(abs(self.gain.point))} ({self._ends(self.gain)})"
        if self.simple is not None:
            line = self._row(self.simple)
            other = Difference(*(float(line[name]) for name in ("gain", "low", "high", "p")))
            simple = f"{written(other.point)} with {_SIMPLER} ({self._ends(other)})"
            size = f"{simple}, and by {written(self.gain.point)} with {_called(self.recipe)} ({self._ends(self.gain)})"
        falls = f"On {self.judged_on}, {name_of_score(self.score)} {self._way} by {size}."
        return f"{falls}{self._same_events(self.about)}"

    def _of_both(self, effect: Callable[[Recipe], str]) -> str:
        """Effect of the recommended calibrator, and of the simpler one beside it if that differs."""
        return self.with_either("" if self.simple is None else effect(self.simple), effect(self.recipe))

    def _accuracy(self, recipe: Recipe) -> str:
        """Sentence on the accuracy; empty if no predicted class can change."""
        if CALIBRATORS[recipe.key].flags.keeps_argmax:
            return ""
        return f"Accuracy {_moves(self._row(recipe), self.level)}."

    def _of_harmful(self) -> str:
        """Sentence on a calibrator that is not recommended because it harms a group; empty if there is none."""
        if self.harmful is None:
            return ""
        return f"{begun(_in_use(self.harmful))} is not recommended: in cross-validation, it harms a group."

    def _of_members(self) -> str:
        """Sentence on the members of a recommended blend and their weights; empty for other calibrators."""
        params: dict[str, Any] = dict(self.recipe.params)
        if self.recipe.key != "blend":
            return ""
        both = list(zip(params["members"], params["weights"], strict=True))
        if len(both) <= MOST_MEMBERS:
            shares = [f"{inside(member.title)} ({short_percent(weight)})" for member, weight in both]
            return f"The blend is a weighted average of the probabilities of {listed(shares)}."
        shares = [f"{short_percent(weight)} for {inside(member.title)}" for member, weight in both]
        return (
            f"The blend is a weighted average of the probabilities of {count(len(both))} calibrators, which the table "
            f"lists with their weights. The largest weights are {listed(shares[:LARGEST_MEMBERS])}."
        )

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
            f"{rows}. Such rows can dominate the fit. Fitted without {'it' if self.floored_fit == 1 else 'them'}, "
            f"{_called(self.about)} would {way} {name_of_score(self.score)} by {written(abs(gain.point))} "
            f"({self._ends(gain)})."
        )

    def too_few_to_fit(self, recipe: Recipe) -> str:
        """Sentence on a calibrator that usually needs more calibration rows than there are; empty if they suffice."""
        needed = int(self._row(recipe)["rows_needed"])
        if needed <= self.among:
            return ""
        return f" But it usually needs about {about_rows(needed)} calibration rows; you have {count(self.among)}."

    def _rows_to_fit(self, needed: int) -> str:
        """Sentence on the number of rows that the recommended calibrator needs and has."""
        params = dict(self.recipe.params)
        of_value = f" of {title_of(str(params['by']), str(params['only']))}" if params.get("only") else ""
        there = self.of_value if of_value else self.among
        name = begun(_called(self.recipe.without("by", "only")))
        return (
            f"For a good fit, {inside(name)} needs about {about_rows(needed)} calibration rows{of_value}; you have "
            f"{count(there)}."
        )

    def _rankings(self) -> str:
        """Effect on the ranking of rows, by the risk of an event, else of correct above wrong predictions."""
        what = (
            "The probability that a row with the event has a higher risk than one without it"
            if self.of_event
            else "The probability that a correct prediction has higher confidence than a wrong one"
        )
        short = auroc_heading(self.table)
        found = self._ranking(self.recipe, f"{what} ({short})")
        simpler = "" if self.simple is None else self._ranking(self.simple, f"{what} ({short})")
        again = simpler not in ("", found)
        return self.with_either(simpler, self._ranking(self.recipe, f"The {short}") if again else found)

    def _ranking(self, recipe: Recipe, what: str) -> str:
        """Sentence on the AUROC, which is called ``what``; empty if it is unknown."""
        base, line = self._row(IDENTITY), self._row(recipe)
        if not np.isfinite(line["auroc_gain"]):
            return ""
        before, after = (rounded(float(each["auroc"]), 4) for each in (base, line))
        if abs(line["auroc_gain"]) < _SAME:
            return f"{what} stays at {before}."
        low, high = (float(line[f"auroc_gain_{end}"]) for end in ("low", "high"))
        ends = "too few rows for an interval"
        if np.isfinite(low):
            ends = f"{at_level(self.level)} interval of the change {_signed(low)} to {_signed(high)}"
        return f"{what} goes from {before} to {after}{_unclear(low, high)} ({ends})."

    def _means(self, recipe: Recipe) -> str:
        """Sentence on the mean risk of an event (else the mean confidence) before and after."""
        base, line = self._row(IDENTITY), self._row(recipe)
        name, what = (
            ("mean_risk", "Mean predicted risk")
            if np.isfinite(base["mean_risk"])
            else ("mean_confidence", "Mean confidence")
        )
        if not np.isfinite(line[name]):
            return ""
        if abs(line[name] - base[name]) < _SAME:
            return f"{what} stays at {short_percent(base[name])}."
        way = "rises" if line[name] > base[name] else "falls"
        away = ""
        if name == "mean_risk" and abs(line[name] - self.event_rate) > abs(base[name] - self.event_rate) + _SAME:
            away = f", further from the observed {short_percent(self.event_rate)}"
        return "{} {} from {} to {}{}.".format(what, way, *told_apart(base[name], line[name]), away)

    def _best(self) -> str:
        """Comparison with the best candidate, if it is another."""
        if self.winner in (self.recipe, self.harmful):
            return ""
        best, mine = self._row(self.winner), self._row(self.recipe)
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
                f" This number is as uncertain as the gain: for a gain of {written(gain.high)}, the upper end of its "
                f"interval, about {about_rows(self._rows_to_show(gain.high))} rows are enough."
            )
        return (
            f"To show a gain of {written(gain.point)} in four of five samples, about {about_rows(needed)} "
            f"{held_out}rows are needed.{largest}",
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
            f"The {chance(line['p_holm'])} of {_called(self.about)} is corrected for having tried "
            f"{len(self.recipes) - 1} calibrators. The recommendation does not depend on it, but on the interval of "
            "the gain and on the likelihood described below."
        )

    def _not_met(self) -> str:
        """Sentence on what is missing for a recommendation although the evidence is enough; empty otherwise."""
        if self.recalibrate or self.about == IDENTITY or not self.evidence > ENOUGH:
            return ""
        if not self.gain.low <= 0 <= self.gain.high:
            return ""
        what = "The third condition" if self.held_out else "The first condition"
        return f" {what} is not met: the interval of the gain of {_called(self.about)} includes 0."

    def _how(self) -> str:
        """Describe how the calibrator was chosen, and how often the choice is the same without one fold."""
        start = f"Chosen by {name_of_score(self.score)}, cross-validated in {len(self.picks)} random folds"
        if self.blended:
            by = "" if self.score == "log-loss" else " by log loss"
            return (
                f"{start}. A blend averages the calibrators; those that predicted left-out rows better{by} have more "
                "weight."
            )
        same = sum(pick == self.about for pick in self.picks)
        return (
            f"{start}. The choice {self._repeated} was repeated, with each fold left out in turn: it was "
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
            text = (
                "Recalibration is recommended if the blend predicts the outcomes of left-out rows clearly better than "
                "the model does. Its likelihood (the probability that it gives to all of them together) must be "
                f"{enough}; here it is {times} times."
            )
            repeated = (
                f" If each fold in turn is left out, {'both are' if self._of_stated_use else 'this is'} so in {same} "
                f"of {len(self.picks)} cases. A calibrator with more than {in_percent(ALONE)} of the weight is "
                f"recommended alone.{self._of_groups()}"
            )
            last = f" On the held-out rows, the interval of its gain{by} must be above 0, too." if held_out else ""
            return text + includes + self._of_use() + repeated + last
        return (
            f"A calibrator is recommended if {'three' if self.held_out else 'two'} conditions are met. First, the "
            "interval of its gain in cross-validation is above 0. Second, a weighted average of all calibrators "
            "predicts the outcomes of these rows clearly better than the model does. Its likelihood (the probability "
            f"that it gives to all of them together) must be {enough}; here it is {times} times the model's. With few "
            "rows, one likelihood-ratio test can replace these two "
            f"conditions.{f' Third, {held_out}' if held_out else ''}{self._of_groups()}{self._not_met()}"
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
        """Describe the condition of a stated use; empty without one."""
        if not self._of_stated_use:
            return ""
        return f" The blend must also lower the {name_of_score(self.score)} of these rows."

    def _of_groups(self) -> str:
        """Describe the conditions for groups; empty if all rows are judged together only."""
        if self.groups is None:
            return ""
        there = " A group that is harmed on the held-out rows rules out a recommendation." if self.held_out else ""
        return (
            f" By {self.groups.column}, it must not harm a group: none may be significantly worse than with the model, "
            f"by more than {in_percent(HARM)} of the gain over all rows. If one is in cross-validation, an equally "
            f"good calibrator that harms no group is recommended.{there}"
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


def auroc_heading(table: pd.DataFrame) -> str:
    """Return the heading of the AUROC column: over all rows, or the mean within folds."""
    return "AUROC within folds" if EACH_FOLD in table["ranked_in"].tolist() else "AUROC"


def _plain(gain: Difference) -> dict[str, float]:
    return {name: getattr(gain, name) for name in ("point", "low", "high", "p_value")}


_OVR = ", one-vs-rest"


def _in_use(recipe: Recipe) -> str:
    """Title after the verb "use": maps and blends have an article."""
    title = inside(recipe.title)
    title = f"{title.removesuffix(_OVR)} ({_OVR[2:]})" if title.endswith(_OVR) else title  # no comma in a list
    if not (recipe.key == "blend" or _is_map(recipe)):
        return title
    return f"{'an' if title[0] in 'aeiou' else 'a'} {title}"


def _to_do(recipe: Recipe) -> str:
    """Return how to use a calibrator, as a request."""
    params = dict(recipe.params)
    if recipe.key not in _UPDATES:
        return f"Use {_in_use(recipe)}"
    where = "of all rows"
    if params.get("by"):
        where = f"separately by {params['by']}"
    if params.get("only"):
        where = f"of {title_of(str(params['by']), str(params['only']))} only"
    return f"{_UPDATES[recipe.key]} the risk {where} ({inside(recipe.without('by', 'only').title)})"


MOST_MEMBERS, LARGEST_MEMBERS = 4, 3
"""Number of members of a blend up to which a sentence names all, and how many it names otherwise."""
_SIMPLER = "the simpler one"
"""The simpler calibrator next to the recommended one."""


def _called(recipe: Recipe) -> str:
    """Name of a calibrator that was mentioned before, inside a sentence."""
    if recipe.key == "blend":
        return "the blend"
    return f"{'the ' if _is_map(recipe) else ''}{inside(recipe.title)}"


def _is_map(recipe: Recipe) -> bool:
    """True for a calibrator whose title calls it a map."""
    return recipe.title.partition(",")[0].partition(" (")[0].endswith(" map")


def _times(nats: float) -> str:
    """Format a likelihood ratio."""
    return "over a million" if nats > 13.8 else written(float(np.exp(nats)))


_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def _in_words(number: int) -> str:
    return _WORDS[number] if number < len(_WORDS) else count(number)


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
    return ", not a clear change" if low <= 0 <= high else ""


def _signed(change: float) -> str:
    """Format a change with its sign."""
    return f"{'+' if change > 0 else ''}{written(change)}"
