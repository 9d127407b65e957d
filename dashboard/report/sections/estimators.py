"""Every estimator in every notion for the model looked at, and curves over bins and tolerances for all."""

from __future__ import annotations

from collections.abc import Iterator

from calib_core import REDUCTIONS, Recipe, figures
from calib_core._text import error
from dashboard import compute
from dashboard.report import exhibited
from dashboard.report.asked import Asked
from dashboard.report.document import Block, Figure, Heading, Paragraph
from dashboard.session import Model, scene_of


def blocks(asked: Asked) -> Iterator[Block | None]:
    """A table a notion; bounds and tests without bins; curves over bins and tolerances; the kernel curve."""
    scene, chosen = scene_of(asked.selection), asked.selection.exhibit
    if asked.large:
        yield Paragraph("With this many rows and classes one notion is reported.", aside=True)
    for notion in (scene.focus.notion,) if asked.large else tuple(REDUCTIONS):
        name, title = f"estimators-{notion}", REDUCTIONS[notion].title
        yield from exhibited.blocks(chosen("estimators"), scene.focused(notion=notion), name=name, title=title)
    for key in ("unbinned", "tests", "sweep", "validity"):
        yield from exhibited.blocks(Recipe("EXHIBITS", key), scene)
    yield None
    yield from _kernel(asked, asked.chosen)
    yield from exhibited.blocks(chosen("trade"), scene)


def _kernel(asked: Asked, model: Model) -> Iterator[Block | None]:
    curve = compute.kernel_curve(model, asked.selection.kernel, asked.selection.band)
    yield Heading("Without bins: kernel reliability curve")
    yield Figure(
        "kernel",
        figures.reliability({model.title: compute.reliability(model, asked.scheme)}, over=[figures.kernel_band(curve)]),
        f"{model.title}: kernel curve over the stars, {curve.band_title}; bandwidth {curve.bandwidth:.2g} "
        f"({curve.unit}), mean distance from the diagonal {error(curve.error)}. {curve.about} Gaps: no data lie there. "
        f"{curve.warning}".rstrip(),
        f"Kernel reliability curve of {model.title}: {curve.band_title}.",
    )
