"""The library's own optimizers against SciPy's and scikit-learn's on the same fits: cost and final loss.

python -m tests.benchmarks.optimisers writes optimisers.md next to it: three minutes on one core.
"""

import time
from pathlib import Path

import numpy as np
from scipy.optimize import brentq, minimize, newton
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from calib_core.calibrators import temperature
from calib_core.calibrators.fitting.softmax_loss import (
    FREE,
    AffineLoss,
    DiagonalLoss,
    LogRows,
    Odir,
    Rowwise,
    _scaled_identity,
    large_minimum,
)
from tests.benchmarks.conftest import SIZES, made

HEAD = """# Own optimisers, and why they stay

Process CPU, one BLAS thread, the least of three runs (of one beyond 5 s); "above" is the mean log loss (for temperature
the error of 1/T) above the best found here. Written by `optimisers.py`; S, M, L as in `conftest.py`.

| fit | size | optimizer | ms | above |
|---|---|---|---|---|
"""

TAIL = """
- **Temperature** keeps its Newton steps: one number, three to five passes over all rows. SciPy's `newton` needs a
  memory of value and slope, takes up to 1.8 times as long, and is not kept inside a bracket: a start far from the root
  is lost. SciPy's `brentq` is safe and takes three to five times as long.
- **Vector, matrix and Dirichlet scaling** are SciPy's L-BFGS-B; ours is the whitening before it (`whitening.py`),
  without which it takes up to thirty times as long. Where parameters are few, SciPy's trust regions (`newton.py`) have
  the Hessian ready that says whether rows name a map. scikit-learn's logistic regression fits the map without penalties
  alone.

Gone since SciPy's reach the same minimum, each timed beside what it replaced, in one process, when it went:

| fit | ours was | SciPy's is | ratio, S / M | probabilities differ by |
|---|---|---|---|---|
| vector scaling | damped Newton | trust-exact, a last step; L-BFGS-B beyond 150 parameters | .93 / .7 | 1e-10 |
| matrix, Dirichlet | damped Newton | the same | 1.35, 1.45 (cross-validated 1.4) | 5e-13 |
| structured | damped Newton | the same | 1.4 | 5e-10 |
| intra-order-preserving | damped Newton | trust-exact, a last step | 1.4 / 1.3 | 1e-8 (float32) |
| Gaussian process | damped Newton | the same | 1.07 / .8 | 2e-12 |
| Platt, one against the rest | Newton over the faces of a box | L-BFGS-B | 1.5 / 1.2 | loss 4e-16 |
| beta, one against the rest | Newton over the faces of a box | L-BFGS-B | 1.0 / 1.5 | loss 5e-16 |
| mixture of three | Newton over the faces of a simplex | SLSQP | 1.4 / .8 | loss 1e-15 |
"""


def temperatures(sample):
    low, high = np.log(temperature._INVERSE_BOUNDS)

    def fresh():
        return temperature._Loss.of(sample.fresh())

    def by_newton():
        """Run with our starting values, from some of the rows."""
        whole, b = fresh(), 0.0
        for loss in (*(whole.every(stride) for stride in temperature._STRIDES), whole):
            if loss is None:
                continue
            seen = {}

            def slope(u, loss=loss, seen=seen):
                seen[u] = loss(np.exp(u))
                return seen[u][0]

            b = newton(slope, b, lambda u, seen=seen: seen[u][1] * np.exp(u), tol=1e-6 if loss is not whole else 1e-7)
        return np.exp(b)

    def by_brentq():
        loss = fresh()
        return np.exp(brentq(lambda u: loss(np.exp(u))[0], low, high, xtol=1e-8))

    yield "ours: Newton in a bracket", lambda: temperature._root(fresh())[0]
    yield "SciPy newton", by_newton
    yield "SciPy brentq", by_brentq


def softmaxes(loss, plain):
    start = _scaled_identity(loss)
    shape = start.shape

    def scipys(method, **options):
        flat = {} if method == "L-BFGS-B" else {"hess": lambda u: loss.hessian(u.reshape(shape))}

        def both(u):
            value, gradient = loss.value_and_gradient(u.reshape(shape))
            return value, gradient.ravel()

        return minimize(both, start.ravel(), jac=True, method=method, options=options, **flat).x.reshape(shape)

    yield "whitened L-BFGS-B", lambda: large_minimum(loss, start)[0]
    if plain:
        yield "SciPy L-BFGS-B", lambda: scipys("L-BFGS-B", gtol=1e-7, ftol=0.0, maxiter=5000, maxfun=5000)
    if start.size <= 300:
        yield "SciPy trust-exact", lambda: scipys("trust-exact", gtol=1e-7)
        yield "SciPy Newton-CG", lambda: scipys("Newton-CG", xtol=1e-8)


def timed(work):
    times = []
    while len(times) < 3 and sum(times) < 5:
        start = time.process_time()
        found = work()
        times.append(time.process_time() - start)
    return 1000 * min(times), found


def lines(fit, size, methods, loss):
    found = [(name, *timed(work)) for name, work in methods]
    values = [loss.log_loss(x) if loss.penalty.max() < 1e-3 else loss.value_and_gradient(x)[0] for *_, x in found]
    for (name, ms, _), v in zip(found, values, strict=True):
        yield f"| {fit} | {size} | {name} | {ms:.3g} | {max(v - min(values), 0.0):.0e} |"


def table():
    for size in "SML":
        sample = made(*SIZES[size])
        source, labels = LogRows.best(sample.predictions), sample.predictions.true_labels
        exact = None
        for name, work in temperatures(sample):
            ms, b = timed(work)
            exact = b if exact is None else exact
            yield f"| temperature | {size} | {name} | {ms:.3g} | {abs(b - exact):.0e} |"
        if size == "L":
            return
        rows = Rowwise(source, labels, None)
        for fit, loss in (("vector", DiagonalLoss(rows)), ("matrix", AffineLoss(rows, Odir(1.0, 1.0)))):
            yield from lines(fit, size, softmaxes(loss, True), loss)
        if size == "S":
            free, peer = AffineLoss(rows, FREE), scikit_learns(sample.probs, labels)
            yield from lines("Dirichlet, no penalty", size, [*softmaxes(free, False), ("scikit-learn", peer)], free)


def scikit_learns(probs, labels):
    logs, model = np.log(np.maximum(probs, 1e-12)).astype(np.float64), LogisticRegression(C=np.inf, max_iter=1000)

    def fit():
        model.fit(logs, labels)
        return np.vstack([model.coef_.T, model.intercept_])

    return fit


if __name__ == "__main__":
    with threadpool_limits(1):
        text = HEAD + "\n".join(table()) + "\n" + TAIL
    Path(__file__).with_suffix(".md").write_text(text)
