"""Fitted calibrators of every kind for the tests of exports, and modules created from exported text."""

import types

import numpy as np
from generated import classes_for, ordinary_rows

from calib_core import BINARY_CALIBRATORS, CALIBRATORS
from calib_core.registry.registry import Part

SMALL = {"accuracy": 0.01, "points_per_bin": 20}
"""Parameters that nearly all rows satisfy, and that give several bins of few rows."""


def _made(key, **more):
    names = {p.name for p in CALIBRATORS.entry(key).params}
    return CALIBRATORS.make(key, **{n: v for n, v in {**SMALL, **more}.items() if n in names})


def _cases():
    for key in CALIBRATORS:
        yield key, lambda key=key: _made(key)
        yield f"ts+{key}", lambda key=key: _made(f"ts+{key}")
    for key in CALIBRATORS:
        if any(p.domain == Part("BINARY_CALIBRATORS") for p in CALIBRATORS[key].params):
            few = BINARY_CALIBRATORS if key in ("top-label", "normalised") else ()
            for binary in few:
                yield f"{key} of {binary}", lambda key=key, b=binary: _made(key, binary=b)


CASES = dict(_cases())


def refused(case):
    """Return True if a case declares that it has no export."""
    return not CALIBRATORS[case.split(" of ")[0]].flags.exported


def fitted(case, k=4):
    return CASES[case]().fit(*ordinary_rows(400, classes_for(case, k)))


def module(source):
    """Return the module of a source text."""
    made = types.ModuleType("exported")
    exec(source, made.__dict__)
    return made


def fresh_rows(k=4, seed=9):
    """Return rows that no other part of the project uses: confident, spread, and certain ones."""
    rng = np.random.default_rng(seed)
    return np.concatenate([ordinary_rows(100, k, seed)[0], rng.dirichlet(np.ones(k), 100), np.eye(k)])
