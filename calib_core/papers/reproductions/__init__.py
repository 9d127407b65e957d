"""Reproductions of the five papers: published values, values computed here, differences and reasons.

Each entry is a function in the module of its paper; its results at full size are in ``table.tsv``, which
``make reproduce`` writes. Every number here is computed; published ones have their place in the paper.
"""

from calib_core.papers.reproductions import (  # noqa: F401
    errors_over_bins,
    gupta_ramdas,
    kumar_liang_ma,
    ma_blaschko,
    posocco_bonnefoy,
    valk_kull,
)
from calib_core.papers.reproductions.author_files import from_files, published
from calib_core.papers.reproductions.gallery import (
    REPRODUCTIONS,
    ComputedNumber,
    PaperLine,
    Reproduction,
    gallery,
    mean,
    overview,
    printed,
    ratio,
    reproduced,
    reproduction,
    share,
    stated,
)

__all__ = [
    "REPRODUCTIONS",
    "ComputedNumber",
    "PaperLine",
    "Reproduction",
    "from_files",
    "gallery",
    "mean",
    "overview",
    "printed",
    "published",
    "ratio",
    "reproduced",
    "reproduction",
    "share",
    "stated",
]
