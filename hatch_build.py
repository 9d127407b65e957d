"""Build hook: an installed package has no top-level names that others may have, too, and the pages of `calib help`.

In the repository the packages are `dashboard` and `demo_data`. A wheel contains them as `calib.dashboard` and
`calib_core.demo_data`. Their import statements are changed to these names, and nothing else of them: a line keeps its
number, and no path is searched that Python does not search anyway. An editable installation is the repository itself.
"""

from __future__ import annotations

import ast
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHIPPED_AS = {
    "calib": "calib",
    "calib_core": "calib_core",
    "dashboard": "calib.dashboard",
    "demo_data": "calib_core.demo_data",
}
"""Packages of the repository, by their names in a wheel."""

PAGES = "docs"
"""Folder of the written documentation, which `calib help` reads; a wheel contains its text as calib/docs."""

LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.LICENSE.txt")
"""Licenses are with the metadata of a wheel."""


def renamed(source: str) -> str:
    """Return a module's text with the import statements of these packages under their names in a wheel.

    >>> renamed("from dashboard.session import call\\nimport dashboard.exhibits  # registers them\\n")
    'from calib.dashboard.session import call\\nimport calib.dashboard.exhibits  # registers them\\n'
    >>> renamed("from dashboard import session\\ndashboard = 'from dashboard'\\n")
    "from calib.dashboard import session\\ndashboard = 'from dashboard'\\n"
    """
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            first, dot, rest = name.partition(".")
            new = SHIPPED_AS.get(first, first)
            if new != first:
                line = lines[node.lineno - 1]
                before, after = line[: node.col_offset], line[node.col_offset :]
                lines[node.lineno - 1] = before + after.replace(name, new + dot + rest, 1)
    return "".join(lines)


class ShippedNames(BuildHookInterface[Any]):
    """Put the packages into the wheel under their names there."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Copy the packages to a temporary folder, change the import statements, and include the copies."""
        if version == "editable":
            return
        self.copies = Path(tempfile.mkdtemp())
        for package, name in SHIPPED_AS.items():
            copy = self.copies / package
            shutil.copytree(Path(self.root, package), copy, ignore=LEFT_OUT)
            for module in sorted(copy.rglob("*.py")):
                module.write_bytes(renamed(module.read_bytes().decode("utf-8")).encode("utf-8"))
            build_data["force_include"][str(copy)] = name.replace(".", "/")
        for page in sorted(Path(self.root, PAGES).rglob("*.md")):
            build_data["force_include"][str(page)] = f"calib/{page.relative_to(self.root).as_posix()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete the copies."""
        if version != "editable":
            shutil.rmtree(self.copies)
