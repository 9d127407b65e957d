"""Laws of exports, over the registry: a calibrator's export equals it, or is refused with a message."""

import numpy as np
import pytest
from exports import CASES, fitted, fresh_rows, module, refused
from generated import classes_for

from calib_core import NotAnswerable
from calib_core.exporting import python_source


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", [case for case in CASES if not refused(case)])
def test_the_module_says_what_the_calibrator_says(case):
    k = classes_for(case, 4)
    calibrator, rows = fitted(case, k), fresh_rows(k)
    wanted = calibrator.predict_proba(rows)
    made = np.array(module(python_source(calibrator)).predict_proba(rows.tolist()))
    assert made.shape == wanted.shape
    np.testing.assert_allclose(made, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", [case for case in CASES if refused(case)])
def test_a_calibrator_without_an_export_says_so_in_one_sentence(case):
    with pytest.raises(NotAnswerable, match=r"^[^.]+ has no export.* JSON, which calib_core.load_calibrator reads$"):
        python_source(fitted(case))
