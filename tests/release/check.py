"""Conditions of a release, tried on the built files in clean environments; prints one table.

Usage: python -m tests.release.check [--pythons 3.11,3.12] [--only NAME,NAME] [--online]. A part without its tool
is "not tried". The exit code is 1 if a part fails. The table is build/release/table.txt, too.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "release"
TOOLS = Path(sys.executable).parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LARGEST = 385
"""Megabytes of an environment with calib alone, compiled."""
SLOWEST = 0.2
"""Seconds of processor time to import what a first number needs, beyond its dependencies."""
DOCUMENTED = "app,onnx,stats,duckdb,dask,h5,zstd,matplotlib"
"""Extras that the blocks of the documentation need."""
NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Line:
    """Line of the table: a part, its result, and what was measured."""

    part: str
    result: str
    measured: str


def line(part: str, good: bool, measured: object) -> Line:
    return Line(part, "passes" if good else "FAILS", str(measured))


def run(
    *words: object, folder: Path = BUILD, seconds: float = 1800, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command outside the repository, with neither its packages nor an environment's on the path."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    env = kept | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"} | variables
    command = [str(word) for word in words]
    how = {"cwd": folder, "env": env, "capture_output": True, "text": True, "check": False, "timeout": seconds}
    return subprocess.run(command, **how)


def last(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last line that a command printed."""
    said = [each.strip() for each in (done.stdout + "\n" + done.stderr).splitlines() if each.strip()]
    return said[-1][-100:] if said else f"exit code {done.returncode}"


# ---- what is built -------------------------------------------------------------------------------------------


def built() -> dict[str, Path]:
    """Return the built wheel and source distribution."""
    return {"wheel": next((BUILD / "dist").glob("*.whl")), "sdist": next((BUILD / "dist").glob("*.tar.gz"))}


def build() -> Iterator[Line]:
    """Build twice: the same bytes."""
    digests = []
    for folder in ("dist", "dist-again"):
        shutil.rmtree(BUILD / folder, ignore_errors=True)
        done = run(sys.executable, "-m", "build", "-o", BUILD / folder, ROOT, SOURCE_DATE_EPOCH="1767225600")
        if done.returncode:
            yield line("build", False, last(done))
            raise SystemExit(table([Line("build", "FAILS", done.stdout[-3000:])]))
        files = sorted((BUILD / folder).iterdir())
        digests.append([(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files])
    sizes = ", ".join(f"{kind} {path.stat().st_size / 1e6:.1f} MB" for kind, path in built().items())
    yield line("build: two builds are the same bytes", digests[0] == digests[1], sizes)


def metadata() -> Iterator[Line]:
    """Ask the tools that judge metadata and contents."""
    files = list(built().values())
    for name, words in (
        ("twine check", ["twine", "check", "--strict", *files]),
        ("check-wheel-contents", ["check-wheel-contents", files[0], "--config", ROOT / "pyproject.toml"]),
        ("pyroma", ["pyroma", "--min", "8", files[1]]),
    ):
        if not (TOOLS / words[0]).exists():
            yield Line(name, NOT_TRIED, "the extra `release` is not installed")
            continue
        done = run(TOOLS / str(words[0]), *words[1:])
        rating = re.search(r"Final rating: (\d+/10)", done.stdout + done.stderr)
        yield line(name, done.returncode == 0, rating[1] if rating else last(done))
    names = zipfile.ZipFile(files[0]).namelist()
    tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    yield line("names at the top of the wheel", tops == {"calib", "calib_core"}, ", ".join(sorted(tops)))


def licenses() -> Iterator[Line]:
    """Find a license text for each file of other people that is shipped."""
    wheel = zipfile.ZipFile(built()["wheel"])
    names = wheel.namelist()
    texts = {Path(name).name.split(".")[0]: wheel.read(name).decode() for name in names if "/licenses/" in name}
    told = next(wheel.read(name).decode() for name in names if name.endswith("/METADATA"))
    expression = re.search(r"^License-Expression: (.*)$", told, re.M)
    for kind, ending, words, code in (
        ("typeface", ".ttf", "SIL Open Font License", "OFL-1.1"),
        ("plotly.js", ".min.js", "MIT License", "MIT"),
    ):
        files = [name for name in names if name.endswith(ending)]
        found = [
            texts.get(re.split(r"[-.]", Path(name).name)[0]) or texts.get(Path(name).name.split(".")[0])
            for name in files
        ]
        good = bool(files) and all(text and words.lower() in text.lower() for text in found)
        stated = expression is not None and code in expression[1].split(" AND ")
        yield line(f"license of the {kind}", good and stated, f"{len(files)} files, {code} in metadata: {stated}")


# ---- clean environments ----------------------------------------------------------------------------------------


def interpreter(version: str) -> Path | None:
    """Return a Python of this version: one that uv has or can get, or pyenv's."""
    for words in (["install"], ["find"]):
        done = run(TOOLS / "uv", "python", *words, version, seconds=300)
        if words == ["find"] and done.returncode == 0:
            return Path(done.stdout.strip())
    folder = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return next(iter(sorted(folder.glob(f"{version}.*/bin/python"))), None)


def environment(name: str, python: Path, *needed: str) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Return a new environment's Python, and how its installation ended. pip installs, as most people do."""
    folder = BUILD / name
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    inside = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    return inside, run(inside, "-m", "pip", "install", "-q", *needed)


def megabytes(python: Path) -> float:
    """Return the size of an environment's packages, without pip and setuptools."""
    asked = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    packages = Path(asked.stdout.strip())
    files = (path for path in packages.rglob("*") if path.is_file() and not path.is_symlink())
    without = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
    return sum(f.stat().st_size for f in files if f.relative_to(packages).parts[0].split("-")[0] not in without) / 1e6


def started(python: Path) -> str:
    """Return what is wrong with the commands of an environment; empty if nothing is."""
    calib = python.with_name("calib")
    expected = f"calib {built()['wheel'].name.split('-')[1]}"
    for words in ([calib], [python, "-m", "calib"], [python, "-m", "calib_core"]):
        done = run(*words, "--version")
        if done.stdout.strip() != expected:
            return f"{' '.join(str(word) for word in words[1:]) or 'calib'}: {last(done)}"
    done = run(calib, "gate", "demo:wine-logistic", "--max-ece", "0.3")
    if done.returncode not in (0, 1) or not done.stdout:
        return f"calib gate: {last(done)}"
    # A term of the glossary, and a page that the wheel contains.
    explained = [run(calib, "help", topic) for topic in ("noise-floor", "read-files")]
    return next((f"calib help: {last(each)}" for each in explained if each.returncode), "")


def installed(pythons: list[str]) -> Iterator[Line]:
    """Install what is built with each Python, alone, and use it."""
    for version in pythons:
        python = interpreter(version)
        if python is None:
            yield Line(f"Python {version}", NOT_TRIED, "no such interpreter can be had here")
            continue
        for kind, path in built().items():
            inside, done = environment(f"{kind}-{version}", python, str(path))
            wrong = started(inside) if done.returncode == 0 else last(done)
            size = megabytes(inside)
            yield line(
                f"Python {version}: calib from the {kind}", not wrong and size <= LARGEST, wrong or f"{size:.0f} MB"
            )


def at_once() -> Iterator[Line]:
    """Run the command without installing it."""
    wheel = built()["wheel"]
    for name, words in (
        ("uvx calib", ["uvx", "--from", wheel, "calib", "--version"]),
        ("pipx run calib", ["pipx", "run", "--spec", wheel, "calib", "--version"]),
    ):
        if not (TOOLS / str(words[0])).exists():
            yield Line(name, NOT_TRIED, f"{words[0]} is not installed")
            continue
        done = run(TOOLS / str(words[0]), *words[1:])
        good = done.stdout.startswith("calib ")
        yield line(name, good, done.stdout.strip() if good else last(done))


def import_time() -> Iterator[Line]:
    """Measure the import of what a first number needs, after its dependencies."""
    python = BUILD / f"wheel-{PYTHONS[0]}" / "bin" / "python"
    if not python.exists():
        yield Line("import of calib_core", NOT_TRIED, f"no environment of Python {PYTHONS[0]}")
        return
    ask = (
        "import time, numpy, pandas, scipy.special, threadpoolctl; a = time.process_time(); import calib_core as cc; "
        "b = time.process_time(); cc.Predictions, cc.estimate, cc.ece; print(b - a, time.process_time() - a)"
    )
    found = sorted(tuple(map(float, run(python, "-c", ask).stdout.split())) for _ in range(5))
    alone, whole = (sorted(each[i] for each in found)[2] for i in (0, 1))
    yield line("import of calib_core", whole <= SLOWEST, f"{alone:.3f} s, with what ece needs {whole:.3f} s of CPU")


def dashboards() -> Iterator[Line]:
    """Install the extra `app`, write a report, and start both servers until they answer."""
    inside, done = environment("app", Path(sys.executable), f"{built()['wheel']}[app]")
    yield line(
        "calib[app]", done.returncode == 0, f"{megabytes(inside):.0f} MB" if done.returncode == 0 else last(done)
    )
    calib = inside.with_name("calib")
    done = run(calib, "report", "demo:wine-logistic", "-o", "report.html")
    yield line("calib report", done.returncode == 0, last(done))
    for port, words in ((8731, ["dashboard", "demo:wine-logistic", "--headless"]), (8732, ["serve"])):
        yield line(f"calib {words[0]}", *answering([str(calib), *words, "--port", str(port)], port))


def answering(command: list[str], port: int, seconds: float = 180) -> tuple[bool, str]:
    """Return whether a server answers, and after how long; it is ended in any case."""
    began = time.monotonic()
    server = subprocess.Popen(command, cwd=BUILD, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while time.monotonic() < began + seconds and server.poll() is None:
            try:
                with urllib.request.urlopen(f"http://localhost:{port}/", timeout=5) as page:
                    return b"<title>" in page.read(), f"answers after {time.monotonic() - began:.0f} s"
            except OSError:
                time.sleep(0.5)
        return False, f"does not answer (exit code {server.poll()})"
    finally:
        server.terminate()
        server.wait(30)


# ---- the documentation, the interface and the formats, with what is installed -------------------------------------


def copied() -> Path:
    """Return a folder with the documentation and its tests, but none of the packages."""
    folder = BUILD / "documents"
    shutil.rmtree(folder, ignore_errors=True)
    found = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert found is not None
    assert found.loader is not None
    hook = importlib.util.module_from_spec(found)
    found.loader.exec_module(hook)
    for name in ("docs", "demo_data", "tests/docs", "tests/extension/files", "tests/release"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "Makefile", "pyproject.toml", "CHANGELOG.md"):
        shutil.copyfile(ROOT / name, folder / name)
    for path in [*(folder / "tests/docs").glob("*.py"), *(folder / "tests/release").glob("*.py")]:
        path.write_text(hook.renamed(path.read_text("utf-8")), encoding="utf-8")
    for path in (folder / "demo_data").glob("*.py"):
        path.unlink()
    return folder


def documents() -> Iterator[Line]:
    """Run every block of the README and the documentation, slow ones too, with the installed wheel."""
    folder = copied()
    inside, done = environment(
        "documented", Path(sys.executable), f"{built()['wheel']}[{DOCUMENTED}]", "pytest", "jsonschema"
    )
    if done.returncode:
        yield line("documentation", False, last(done))
        return
    for name in ("README.md", *sorted(str(path.relative_to(folder)) for path in (folder / "docs").rglob("*.md"))):
        done = run(inside, "-W", "ignore", "-m", "tests.docs.executed", name, folder=folder)
        blocks = len(re.findall(r"^line \d+, ", done.stdout, re.M))
        wrong = re.findall(r"^(line \d+), .*: not what the page shows$", done.stdout, re.M)
        if blocks or done.returncode:
            yield line(name, done.returncode == 0, f"{blocks} blocks" if done.returncode == 0 else wrong or last(done))
    done = run(inside, "-W", "ignore", "-m", "tests.docs.notebooks", folder=folder)
    cells = re.findall(r"^\S+\.ipynb: (\d+) cells", done.stdout, re.M)
    told = f"{len(cells)} with {sum(map(int, cells))} cells" if done.returncode == 0 else last(done)
    yield line("notebooks show what they compute", done.returncode == 0 and bool(cells), told)
    done = run(inside, "-W", "ignore", "-m", "tests.release.api", folder=folder)
    lines = len((folder / "tests/release/api.txt").read_text("utf-8").splitlines())
    same = done.returncode == 0 and not done.stdout.strip()
    yield line("public interface is the listed one", same, f"{lines:,} lines" if same else last(done))
    # Not with the settings of this repository, which need more plug-ins.
    kept = [
        "-c",
        os.devnull,
        "--rootdir",
        folder,
        "--import-mode=importlib",
        "tests/release/test_formats.py",
        "-k",
        "kept",
    ]
    done = run(inside, "-m", "pytest", "-q", *kept, folder=folder, PYTHONPATH=str(folder))
    yield line("kept files of each format are read", done.returncode == 0, last(done))


def since_the_last_release() -> Iterator[Line]:
    """Find lines of the last release's interface that code may rely on and that are gone."""
    from tests.release import api

    git = ["git", "-C", str(ROOT)]
    tag = subprocess.run([*git, "describe", "--tags", "--abbrev=0"], capture_output=True, text=True, check=False)
    kept = subprocess.run(
        [*git, "show", f"{tag.stdout.strip()}:tests/release/api.txt"], capture_output=True, text=True, check=False
    )
    if tag.returncode or kept.returncode:
        yield Line("interface since the last release", NOT_TRIED, "no tag has a listed interface")
        return
    broken = api.breaking(kept.stdout.splitlines(), api.KEPT.read_text("utf-8").splitlines())
    yield line(
        "interface since the last release", not broken, f"{len(broken)} breaking changes since {tag.stdout.strip()}"
    )


# ---- links -----------------------------------------------------------------------------------------------------


def links(online: bool) -> Iterator[Line]:
    """Look for the targets of links: those within the repository, and on request those on the web."""
    done = run(sys.executable, "-m", "pytest", "-q", "tests/docs/test_pages.py", "-k", "link or exist", folder=ROOT)
    yield line("links within the repository", done.returncode == 0, last(done))
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
    found = sorted(
        {
            each
            for page in pages
            for each in re.findall(r"\]\((https?://(?!localhost)[^)\s]+)\)", page.read_text("utf-8"))
        }
    )
    if not online:
        yield Line("links on the web", NOT_TRIED, f"{len(found)} addresses; --online asks them")
        return
    gone = [address for address in found if not reached(address)]
    yield line("links on the web", not gone, f"{len(found)} addresses; gone: {', '.join(gone) or 'none'}")


def reached(address: str) -> bool:
    asked = urllib.request.Request(address, method="HEAD", headers={"User-Agent": "calib release check"})
    try:
        with urllib.request.urlopen(asked, timeout=20) as answer:
            return bool(answer.status < 400)
    except OSError:
        return False


# ---- the table -------------------------------------------------------------------------------------------------


def table(lines: list[Line]) -> str:
    wide = max((len(each.part) for each in lines), default=0)
    return "\n".join(f"{each.part:{wide}}  {each.result:9}  {each.measured}" for each in lines) + "\n"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pythons", default=",".join(PYTHONS), help="versions to install with")
    options.add_argument("--only", default="", help="parts to run; the files have to be built before")
    options.add_argument("--online", action="store_true", help="ask the links on the web")
    chosen = options.parse_args()
    parts: dict[str, Callable[[], Iterator[Line]]] = {
        "build": build,
        "metadata": metadata,
        "licenses": licenses,
        "installed": lambda: installed(chosen.pythons.split(",")),
        "at_once": at_once,
        "import_time": import_time,
        "dashboards": dashboards,
        "documents": documents,
        "since_the_last_release": since_the_last_release,
        "links": lambda: links(chosen.online),
    }
    BUILD.mkdir(parents=True, exist_ok=True)
    lines: list[Line] = []
    for name, part in parts.items():
        if not chosen.only or name in chosen.only.split(","):
            for each in part():
                lines.append(each)
                sys.stderr.write(table([each]))
    (BUILD / "table.txt").write_text(table(lines), encoding="utf-8")
    (BUILD / "table.json").write_text(json.dumps([vars(each) for each in lines], indent=1), encoding="utf-8")
    sys.stdout.write(table(lines))
    return int(any(each.result == "FAILS" for each in lines))


if __name__ == "__main__":
    sys.exit(main())
