"""The documentation as a site: `make docs` writes build/docs, which is read from a disk, without a network.

Pages of docs/ are run and their figures drawn. Reference, papers and accuracy are generated. MkDocs builds the site in
strict mode, and pdoc adds the pages of the docstrings. Usage: python -m tests.docs.build FOLDER
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.docs import executed, reference, simulated
from tests.docs.api_pages import mathml

ROOT = executed.ROOT
HERE = Path(__file__).parent
ASSETS = {
    "plotly-basic.min.js": ROOT / "dashboard/chart/assets/plotly-basic.min.js",
    "overview.png": ROOT / ".github/overview.png",
    "site.css": HERE / "style/site.css",
    "iframe-worker.js": HERE / "style/iframe-worker.js",
}
ELSEWHERE = {
    "../.github/overview.png": "assets/overview.png",
    "../README.md#architecture": "architecture.md",
}
"""Links of pages to files that are outside docs/, and where these are in the site."""
GENERATED = {
    "**Reference**": "reference/index.md",
    "**Papers**": "papers.md",
    "**Accuracy of our claims**": "accuracy.md",
}
"""Titles on the first page of the pages that only the site has."""


def build(folder: Path) -> None:
    """Write the site into a folder; the pages it is built from are written next to it."""
    source = folder.with_name("docs-source")
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source)
    (source / "assets" / "figures").mkdir(parents=True)
    for name, file in ASSETS.items():
        shutil.copyfile(file, source / "assets" / name)
    for path, text in generated(source).items():
        (source / path).parent.mkdir(exist_ok=True)
        (source / path).write_text(text, encoding="utf-8")
    for page in sorted(source.rglob("*.md")):
        page.write_text(illustrated(page, source), encoding="utf-8")
    subprocess.run([sys.executable, "-W", "ignore", str(HERE / "api_pages.py"), str(source / "api")], check=True)
    config = source.with_name("mkdocs.yml")
    config.write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: {source}\nsite_dir: {folder}\n", encoding="utf-8")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "true"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", str(config)]
    subprocess.run(command, check=True, env=environment)


def generated(source: Path) -> dict[str, str]:
    """Return generated pages, by their paths; their pictures are saved."""
    readme = (ROOT / "README.md").read_text("utf-8")
    architecture = re.search(r"^## (Architecture\n.*?)^## ", readme, re.M | re.S)
    assert architecture, "README has a section Architecture"
    accuracy, figures = simulated.page()
    for name, figure in figures.items():
        figure.savefig(source / "assets" / f"accuracy-{name}.svg")
    papers = (ROOT / "tests/reproductions/table.md").read_text("utf-8")
    return {
        **reference.pages(),
        "accuracy.md": accuracy,
        "papers.md": papers,
        "architecture.md": f"# {architecture[1]}",
        "changelog.md": (ROOT / "CHANGELOG.md").read_text("utf-8"),
    }


def illustrated(page: Path, source: Path) -> str:
    """Return a page with figures after the blocks that assign them, and links and formulas for the site."""
    text = page.read_text("utf-8")
    name = str(page.relative_to(source).with_suffix("")).replace("/", "-")
    parts, start = [], 0
    with tempfile.TemporaryDirectory() as folder:
        executed.prepare(Path(folder))
        for number, result in enumerate(executed.run(page, Path(folder), wide=True)):
            assert executed.agrees(result), f"{page}:{result.block.line} prints\n{result.printed}"
            parts.append(text[start : result.block.code_end])
            start = result.block.end
            # The printed output, if the page omits digits or has no output because it is generated.
            if result.block.expected is not None or (result.printed and page.parent.name == "reference"):
                parts.append(f"\n\n```text\n{result.printed}```")
            if result.figure is not None:
                parts.append(f"\n\n{_figure(result.figure, f'{name}-{number}', page, source)}")
    return _adapted("".join([*parts, text[start:]]))


def _figure(figure: Any, name: str, page: Path, source: Path) -> str:
    """Return the element of a figure and save its file: a script for Plotly, a picture for Matplotlib."""
    figures = os.path.relpath(source / "assets/figures", page.parent)
    if hasattr(figure, "savefig"):
        figure.savefig(source / f"assets/figures/{name}.svg")
        return f"![Figure]({figures}/{name}.svg)"
    height = max(figure.layout.height or 460, 340)
    figure.update_layout(width=None, height=height)
    settings = "{responsive: true, displayModeBar: false}"
    script = (
        f'{{\nconst drawn = {figure.to_json()};\nPlotly.newPlot("{name}", drawn.data, drawn.layout, {settings});\n}}\n'
    )
    (source / f"assets/figures/{name}.js").write_text(script, encoding="utf-8")
    # Deferred: it runs once the page is read and Plotly is loaded.
    return (
        f'<div id="{name}" class="figure" role="img" aria-label="Figure" style="height: {height}px"></div>\n'
        f'<script src="{figures}/{name}.js" defer></script>'
    )


def _adapted(text: str) -> str:
    for link, place in ELSEWHERE.items():
        text = text.replace(f"]({link})", f"]({place})")
    for words, place in GENERATED.items():
        text = text.replace(f"- {words}:", f"- [{words}]({place}):")
    text = text.replace("<!-- wide -->\n", "")
    return re.sub(r"^\$\$(.+)\$\$$", lambda tex: f'<div class="formula">{mathml(tex[1])}</div>', text, flags=re.M)


if __name__ == "__main__":
    build(Path(sys.argv[1]).absolute())
