"""PDF files and pictures from the installed Chromium: the report's page, printed, and its figures, drawn."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calib_core import InputError
from calib_core._base.atomic_files import scratch
from dashboard.export import zipped
from dashboard.report.document import Document
from dashboard.report.page import plotly_js
from dashboard.report.picture import PARTS, PIXELS_PER_INCH, as_json, faces, on_paper, printed

NAMES = ("chromium", "chromium-browser", "google-chrome")
"""Possible names of the program."""
MISSING = (
    "PDF files and pictures need Chromium, which is not installed. Install it (Debian, Ubuntu: apt-get install "
    "chromium), or open the HTML report in any browser and print it."
)
SECONDS = 120
_DPI = 300
_OFFLINE = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--virtual-time-budget=30000",
)
_RESULT = re.compile(r'<pre id="(svg|png)-(\d+)">data:image/[\w+]+;base64,([A-Za-z0-9+/=]+)</pre>')


def found() -> str | None:
    """Return the path of the installed Chromium, None if there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def pdf(page: bytes) -> bytes:
    """Return a page printed to PDF; InputError if there is no Chromium or it fails."""
    with scratch() as folder:
        (folder / "page.html").write_bytes(page)
        _run(folder, "--no-pdf-header-footer", "--print-to-pdf=page.pdf", "page.html")
        file = folder / "page.pdf"
        if not file.is_file():
            raise InputError("Chromium wrote no PDF. Print the HTML report from a browser instead.")
        return file.read_bytes()


def pictures(
    document: Document, width: str, progress: Callable[[float], None] = lambda _: None, *, pdfs: bool = True
) -> bytes:
    """Return every figure at a journal's column width as SVG, PNG (300 dpi) and, with ``pdfs``, PDF, in a ZIP.

    Text is text, in a typeface that each file contains. A program that does not read it takes Arial or Helvetica, whose
    letters are as wide.
    """
    specs = {str(i): on_paper(figure.drawn, width) for i, figure in document.figures}
    names = {str(i): f"figure-{i:02d}-{figure.name}-{width}" for i, figure in document.figures}
    files: dict[str, bytes] = {}
    for (kind, i), data in _drawn(specs).items():
        files[f"{names[i]}.{kind}"] = data
    progress(0.5 if pdfs else 1.0)
    for done, (i, spec) in enumerate(specs.items() if pdfs else (), start=1):
        files[f"{names[i]}.pdf"] = pdf(_sheet(files[f"{names[i]}.svg"], spec["layout"]))
        progress(0.5 + 0.5 * done / len(specs))
    return zipped(dict(sorted(files.items())))


@dataclass(frozen=True)
class Picture:
    """Picture of a figure at the width that it has on the page."""

    png: bytes
    inches: float


def on_page(document: Document) -> dict[int, Picture]:
    """Return every figure by its number, as drawn on the page; none without Chromium."""
    if found() is None or not document.figures:
        return {}
    specs = {str(i): printed(figure.drawn, PARTS[figure.width]) for i, figure in document.figures}
    drawn = _drawn(specs)
    widths = {int(i): spec["layout"]["width"] / PIXELS_PER_INCH for i, spec in specs.items()}
    return {i: Picture(drawn["png", str(i)], width) for i, width in widths.items()}


def _drawn(specs: dict[str, Any], *, pngs: bool = True) -> dict[tuple[str, str], bytes]:
    """Return SVG and, with ``pngs``, PNG of every figure, by (kind, number), from one run of the browser."""
    with scratch() as folder:
        page = _DRAWING.format(
            plotly=plotly_js(), specs=as_json(specs), scale=_DPI / PIXELS_PER_INCH * pngs, faces=as_json(faces())
        )
        (folder / "page.html").write_text(page, encoding="utf-8")
        text = _run(folder, "--dump-dom", "page.html")
    images = {(kind, i): base64.b64decode(data) for kind, i, data in _RESULT.findall(text)}
    if len(images) != (1 + pngs) * len(specs):
        raise InputError("Chromium did not draw every figure. Print the HTML report from a browser instead.")
    return images


# Plotly measures text, so that the typeface is loaded first. Each file contains the styles it has text in.
_DRAWING = """<!DOCTYPE html><meta charset="utf-8"><body><script>{plotly}</script>
<script type="application/json" id="specs">{specs}</script>
<script type="application/json" id="faces">{faces}</script>
<script>
const [specs, faces] = ["specs", "faces"].map((id) => JSON.parse(document.getElementById(id).textContent));
(async () => {{
  const style = document.createElement("style");
  style.textContent = Object.values(faces).join("");
  document.head.append(style);
  for (const font of ["", "bold ", "italic "]) await document.fonts.load(font + "12px Arimo");
  for (const [i, spec] of Object.entries(specs)) {{
    const {{ width, height }} = spec.layout;
    const address = await Plotly.toImage(spec, {{ format: "svg", width, height }});
    const svg = dressed(decodeURIComponent(address.slice(address.indexOf(",") + 1)));
    const vector = "data:image/svg+xml;base64," + encoded(svg);
    stored("svg", i, vector);
    if ({scale}) stored("png", i, await pixels(vector, width, height));
  }}
}})();
function dressed(svg) {{
  const used = [faces.Regular];
  if (/font-weight: ?(bold|700)/.test(svg)) used.push(faces.Bold);
  if (/font-style: ?italic/.test(svg)) used.push(faces.Italic);
  return svg.replace(/<svg[^>]*>/, (start) => start + "<style>" + used.join("") + "</style>");
}}
async function pixels(vector, width, height) {{
  const image = new Image();
  image.src = vector;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * {scale});
  canvas.height = Math.round(height * {scale});
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png");
}}
function stored(kind, i, address) {{
  const pre = document.createElement("pre");
  pre.id = `${{kind}}-${{i}}`;
  pre.textContent = address;
  document.body.append(pre);
}}
function encoded(text) {{
  const bytes = new TextEncoder().encode(text);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}}
</script></body>
"""


def _sheet(svg: bytes, layout: dict[str, Any]) -> bytes:
    """Return a page of the figure's own size with nothing but the figure."""
    size = f"{layout['width']}px {layout['height']}px"
    head = (
        f'<!DOCTYPE html><meta charset="utf-8"><style>@page {{ size: {size}; margin: 0 }} '
        "body { margin: 0 } svg { display: block }</style>"
    )
    return head.encode() + svg


def _run(folder: Path, *arguments: str) -> str:
    """Run Chromium in a folder, with a separate profile and without network; return its output."""
    program = found()
    if program is None:
        raise InputError(MISSING)
    # It refuses to run its sandbox as root; its input pages are our own, and fetch nothing.
    as_root = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    profile = f"--user-data-dir={folder / 'profile'}"
    *options, page = arguments
    command = [program, *_OFFLINE, *as_root, profile, *options, (folder / page).as_uri()]
    try:
        ended = subprocess.run(command, cwd=folder, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as why:
        raise InputError(f"Chromium took more than {SECONDS} seconds and was stopped: try again.") from why
    if ended.returncode != 0:
        lines = ended.stderr.decode(errors="replace").strip().splitlines()
        raise InputError(f"Chromium ended with an error ({lines[-1][:200] if lines else ended.returncode}).")
    return ended.stdout.decode(errors="replace")
