"""What an estimate shows of itself in a notebook: what it knows already, and what it can be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calib_core.defaults import LEVEL, SEED, TOLERANCE

if TYPE_CHECKING:
    from calib_core.estimators.base import Estimate
    from calib_core.inference.noise.noise_floor import NoiseFloor


def facts_of(estimate: Estimate) -> dict[str, object]:
    """The number, what it is of, and interval, noise floor and verdict where they were made: nothing is computed."""
    facts: dict[str, object] = {"estimate": estimate.title, "value": f"{estimate.value:.4f}"}
    question = estimate.question
    if question is None:
        return facts
    facts |= {"rows": f"{question.predictions.answered.n_rows:,}", "bins": estimate.in_bins}
    interval = estimate.knows("interval", LEVEL, SEED)
    floor = estimate.knows("floor")
    verdict = estimate.knows("verdict", TOLERANCE, LEVEL)
    facts |= {"interval": estimate.interval().sentence} if interval else {}
    facts |= {"noise floor": _floor(estimate.noise_floor)} if floor else {}
    facts |= {"verdict": estimate.verdict().sentence} if verdict else {}
    if not (interval and floor and verdict):
        facts["ask"] = ".interval(), .noise_floor, .verdict()"
    return facts


def _floor(floor: NoiseFloor) -> str:
    return f"{floor.high:.4f}: 95 % of calibrated models show no {'more' if floor.higher_is_worse else 'less'}"
