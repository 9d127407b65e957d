"""Contenders of the arena: fixed calibrators, and the one that is recommended for the calibration rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from calib_core.calibrators.base import CALIBRATORS, Calibrator
from calib_core.evaluation.choice import choose
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.registry.registry import Members, Recipe

IDENTITY = CALIBRATORS.recipe("identity")
_LONGEST = 100
_MOST_PAIRS = 200
"""Most classes for default methods that fit a number per pair of classes: beyond, one fit can take an hour."""


@dataclass(frozen=True)
class FixedMethod:
    """A calibrator, the same in every experiment; ``name`` is that of its file of results."""

    name: str
    recipe: Recipe
    most_classes: int | None = None

    @property
    def title(self) -> str:
        """Title of the calibrator."""
        return self.recipe.title

    def recipe_for(self, rows: Predictions) -> Recipe:
        """Return the recipe; NotAnswerable if it does not support the rows."""
        if self.most_classes is not None and (rows.n_classes or 0) > self.most_classes:
            raise NotAnswerable(f"it fits a number for every pair of classes; the limit is {self.most_classes} classes")
        contract = CALIBRATORS[self.recipe.key].flags
        if why := contract.unfit(rows.kind, rows.n_classes):
            raise NotAnswerable(why)
        return self.recipe


@dataclass(frozen=True)
class RecommendedMethod:
    """The calibrator that ``choose`` recommends for the calibration rows; the identity if it recommends none."""

    name: str = "choose"
    title: str = "Recommended calibrator"

    def recipe_for(self, rows: Predictions) -> Recipe:
        """Return the recommendation for these rows."""
        try:
            found = choose(rows)
        except NotAnswerable:
            return IDENTITY
        return found.recipe


Contender: TypeAlias = "FixedMethod | RecommendedMethod"
RECOMMENDED = RecommendedMethod()
BASE = FixedMethod("identity", IDENTITY)
"""Doing nothing: every other contender is compared with it."""


def default_methods() -> tuple[Contender, ...]:
    """Return the default methods: no calibration, the recommended calibrator and all smooth ones of whole rows.

    Smooth calibrators are those that the registry lists under scaling, and mixtures of calibrators. Abstaining ones are
    left out.

    >>> [each.name for each in default_methods()][:2]
    ['identity', 'choose']
    """
    return (BASE, RECOMMENDED, *(_limited(key) for key in CALIBRATORS if _smooth(key)))


def _smooth(key: str) -> bool:
    entry = CALIBRATORS[key]
    contract = entry.flags
    mixes_or_scales = contract.profile.family == "scaling" or _mixes(key)
    return contract.output == "full" and not contract.abstains and mixes_or_scales


def _mixes(key: str) -> bool:
    """True for a calibrator that averages others."""
    return any(isinstance(param.domain, Members) for param in CALIBRATORS[key].params)


def is_single(name: str) -> bool:
    """True for a single calibrator by the name of its results: no blend, no choice, and not the original model.

    >>> [is_single(name) for name in ("temperature", "blend", "choose", "identity", "TS")]
    [True, False, False, False, True]
    """
    return name not in (BASE.name, RECOMMENDED.name) and not (name in CALIBRATORS and _mixes(name))


def _limited(key: str) -> FixedMethod:
    per_pair = CALIBRATORS[key].flags.profile.rows[2] > 0
    return FixedMethod(key, CALIBRATORS.recipe(key), _MOST_PAIRS if per_pair else None)


def as_contenders(methods: Iterable[str | Recipe | Calibrator] | None) -> tuple[Contender, ...]:
    """Return the contenders given by key, recipe or object, without calibration first; by default the default ones.

    RegistryError for an unknown key; InputError for a method that is given twice.

    >>> [each.name for each in as_contenders(["temperature", "choose"])]
    ['identity', 'temperature', 'choose']
    """
    if methods is None:
        return default_methods()
    found = [RECOMMENDED if method == RECOMMENDED.name else _fixed(method) for method in methods]
    names = [each.name for each in found]
    if len(set(names)) < len(names):
        raise InputError("a method is given twice")
    return (BASE, *(each for each in found if each.name != BASE.name))


def _fixed(method: str | Recipe | Calibrator) -> FixedMethod:
    recipe = CALIBRATORS.recipe(method)
    text = recipe.to_json() if recipe.params else recipe.key
    name = re.sub(r"[^\w.+=-]+", "-", text.replace('"', "")).strip("-")
    if len(name) > _LONGEST:
        raise InputError(f"the recipe {name[:40]}... is too long for the name of a file; register it under a key")
    return FixedMethod(name, recipe)


def title_of(name: str) -> str:
    """Return the title of a method by the name of its results; the name itself if no calibrator has it.

    >>> title_of("choose"), title_of("temperature"), title_of("TS")
    ('Recommended calibrator', 'Temperature scaling', 'TS')
    """
    if name == RECOMMENDED.name:
        return RECOMMENDED.title
    return CALIBRATORS.recipe(name).title if name in CALIBRATORS else name
