"""Minimizer of a smooth convex loss with a known minimum in closed form."""

from dataclasses import dataclass

import numpy as np
import pytest

from calib_core.calibrators.fitting.minimisers import minimum


@dataclass
class Exponentials:
    """sum_j a_j (exp(x_j / s_j) - c_j x_j / s_j), least where x_j = s_j log c_j; infinite beyond ``wall``."""

    a: np.ndarray
    c: np.ndarray
    s: np.ndarray
    wall: float = np.inf

    def value_and_gradient(self, x):
        if x.max() > self.wall:
            return np.inf, np.zeros_like(x)
        u = x / self.s
        return float(np.sum(self.a * (np.exp(u) - self.c * u))), self.a * (np.exp(u) - self.c) / self.s

    def hessian(self, x):
        return np.diag((self.a * np.exp(x / self.s) / self.s**2).ravel())


@pytest.mark.parametrize("wall", [np.inf, 2.0])
def test_it_is_found_to_the_last_digits_whatever_the_scales(wall):
    c = np.array([[0.3, 1.7], [5.0, 0.9]])
    loss = Exponentials(np.array([[1.0, 1e-3], [1e-4, 1.0]]), c, np.array([[1.0, 1e-3], [1.0, 1e-5]]), wall)
    found = minimum(loss, np.zeros((2, 2)))
    assert found.ended
    np.testing.assert_allclose(found.point, loss.s * np.log(c), rtol=1e-12)
    np.testing.assert_allclose(np.diag(found.hessian), np.diag(loss.hessian(found.point)), rtol=1e-5)


def test_where_there_is_no_minimum_it_says_so():
    loss = Exponentials(np.ones(1), np.array([-1e9]), np.array([1.0]))
    loss.hessian = lambda x: np.array([[1e-3]])
    assert not minimum(loss, np.zeros(1)).ended
