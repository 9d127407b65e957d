"""Plans: questions about numbers of rows and guarantees, answered in sentences and as curves.

Each is a member of ``PLANS``: a dataclass whose fields are its controls. It has a bound along a curve, its inverse, and
a sentence on the assumptions of both. Fields that are None are filled in from the data in use. To add a plan, write a
file and import it here.
"""

from calib_core.planning import bin_promises, wanted_intervals, withholding
from calib_core.planning.external_validation import ValidationSize, validation_size
from calib_core.planning.question import PLANS, BinBalance, Plan, PlanAnswer, RowsInUse, answer, answers, balance_in_use

__all__ = [
    "PLANS",
    "BinBalance",
    "Plan",
    "PlanAnswer",
    "RowsInUse",
    "ValidationSize",
    "answer",
    "answers",
    "balance_in_use",
    "bin_promises",
    "validation_size",
    "wanted_intervals",
    "withholding",
]
