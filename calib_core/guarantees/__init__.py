"""What can be promised without assumptions on the data: distribution-free bounds, and the rows they ask for.

Formulas (P1 Theorems 1 and 2, P2 Lemma 4.3, P4 eq. 4-7) with their inverses; and `Promise`, what holds for one fitted
calibrator, in sentences for the screen. Calibrators say what they promise with ``guarantee(alpha)``.

References: P1 Gupta & Ramdas 2022; P2 Kumar, Liang & Ma 2019; P4 Ma & Blaschko 2021; Gupta & Ramdas 2021.
"""

from calib_core.guarantees.abstention_bounds import (
    accuracy_lower_bound,
    deviation_probability,
    exceed_probability,
    guaranteed_rank,
    likely_deviation,
    normal_deviation,
    paper_rank,
    rows_for_accuracy,
    rows_for_miscoverage,
    worst_ece_at_least,
)
from calib_core.guarantees.frequency_bounds import (
    bretagnolle_huber_carol_eps,
    cell_eps,
    rows_for_cell,
    weissman_eps,
)
from calib_core.guarantees.histogram_bounds import (
    ClassWiseBounds,
    class_wise_bounds,
    conditional_eps,
    expected_ece,
    marginal_eps,
    points_for_conditional,
    points_for_expected,
    points_for_marginal,
    rows_per_class,
    simultaneous_eps,
)
from calib_core.guarantees.mass_balance import (
    balance,
    rows_for_balance,
    unbalanced_probability,
    well_balanced,
)
from calib_core.guarantees.promise import (
    NONE,
    Bound,
    Promise,
    UniformMassCells,
    binning_promise,
    coverage_accuracy_promise,
    miscoverage_promise,
    no_promise,
    simplex_promise,
)

__all__ = [
    "NONE",
    "Bound",
    "ClassWiseBounds",
    "Promise",
    "UniformMassCells",
    "accuracy_lower_bound",
    "balance",
    "binning_promise",
    "bretagnolle_huber_carol_eps",
    "cell_eps",
    "class_wise_bounds",
    "conditional_eps",
    "coverage_accuracy_promise",
    "deviation_probability",
    "exceed_probability",
    "expected_ece",
    "guaranteed_rank",
    "likely_deviation",
    "marginal_eps",
    "miscoverage_promise",
    "no_promise",
    "normal_deviation",
    "paper_rank",
    "points_for_conditional",
    "points_for_expected",
    "points_for_marginal",
    "rows_for_accuracy",
    "rows_for_balance",
    "rows_for_cell",
    "rows_for_miscoverage",
    "rows_per_class",
    "simplex_promise",
    "simultaneous_eps",
    "unbalanced_probability",
    "weissman_eps",
    "well_balanced",
    "worst_ece_at_least",
]
