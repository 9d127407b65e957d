"""Blends: an average of the probabilities of several calibrators, weighted by what left-out rows show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Float64s, Floats, frozen, safe_log
from calib_core._base.parallel import Pieces, Progress
from calib_core._base.sklearn_api import check_is_fitted, clone
from calib_core.calibrators.base import CALIBRATORS, BinaryCalibrator, Calibrator, Contract
from calib_core.calibrators.calibration_rows import dealt_out
from calib_core.calibrators.identity import Identity
from calib_core.calibrators.insides import Insides, MemberCurves, Number, Profile, class_names
from calib_core.calibrators.scaling_map import PRIOR_ROWS
from calib_core.defaults import SEED
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.predictions.proper_scores import label_probs
from calib_core.registry.registry import Members, Range, Recipe, Registry, Weights
from calib_core.text import inside, listed, several, short_percent

RATE = 0.35
"""Rate at which weights follow the log likelihood: at 1 they trust single rows too much."""
PENALTY = 1.0
"""Penalty of the splines of more than two classes."""
LEAST = 0.01
"""Smallest weight of a member; those with less are left out."""
MOST = 30
"""Maximum number of members."""
FEW_ROWS, FOLDS, FOLDS_OF_FEW = 1000, 5, 10
"""Number of rows up to which more folds are used to choose the weights, and the numbers of folds."""
_POINTS = 201
"""Number of points of a curve in a picture."""


def default_members(classes: int) -> tuple[Recipe, ...]:
    """Calibrators that are blended by default, besides the original model: the candidates that return whole rows.

    >>> [recipe.key for recipe in default_members(2)][:2]
    ['temperature', 'ensemble-temperature']
    """
    recipes = (as_candidate(CALIBRATORS, key, classes) for key in CALIBRATORS if is_candidate(key, "full", classes))
    return tuple(recipe for recipe in recipes if returns_rows(recipe))


def as_candidate(
    registry: Registry[Calibrator] | Registry[BinaryCalibrator], key: str, classes: int | None = None
) -> Recipe:
    """Recipe of a calibrator as a usual candidate: with the prior that keeps a fit to few rows moderate.

    With more than two classes a spline of each has a fixed penalty, as cross-validation for each takes long.

    >>> from calib_core.calibrators import BINARY_CALIBRATORS
    >>> as_candidate(BINARY_CALIBRATORS, "platt").title, as_candidate(CALIBRATORS, "spline", 3).title
    ('Platt scaling (prior rows 4)', 'Spline map, one-vs-rest (penalty 1.0)')
    """
    usual = {"prior": PRIOR_ROWS, **({"penalty": PENALTY} if (classes or 2) > 2 else {})}
    return registry.described(key, **{name: value for name, value in usual.items() if registry[key].has(name)})


def returns_rows(member: Recipe | Calibrator) -> bool:
    """Return True if a calibrator returns whole rows and answers all of them, so that it can be averaged.

    >>> [returns_rows(Recipe("CALIBRATORS", key)) for key in ("temperature", "top-label-hb", "metacal-accuracy")]
    [True, False, False]
    """
    contract: Contract = CALIBRATORS[CALIBRATORS.recipe(member).key].flags
    return contract.output in ("full", "same") and not contract.abstains


def is_candidate(key: str, kind: str, classes: int | None) -> bool:
    """Return True if a calibrator is declared as a candidate for such predictions (``Profile.is_candidate``)."""
    profile: Profile = CALIBRATORS[key].flags.profile
    return profile.is_candidate(kind, classes)


def blend_weights(gains: Float64s, rate: float = RATE) -> Float64s:
    """Weights of m maps, (m,), from their total log-likelihood gains (m,) over a common model: softmax(rate * gains).

    A map with a gain of minus infinity, which gave some outcome a probability of 0, gets the weight 0.

    >>> blend_weights(np.array([0.0, 10.0, -np.inf])).round(3).tolist()
    [0.029, 0.971, 0.0]
    """
    scaled = rate * (gains - gains.max())
    weights = np.exp(scaled)
    return np.asarray(weights / weights.sum())


def without_small(weights: Float64s) -> Float64s:
    """Weights with those below ``LEAST`` set to 0, and a sum of 1.

    >>> without_small(np.array([0.006, 0.497, 0.497])).tolist()
    [0.0, 0.5, 0.5]
    """
    kept = np.where(weights >= min(LEAST, weights.max()), weights, 0.0)
    return np.asarray(kept / kept.sum())


@CALIBRATORS.register(
    "blend",
    "Blend of calibrators",
    reference="Yao et al. 2018",
    filled="Blend of {}",
    flags=Contract(
        "full",
        keeps_argmax=False,
        sums_to_one=True,
        profile=Profile(
            "advanced", "Averages several calibrators; those that predicted left-out rows better have more weight."
        ),
    ),
)
@dataclass(eq=False, repr=False)
class Blend(Calibrator):
    """Weighted average of the probabilities that several calibrators return.

    q = sum_m w_m q_m, where q_m is the row after member m and w_m >= 0 its weight; the weights sum to 1. It hedges: its
    log loss is at most the weighted average of those of its members. On average it is close to the best of them.

    With ``weights``, one per member and used in proportion, the members are fitted on all calibration rows. Without,
    the weights are chosen first: w_m is proportional to exp(.35 L_m). L_m is the log likelihood of all rows, each after
    a map that was fitted on the other folds. There are 5 random folds, or 10 with at most 1,000 rows. The uncalibrated
    model is then a member too. Members with weights below .01 are left out, and so are members that cannot be fitted.

    Without ``members``, they are those that ``choose`` compares and that return whole rows (``default_members``). These
    are smooth maps, from temperature scaling to splines, and Venn-ABERS.

    Single claims c are not blended. As rows (1 - c, c) of two classes, 0 (wrong) and 1 (right), they can be.

    ``weights_`` (M,) and ``members_`` are those of the fit. There is no guarantee. Raises InputError if a member does
    not return whole rows, or if there is not one weight per member. Raises NotAnswerable without rows that sum to one.

    What can mislead: the weights are no probabilities that a member is right. Members that agree share their weight.
    The predicted class can change even if no member with a large weight changes it.

    References: Yao, Vehtari, Simpson & Gelman 2018, §3 (weights from likelihoods of rows left out).

    >>> p = np.tile([[0.9, 0.1]], (10, 1))
    >>> cal = Blend((CALIBRATORS.make("temperature"), Identity()), (3, 1)).fit(p, [0] * 8 + [1] * 2)
    >>> cal.predict_proba(p[:1]).round(6).tolist()
    [[0.825, 0.175]]
    """

    members: Annotated[
        tuple[Calibrator, ...],
        Members("CALIBRATORS", MOST),
        "Members",
        "calibrators to average; empty for the usual ones",
    ] = ()
    weights: Annotated[
        tuple[float, ...], Weights(), "Weights", "one per member, in order; empty to choose them by left-out rows"
    ] = ()
    random_state: Annotated[int, Range(0, 2**31 - 1), "Seed", "seed of the folds that choose the weights"] = SEED

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column for member in self.members for column in member.columns))

    def discrete(self, given: bool = False) -> bool:
        members: tuple[Calibrator, ...] = vars(self).get("members_", self.members)
        return bool(members) and all(member.discrete(given) for member in members)

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        if predictions.kind != "full":
            raise NotAnswerable("a blend averages rows that sum to one, and these predictions have none")
        given = self.members or tuple(recipe.build() for recipe in default_members(predictions.rows.shape[1]))
        for member in given:
            _check_rows(member)
        if self.weights:
            if len(self.weights) != len(given) or not any(self.weights):
                raise InputError(
                    f"weights has {several(len(self.weights), 'numbers')}; expected one for each of "
                    f"{several(len(given), 'members')}, not all 0"
                )
            weights = np.asarray(self.weights, dtype=np.float64)
        else:
            given = (Identity(), *(member for member in given if CALIBRATORS.recipe(member).key != "identity"))
            weights = self._chosen(given, predictions, progress)
        weights = without_small(weights / weights.sum())
        self.weights_ = weights[weights > 0]
        used = [clone(member) for member, weight in zip(given, weights, strict=True) if weight > 0]
        self.members_ = tuple(member.fit_on(predictions, progress) for member in used)

    def _chosen(self, members: Sequence[Calibrator], predictions: Predictions, progress: Progress) -> Float64s:
        """Weights from the likelihoods of left-out rows; a member that cannot be fitted in some fold has none."""
        folds = dealt_out(predictions, FOLDS_OF_FEW if predictions.n_rows <= FEW_ROWS else FOLDS, self.random_state)
        pieces = Pieces(progress, len(members) * len(folds) + 1)
        totals = np.zeros(len(members))
        if not folds:  # a single row shows nothing
            totals[1:] = -np.inf
        for m, member in enumerate(members):
            for where, copies, rest in folds:
                try:
                    after = clone(member).fit_on(rest, lambda _: pieces(0)).apply(predictions.take(where))
                    totals[m] += copies @ safe_log(label_probs(after))
                except (InputError, NotAnswerable):
                    totals[m] = -np.inf
                pieces.next()
        return blend_weights(totals)

    @property
    def note(self) -> str:
        check_is_fitted(self)
        return " ".join(member.note for member in self.members_ if member.note)

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        titles = [CALIBRATORS.recipe(member).title for member in self.members_]
        inner = [member.insides(names) for member in self.members_]
        shares = [
            f"{inside(title)} ({short_percent(float(w))})" for title, w in zip(titles, self.weights_, strict=True)
        ]
        return Insides(
            several(len(titles), "members"),
            f"Averages the probabilities of {listed(shares)}.",
            lambda: [
                *(Number("weight", float(w), of=title) for title, w in zip(titles, self.weights_, strict=True)),
                *(
                    replace(number, of=f"{title}, {number.of}" if number.of else title)
                    for title, member in zip(titles, inner, strict=True)
                    for number in member.numbers()
                ),
            ],
            tuple(grid for member in inner for grid in member.grids),
            curves=self._curves(titles, names),
        )

    def _curves(self, titles: Sequence[str], names: Sequence[str]) -> MemberCurves | None:
        """Curves of the members and of their average for the second of two classes; None if columns are read, too."""
        if len(self.classes_) != 2 or any(member.columns for member in self.members_):
            return None
        scores = np.linspace(0.0, 1.0, _POINTS)
        rows = Predictions(np.column_stack([1.0 - scores, scores]), np.zeros(_POINTS, dtype=np.intp))
        outputs = np.array([member.apply(rows).rows.column(1) for member in self.members_], dtype=np.float64)
        of = class_names(names, 2)[1]
        return MemberCurves(scores, outputs, self.weights_ @ outputs, tuple(titles), self.weights_, of)

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        pieces = Pieces(progress, len(self.members_))
        mixed: Float64s = np.zeros(predictions.rows.shape)
        for member, weight in zip(self.members_, self.weights_, strict=True):
            mixed += float(weight) * member.apply(predictions, pieces).rows.array()
            pieces.next()
        out: Floats = mixed.astype(predictions.rows.dtype, copy=False)
        return predictions.with_probs(frozen(out))


def _check_rows(member: Calibrator) -> None:
    if not returns_rows(member):
        title = inside(CALIBRATORS.recipe(member).title)
        raise InputError(f"a blend averages whole rows, which {title} does not return")
