"""Metrics of the code's structure: ``make house`` prints them next to their targets.

- Room: a folder or module at the root of calib_core (``_base`` too).
- Arrow: room A imports room B, late imports and type checkers' ones included.
- Circle: rooms that import one another.
- Floor: the longest chain of arrows below a room, circles taken as one.
- Back: an arrow from a lower layer of ``.importlinter`` to a higher one.
"""

from __future__ import annotations

import ast
import configparser
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path

import calib_core as cc
from tests.support.source_trees import nodes_of, tree_of

ROOT = Path(__file__).parents[1]
Arrows = dict[str, set[str]]


def sources(package: str) -> dict[str, str]:
    """Return the text of every module by its dotted name."""
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text()
    return found


def imported(text: str, modules: set[str]) -> Iterator[str]:
    """Yield modules of the package that a text imports, anywhere in it."""
    for node in nodes_of(tree_of(text)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module in modules:
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                yield inner if inner in modules else str(node.module)


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def arrows(package: str) -> Arrows:
    """Return rooms by the rooms that they import; the package's public module, which imports all, is no room."""
    texts = sources(package)
    found: Arrows = {room_of(module): set() for module in texts if module != package}
    for module, text in texts.items():
        if module != package:
            reached = {room_of(other) for other in imported(text, set(texts))}
            found[room_of(module)] |= reached - {room_of(module), ""}
    return found


def circles(plan: Arrows) -> list[frozenset[str]]:
    """Return sets of rooms each of which reaches the others."""
    reach = {room: _reached(plan, room) for room in plan}
    return sorted({frozenset(b for b in reach[a] if a in reach[b]) for a in plan} - {frozenset()}, key=sorted)


def _reached(plan: Arrows, room: str) -> set[str]:
    seen: set[str] = set()
    ahead = [room]
    while ahead:
        fresh = plan[ahead.pop()] - seen
        seen |= fresh
        ahead += fresh
    return seen


def floors(plan: Arrows) -> int:
    """Return the longest chain of arrows; rooms of one cycle count as one."""
    circle = {room: each for each in circles(plan) for room in each}

    def height(room: str) -> int:
        inside = circle.get(room, frozenset({room}))
        below = {other for member in inside for other in plan[member]} - inside
        return 1 + max(map(height, below), default=0)

    return max(map(height, plan))


def layers() -> list[set[str]]:
    """Return the core's layers, the highest first, as in the contract."""
    contract = configparser.ConfigParser()
    contract.read(ROOT / ".importlinter")
    lines = contract["importlinter:contract:core-layers"]["layers"].split("\n")
    return [{room.strip() for room in line.split("|")} for line in lines if line.strip()]


def back(plan: Arrows) -> list[tuple[str, str]]:
    """Return arrows from a lower layer to a higher one."""
    level = {room: height for height, rooms in enumerate(layers()) for room in rooms}
    return [(a, b) for a in plan for b in sorted(plan[a]) if a in level and b in level and level[b] < level[a]]


def matches(package: str, pattern: str) -> int:
    return sum(len(re.findall(pattern, text)) for text in sources(package).values())


def files_with(package: str, pattern: str) -> int:
    return sum(bool(re.search(pattern, text)) for text in sources(package).values())


def files_run_through(ask: Callable[[], object]) -> int:
    """Return the number of files of calib_core that run for a result; code that runs at import does not count."""
    seen: set[str] = set()
    inside = str(ROOT / "calib_core")

    def note(frame: typing.Any, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(inside) and frame.f_code.co_name != "<module>":
            seen.add(frame.f_code.co_filename)

    ask()  # what is loaded late is loaded here
    sys.setprofile(note)
    try:
        ask()
    finally:
        sys.setprofile(None)
    return len(seen)


def answers() -> dict[str, Callable[[], object]]:
    """Return the three traced calls, each with its own predictions, so that nothing is cached."""
    probs, labels = [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]] * 40, [0, 1, 2, 0, 0, 2] * 20
    return {
        "an estimate": lambda: cc.estimate(cc.Predictions(probs, labels), "confidence", "ece").value,
        "the interval of an RMSCE": lambda: cc.estimate(
            cc.Predictions(probs, labels), "confidence", "rmsce"
        ).interval(),
        "a verdict": lambda: cc.estimate(cc.Predictions(probs, labels)).verdict(),
    }


def public_names() -> tuple[int, int]:
    """Return the number of names of the package, and with those of its rooms."""
    names = [name for name in dir(cc) if not name.startswith("_")]
    rooms = [getattr(cc, name) for name in names if inspect.ismodule(getattr(cc, name))]
    return len(names), len(names) + sum(len([n for n in dir(room) if not n.startswith("_")]) for room in rooms)


def anys_in_signatures() -> tuple[int, int]:
    """Return the number of annotations of public functions that contain ``Any``, and of all annotations."""
    anys = every = 0
    for text in sources("calib_core").values():
        for node in nodes_of(tree_of(text)):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                said = [ast.unparse(a.annotation) for a in given if a.annotation] + (
                    [ast.unparse(node.returns)] if node.returns else []
                )
                anys += sum(bool(re.search(r"\bAny\b", each)) for each in said)
                every += len(said)
    return anys, every


def classes_named_twice() -> list[str]:
    """Return public classes of calib_core and dashboard whose name another class has."""
    seen: dict[str, int] = {}
    for package in ("calib_core", "dashboard"):
        for text in sources(package).values():
            for node in tree_of(text).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    seen[node.name] = seen.get(node.name, 0) + 1
    return sorted(name for name, times in seen.items() if times > 1)


def lines(package: str) -> int:
    return sum(text.count("\n") for text in sources(package).values())


WORDS = r"\"(within tolerance|miscalibrated|too close to call|too few rows to tell)\""
CLAIM_TYPES = r"isinstance\([^)]*(?:Claims|Tally|Tallies|Counted|Counts)\w*\b"


WHY = {
    "modules in the root": "`calls` holds the names that the dashboard uses and the package's face no longer has",
    "rooms": "25 folders and five modules; `calls`, `results` and `risk` were parts of others in the plan",
    "floors": "text, results and the registry lie below everything, so that every room words and names things alike",
    "files of calib_core": "a calibrator, a tool's format, a paper and a figure have a file each",
    "lines of calib_core": "a fifth are docstrings; folding files together saves only their headings",
    "files of dashboard": "a view, an exhibit's subject and a command have a file each",
    "lines of dashboard": "a quarter are exhibits, which declare every column, its meaning and the sentences",
    "questions after": "each refuses in words of its own, or reads from counts what rows give by another computation",
    "files that": "two or three of each room on the way: predictions, claims, notions, bins, estimators, intervals",
    "public names": "the 32 and the rooms; `with those of its rooms` counts every method that a face hands on",
    "with those": "every method is imported from the face of its room; old names warn until 1.0",
}
"""Reasons for missed targets, by the beginning of the line."""


def missed(value: object, wanted: object) -> bool:
    """Return True if a value is above its target: a number, or "at most" or "about" one; none is always met.

    >>> missed(322, "at most 300"), missed(300, "at most 300"), missed(6, 5), missed(191, "")
    (True, False, True, False)
    """
    number = re.sub(r"\D", "", str(wanted))
    return bool(number) and isinstance(value, int) and value > int(number)


def reasons(measured: list[tuple[str, object, object]]) -> Iterator[str]:
    """Yield why each target is missed, and the reasons that no line needs any more."""
    needed = [what for what, value, wanted in measured if missed(value, wanted)]
    for what in needed:
        yield f"{what}: {next((why for start, why in WHY.items() if what.startswith(start)), 'no reason is given')}"
    yield from (f"not needed: {start}" for start in WHY if not any(what.startswith(start) for what in needed))


def table() -> list[tuple[str, object, object]]:
    """Return each metric, its value and its target."""
    plan = arrows("calib_core")
    root = [path.stem for path in (ROOT / "calib_core").glob("*.py")]
    few, all_names = public_names()
    anys, signatures = anys_in_signatures()
    rows: list[tuple[str, object, object]] = [
        ("modules in the root of calib_core", len(root), 5),
        ("rooms", len(plan), 22),
        ("floors", floors(plan), 10),
        ("arrows back up", len(back(plan)), 0),
        ("circles", len(circles(plan)), 0),
        ("files of calib_core", len(sources("calib_core")), "at most 300"),
        ("lines of calib_core", lines("calib_core"), "at most 58,000"),
        ("files of dashboard", len(sources("dashboard")), "at most 200"),
        ("lines of dashboard", lines("dashboard"), "at most 22,000"),
        ("places that sum by cell (bincount), in calib_core", matches("calib_core", r"np\.bincount\("), ""),
        ("files with such a place", files_with("calib_core", r"np\.bincount\("), ""),
        ("type tests of claims", matches("calib_core", CLAIM_TYPES), "at most 5"),
        ("questions after the grain of predictions", matches("calib_core", r"\.grain\b"), "at most 5"),
        ("casts", matches("calib_core", r"(?<![.\w])(?:typing\.)?cast\("), "at most 8"),
        *(
            (f"files that {name} runs through", files_run_through(ask), most)
            for (name, ask), most in zip(answers().items(), (10, 18, 24), strict=True)
        ),
        ("public names of calib_core", few, "about 32"),
        ("with those of its rooms", all_names, "about 300"),
        (f"Any in {signatures:,} public annotations", anys, "at most 60"),
        ("files that spell a verdict's word", files_with("calib_core", WORDS) + files_with("dashboard", WORDS), 1),
        ("public class names used twice", len(classes_named_twice()), 0),
    ]
    return rows


if __name__ == "__main__":
    measured = table()
    wide = max(len(what) for what, _, _ in measured)
    for what, value, wanted in measured:
        sys.stdout.write(f"{what:<{wide}}  {value:>8,}  {wanted}\n")
    for reason in reasons(measured):
        sys.stdout.write(f"{reason}\n")
    sys.stdout.write(f"\nrooms: {', '.join(sorted(arrows('calib_core')))}\n")
    sys.stdout.write(
        f"back: {back(arrows('calib_core'))}; circles: {[sorted(c) for c in circles(arrows('calib_core'))]}\n"
    )
    sys.stdout.write(f"classes named twice: {', '.join(classes_named_twice())}\n")
