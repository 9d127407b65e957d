"""Which well-known package's number an estimator is, or how it differs: read from their sources and run."""

from __future__ import annotations

ELSEWHERE = {
    "ece": (
        "The number of netcal's ECE and relplot's binnedECE (bins closed on the left, as here) and of "
        "uncertainty-calibration's get_ece (closed on the right): they part only for scores exactly on an edge. "
        "torchmetrics gives a score of 1 a bin of its own; pycalib puts bin midpoints in place of mean scores."
    ),
    "mce": "netcal's MCE, which keeps bins of a single row, as here; in the top-label notion P1's eq. 17.",
    "mce-of-bins": "In the top-label notion what Gupta and Ramdas print as TL-MCE, which their eq. 17 is not.",
    "rmsce": (
        "uncertainty-calibration's lower_bound_scaling_ce(p=2, debias=False), whose default bins are equal-mass."
    ),
    "ece-adaptive": (
        "uncertainty-calibration's get_ece_em, where scores tied with the last of a bin join it, as here. netcal and "
        "Meta-Cal's code interpolate quantiles, which moves the third or fourth decimal; code that splits ties depends "
        "on the order of the rows."
    ),
    "ece-convex": (
        "Posocco and Bonnefoy's published code gives the larger share to the farther bin; here the nearer one has it."
    ),
    "ece-adaptive-convex": (
        "Posocco and Bonnefoy's published code gives the larger share to the farther bin; here the nearer one has it."
    ),
    "debiased-l2": (
        "uncertainty-calibration's unbiased_square_ce; its get_calibration_error shows the root, clipped at 0, and "
        "clips class by class before averaging. The paper prints y(1 - y)^2, its derivation and code have y(1 - y)."
    ),
    "debiased-ece": (
        "uncertainty-calibration's get_ece(debias=True), which simulates the expectation computed here in closed form."
    ),
    "ece-kde": (
        "Posocco and Bonnefoy's published code, but for its coarser grid and, class-wise, the first class's bandwidth "
        "used for all of them."
    ),
    "smece": (
        "relplot's smECE, which counts scores at the ends of [0, 1] half: it is well above this number for confident "
        "networks and equal to it for spread-out scores."
    ),
    "skce": "The SKCE of CalibrationErrors.jl; netcal's MMCE is another, biased statistic of the confidence alone.",
    "ece-sweep": "Roelofs and others' ECE-sweep with equal-mass bins.",
    "log-loss": "scikit-learn's log_loss raises probabilities to the eps of their dtype, here always float64's.",
    "brier": (
        "Summed over classes, as most papers do; uncertainty-calibration halves it, others divide it by the number of "
        "classes."
    ),
}
"""A sentence or two for each key that has a well-known relative."""
