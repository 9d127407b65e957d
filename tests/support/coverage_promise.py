"""Guarantees of the coverage table, and a check of them."""

import numpy as np
from scipy.stats import beta


def at_most(share, runs):
    """Return the upper 95 % limit (Clopper-Pearson) of a coverage observed as ``share`` of ``runs``."""
    seen = np.round(share * runs)
    return np.where(seen < runs, beta.ppf(0.95, seen + 1, np.maximum(runs - seen, 1e-9)), 1.0)


def broken(table, named_by=10):
    """Return a sentence for each violation of the guarantee in the table; empty if there are none.

    In the lines called tested, no coverage is shown (at 95 %) to be below .86, and at most one in twenty is shown to be
    below .88. At other levels misses are in the same proportion, 1.4 and 1.2 times what the level allows. In every
    family the twin of half the width is shown to miss that promise in one line or more.
    """
    said, table = [], table[table["runs"] > 0]
    best, twin = (at_most(table[name], table["runs"]) for name in ("coverage", "half"))
    miss, tested = 1 - table["level"], table["tested"] > 0
    far, near = tested & (best < 1 - 1.4 * miss), tested & (best < 1 - 1.2 * miss)
    for row in table[far].sort_values("coverage").itertuples():
        name = ", ".join(map(str, row[1 : named_by + 1]))
        said.append(
            f"{row.coverage:.3f} of {row.runs} (below {row.below:.3f}, above {row.above:.3f}; "
            f"true {row.true_error:.4f}, width {row.mean_width:.4f}): {name}"
        )
    if near.sum() > 0.05 * tested.sum():
        said.append(f"{near.sum()} of {tested.sum()} tested lines are below .88: more than 5 %")
    for family in table["family"].unique():
        mine = tested & (table["family"] == family)
        if mine.any() and not (twin[mine] < 1 - 1.4 * miss[mine]).any():
            said.append(f"{family}: intervals of half the width hold as well, so that these lines show nothing")
    return said
