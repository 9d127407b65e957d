"""How far estimates lie from a truth that is known, sample by sample."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import pandas as pd

import calib_core as cc
from calib_core.defaults import SEED
from calib_core.lab import EXPERIMENTS, TRUTHS, ErrorDistances, Truth, distance_experiments
from calib_core.registry.registry import Choice, Part, Range
from calib_core.text import count, measured, rows
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

if TYPE_CHECKING:
    import plotly.graph_objects as go

_ABLE = distance_experiments()
_TITLES = tuple(EXPERIMENTS[key].title for key in _ABLE)


@EXHIBITS.register("lab-distances", "How far off, sample by sample", reference="P2 Fig. 14-16")
@dataclass(frozen=True)
class LabDistances(Exhibit):
    """In how many samples of a known truth each estimator was how far from the true error."""

    reads = "counts"

    experiment: Annotated[str, Choice(_ABLE, titles=_TITLES), "Experiment", "what is compared"] = _ABLE[0]
    truth: Annotated[Truth, Part("TRUTHS"), "Truth", "the law that rows are drawn from"] = field(
        default_factory=lambda: TRUTHS.make("drawn")
    )
    n: Annotated[int, Range(10, 10_000, log=True), "Rows of each sample", "rows of each sample"] = 300
    draws: Annotated[int, Range(2, 1000, log=True), "Samples", "how many samples"] = 20
    seed: Annotated[int, Range(0, 9999), "Which samples (number)", "another number draws other rows"] = SEED

    printed = 20

    meanings = of.Meanings(
        {
            "series": "estimator",
            "low": "estimates at least so far from the true error",
            "high": "and at most so far",
            "draws": "samples in which it was so far off",
        }
    )

    def found(self) -> Call[ErrorDistances]:
        """The distances of every sample."""
        return call(cc.lab.error_distances, self.experiment, self.truth, self.n, self.draws, random_state=self.seed,
                    stem="distances")  # fmt: skip

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found().part("frame()")

    def figure(self, scene: Scene) -> Call[go.Figure]:
        return call("figures.error_distances", self.found())

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (of.text("of", "series"), of.number("off from", "low"), of.number("to", "high"),
                of.whole("samples", "draws"))  # fmt: skip

    def words(self, scene: Scene) -> Words:
        distances = scene.get(self.found())
        halves = "; ".join(f"{name}: {measured(off, distances.unit)}" for name, off in distances.median.items())
        words = Words(
            f"How far estimates on samples of {rows(distances.n)} rows lie from the true error in their bins. Half the "
            f"samples are nearer than this: {halves}.",
            alt=f"In how many samples each estimator was how far off; half are nearer than: {halves}.",
        )
        left_out = distances.unanswered
        return words.also(f"Left out: {count(left_out)} samples that were not answered." if left_out else "")
