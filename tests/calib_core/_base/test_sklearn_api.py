"""scikit-learn's requirements of estimators, tested without it: unknown parameters raise an error, parts can be set."""

import pytest
import sklearn.base

from calib_core import CALIBRATORS
from calib_core._base.sklearn_api import clone


def lifted():
    return CALIBRATORS.make("class-wise", binary="histogram")


@pytest.mark.parametrize("wrong", ["bins", "binary__nothing", "nothing__bins", "small__bins"])
def test_a_parameter_that_there_is_not_is_a_value_error(wrong):
    with pytest.raises(ValueError, match=r"bins|nothing"):
        lifted().set_params(**{wrong: 1})


def test_a_part_is_set_before_its_own_parameters_and_a_copy_is_its_own():
    other = CALIBRATORS.make("class-wise", binary="equal-width-histogram").binary
    made = lifted().set_params(binary__bins=7, binary=other)
    assert (type(made.binary), made.binary.bins) == (type(other), 7)
    for copied in (clone(made), sklearn.base.clone(made)):
        copied.set_params(binary__bins=3)
        assert made.binary.bins == 7
