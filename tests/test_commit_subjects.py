"""The check of commit subjects: what it complains about, and which commits it looks at in which clone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.commit_subjects import complaints, main, subjects


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, subject: str, changelog: str = "") -> None:
    if changelog:
        (folder / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
        git(folder, "add", "CHANGELOG.md")
    git(folder, "commit", "--allow-empty", "-m", subject)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A bad subject before the release, a good one after it."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-b", "main")
    commit(folder, "the old ways", "## Unreleased\n")
    commit(folder, "Release 0.1.0", "## Unreleased\n\n## 0.1.0 - 2026-01-01\n")
    commit(folder, "Count the rows", "## Unreleased\n\n- Rows.\n\n## 0.1.0 - 2026-01-01\n")
    return folder


@pytest.mark.parametrize("subject", ["Pass seeds on", "Bring rows together", "Feed the loop", "README: no" + "x" * 62])
def test_good_subjects_pass_and_long_ones_do_not(subject: str) -> None:
    assert bool(list(complaints(subject))) == subject.startswith("README")


@pytest.mark.parametrize("subject", ["Fixes links", "Fixed links", "Fixing links", "The links", "fix links", "Fix it."])
def test_other_forms_are_refused(subject: str) -> None:
    assert list(complaints(subject))


def test_commits_since_the_release_are_checked(repository: Path) -> None:
    assert subjects(repository) == ["Count the rows"]
    assert main(repository) == 0
    commit(repository, "Fixed the rows")
    assert main(repository) == 1


def test_a_tag_is_the_release(repository: Path) -> None:
    commit(repository, "Fixed the rows")
    git(repository, "tag", "v0.2.0")
    commit(repository, "Sort the rows")
    assert subjects(repository) == ["Sort the rows"]


@pytest.mark.parametrize("depth", [1, 2])
def test_a_shallow_clone_checks_what_it_has(repository: Path, tmp_path: Path, depth: int) -> None:
    commit(repository, "Sort the rows")
    git(tmp_path, "clone", "--depth", str(depth), f"file://{repository}", "clone")
    assert subjects(tmp_path / "clone") == ["Sort the rows"]
    assert main(tmp_path / "clone") == 0


def test_without_a_repository_nothing_is_checked(tmp_path: Path) -> None:
    assert main(tmp_path) == 0
