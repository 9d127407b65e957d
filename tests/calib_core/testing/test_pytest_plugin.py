"""The plugin of pytest: the marker and the fixture `calibration`, in separate test runs."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from calib_core.testing import pytest_plugin

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[3]

ROWS = """
import numpy as np, pytest
def rows(n=1500, off=0.0):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 0.95, n)
    return (rng.random(n) < p - off).astype(int), p
"""


@pytest.fixture
def ran(pytester, monkeypatch):
    """Run a test file separately, in this process."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(text, *more):
        pytester.makepyfile(ROWS + text)
        return pytester.runpytest_inprocess("-p", "calib_core.testing.pytest_plugin", "-p", "no:cacheprovider", *more)

    return run


def test_calibrated_passes_and_miscalibrated_fails_with_its_sentence(ran):
    found = ran("""
import calib_core as cc
LIMIT = pytest.mark.calibration(max_ece=0.05, notion="confidence")
@LIMIT
def test_right(calibration):
    check = calibration(*rows())
    assert check.passed and check.limit == 0.05
@LIMIT
def test_matrix_and_predictions(calibration):
    y, p = rows()
    q = np.column_stack([1 - p, p])
    assert calibration(y, q).headline == calibration(cc.Predictions(q, y)).headline
@LIMIT
def test_wrong(calibration):
    calibration(*rows(off=0.2))
@LIMIT
def test_few(calibration):
    calibration(*rows(60))
@LIMIT
class TestNearest:
    @pytest.mark.calibration(max_ece=0.9)
    def test_the_nearest_marker_wins(self, calibration):
        assert calibration(*rows(off=0.2)).limit == 0.9
    def test_the_call_wins(self, calibration):
        assert calibration(*rows(off=0.2), max_ece=0.8, level=0.8).limit == 0.8
""", "-rA")  # fmt: skip
    found.assert_outcomes(passed=4, failed=2)
    found.stdout.fnmatch_lines([
        "*Failed: miscalibrated: Confidence ECE*",
        "*Miscalibrated: the calibration error in 15 equal-width bins is estimated at*above the maximum of 5 %*",
        "*Failed: too few rows to tell: Confidence ECE*",
        "*judged rows would be needed*in 8 of 10 samples*",
    ])  # fmt: skip
    found.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_a_marked_test_that_checks_nothing_fails_and_others_are_left_alone(ran):
    found = ran("""
@pytest.mark.calibration(max_ece=0.05)
def test_forgot(calibration): pass
@pytest.mark.calibration(max_ece=0.05)
def test_without_the_fixture(): pass
@pytest.mark.calibration(max_ece=0.05)
def test_skipped(calibration): pytest.skip("no data")
@pytest.mark.calibration("somebody else's", channel=3)
def test_of_somebody_else(): pass
def test_unmarked(): pass
""", "--strict-markers")  # fmt: skip
    found.assert_outcomes(passed=2, failed=2, skipped=1)
    found.stdout.fnmatch_lines(["*marked calibration but checked nothing*"])


def test_options_of_a_marker_and_of_a_call_reach_what_is_judged(ran):
    found = ran("""
@pytest.mark.calibration(max_ece=0.9, notion="confidence", estimator="rmsce", level=0.8, bins=7)
def test_marked(calibration):
    line = calibration(*rows()).line
    assert (line.notion, line.estimator, line.level) == ("confidence", "rmsce", 0.8)
    assert line.bins.startswith("7 ")
    line = calibration(*rows(), level=0.95, bins=5).line
    assert (line.level, line.bins[:2]) == (0.95, "5 ")
""")
    found.assert_outcomes(passed=1)


def test_warnings_about_a_file_fail_the_test_until_they_are_settled(ran):
    found = ran("""
from pathlib import Path
import pandas as pd
@pytest.fixture
def path(tmp_path):
    y, p = rows()
    part = np.where(np.arange(len(y)) % 2, "derivation", "test")
    pd.DataFrame({"part": part, "p": p, "y": y}).to_csv(tmp_path / "a.csv", index=False)
    return tmp_path / "a.csv"
LIMIT = pytest.mark.calibration(max_ece=0.2)
@LIMIT
def test_open(calibration, path): calibration(path)
@LIMIT
def test_accepted(calibration, path): assert calibration(str(path), accept=["split"]).accepted == ("split",)
@LIMIT
def test_settled(calibration, path):
    check = calibration(path, read={"split": "part"})
    assert (check.accepted, check.line.rows) == ((), calibration(path, accept=["split"]).line.rows // 2)
@LIMIT
def test_read_as_accepted(calibration, path): calibration(path, read={"accepted": ["split"]})
@LIMIT
def test_groups(calibration):
    import pandas as pd
    from calib_core import Predictions
    y, risk = rows()
    columns = {"metadata": pd.DataFrame({"sex": np.where(y, "f", "m")})}
    calibration(Predictions(np.column_stack([1 - risk, risk]), y, **columns))
@LIMIT
def test_gone(calibration): calibration("gone.csv")
""")
    found.assert_outcomes(passed=3, failed=3)
    found.stdout.fnmatch_lines_random([
        "*Open warning (split): The column *", "*gone.csv cannot be opened*", "*Open warning (group-error): *sex is m*",
    ])  # fmt: skip


def test_what_is_given_wrongly_is_one_sentence(ran):
    found = ran("""
def test_no_limit(calibration): calibration(*rows(50))
def test_option(calibration): calibration(*rows(50), max_eec=0.1)
def test_limit(calibration): calibration(*rows(50), max_ece=2)
def test_notion(calibration): calibration(*rows(50), max_ece=0.1, notion="nonsense")
def test_lengths(calibration): calibration([0, 1], [0.5], max_ece=0.1)
def test_numbers(calibration): calibration([0], ["a"], max_ece=0.1)
def test_alone(calibration): calibration([0.5], max_ece=0.1)
def test_baseline(calibration): calibration(*rows(50), baseline="nowhere.json")
@pytest.mark.calibration(0.05)
def test_marker(calibration): calibration(*rows(50))
""")  # fmt: skip
    found.assert_outcomes(failed=8, errors=1)
    found.stdout.fnmatch_lines_random([
        "*the gate needs a limit*",
        "*calibration has no option 'max_eec'; its options are max_ece, notion*",
        "*must be above 0 and at most 1*",
        "*nonsense*",
        "*calibration(...) needs y_true and y_prob*",
        "*nowhere.json*",
        "*the marker calibration needs named options*",
    ])  # fmt: skip
    found.stdout.no_fnmatch_line("*InternalError*")


def test_installed_it_loads_nothing_heavy_and_works_in_workers(pytester):
    """Its entry point is as pip writes it; a second process is for the worker."""
    point = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["pytest11"]["calib"]
    assert point == pytest_plugin.__name__
    metadata = pytester.mkdir("site") / "zz_calib_again-1.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text(f"[pytest11]\ncalib = {point}\n", encoding="utf-8")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: zz-calib-again\nVersion: 1\n", encoding="utf-8")
    pytester.makeconftest("""
import sys
def pytest_sessionstart(session):
    assert not {"numpy", "pandas", "sklearn", "scipy"} & set(sys.modules), "heavy before a test asks"
    assert session.config.pluginmanager.has_plugin("calib")
""")  # fmt: skip
    pytester.makepyfile(ROWS + """
@pytest.mark.calibration(max_ece=0.05, notion="confidence")
def test_right(calibration): calibration(*rows())
@pytest.mark.calibration(max_ece=0.05, notion="confidence")
def test_wrong(calibration): calibration(*rows(off=0.2))
""")  # fmt: skip
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, metadata.parent)))}
    env.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", "--junitxml=j.xml"]
    found = subprocess.run(command, capture_output=True, text=True, env=env, cwd=pytester.path, timeout=100)
    assert "1 failed, 1 passed" in found.stdout, found.stdout + found.stderr
    assert 'property name="calibration" value="within tolerance: Confidence ECE' in Path("j.xml").read_text("utf-8")
