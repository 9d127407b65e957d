"""The memory there is, under the limits of control groups of both versions."""

from pathlib import Path

import pytest

from calib_core._base.machine_memory import memory


@pytest.mark.parametrize(
    ("listed", "limits", "wanted"),
    [
        ("0::/\n", {"memory.max": "1000\n"}, 1000),
        ("0::/user/job\n", {"memory.max": "max\n", "user/memory.max": "900\n", "user/job/memory.max": "max"}, 900),
        ("0::/user/job\n", {"user/memory.max": "900\n", "user/job/memory.max": "800\n"}, 800),
        ("4:memory:/docker/a\n3:cpu:/x\n", {"memory/docker/a/memory.limit_in_bytes": "700\n"}, 700),
        ("3:cpu:/x\n", {"memory/memory.limit_in_bytes": "600\n", "x/memory.max": "5"}, 600),
        ("", {"memory.max": "500\n"}, 500),
    ],
)
def test_the_lowest_limit_of_the_groups_counts(
    tmp_path: Path, listed: str, limits: dict[str, str], wanted: int
) -> None:
    (groups := tmp_path / "cgroup").write_text(listed)
    for name, text in limits.items():
        file = tmp_path / "mount" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert memory(groups, tmp_path / "mount") == wanted


def test_without_limits_it_is_that_of_the_machine(tmp_path: Path) -> None:
    (groups := tmp_path / "cgroup").write_text("0::/job\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert memory(groups, tmp_path) == memory(tmp_path / "none", tmp_path / "none") > 1 << 28
