"""Time from a click on a control to the new picture on the screen, measured inside the page.

    python tests/benchmarks/toggle_in_browser.py                    # the page of the browser tests
    python tests/benchmarks/toggle_in_browser.py --url http://localhost:8501 --click TEXT --chart KEY
    python tests/benchmarks/toggle_in_browser.py --script x.py --mark "[data-testid=stPlotlyChart] .main-svg"

A round starts with the click and ends two animation frames after the mark changed. For a chart of `dashboard.chart` the
mark is its `data-calib-revision`. For anything else it is the identity of the node `--mark` selects. Wall time is what
a person waits; the server's processor time is what a busy machine makes of it.
"""

import argparse
import importlib.util
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from playwright.sync_api import Page, sync_playwright

TESTS = Path(__file__).parents[1]
ROUND = """([selector, mark, byNode]) => new Promise((resolve, reject) => {
    const read = () => {
        const node = document.querySelector(mark);
        return byNode ? node : node?.dataset.calibRevision;
    };
    const control = document.evaluate(selector, document, null, 9).singleNodeValue;
    const before = read(), start = performance.now();
    const poll = () => {
        const now = read();
        if (performance.now() - start > 30000) return reject(new Error("nothing was drawn in 30 s"));
        if (!now || now === before) return requestAnimationFrame(poll);
        requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - start)));
    };
    control.click();
    requestAnimationFrame(poll);
})"""


def main() -> None:
    """Print the median time of a toggle and the server's processor time for it."""
    options = _options()
    conftest = _conftest()
    with sync_playwright() as playwright, _address(options, conftest) as (url, server):
        browser = playwright.chromium.launch(executable_path=conftest.chromium(), args=conftest.ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 1600})
        page.goto(url)
        page.wait_for_selector(_mark(options), timeout=60_000)
        page.wait_for_timeout(1500)
        times = [_round(page, options) for _ in range(options.warm)]
        used = server.cpu_seconds() if server else 0.0
        times = [_round(page, options) for _ in range(options.rounds)]
        used = (server.cpu_seconds() if server else 0.0) - used
        browser.close()
    low, high = min(times), max(times)
    sys.stdout.write(
        f"toggle to drawn: median {statistics.median(times):.0f} ms (from {low:.0f} to {high:.0f}, {len(times)} rounds)"
    )
    sys.stdout.write(f", server {1000 * used / len(times):.0f} ms of processor each\n" if server else "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="a running dashboard; without it --script is started")
    parser.add_argument("--script", type=Path, default=TESTS / "browser" / "apps" / "chart_app.py")
    parser.add_argument("--click", default="after", help="text of the control")
    parser.add_argument("--chart", default="scatter", help="key of the chart")
    parser.add_argument("--mark", help="CSS selector of a node that is replaced, instead of --chart")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--warm", type=int, default=4)
    parser.add_argument("--pause", type=int, default=300, help="milliseconds between two rounds")
    return parser.parse_args()


def _mark(options: argparse.Namespace) -> str:
    return str(options.mark or f"[data-calib-chart='{options.chart}'][data-calib-revision]")


def _round(page: Page, options: argparse.Namespace) -> float:
    text = f"normalize-space()='{options.click}'"
    # The input, not its label: React Aria ignores a label that a script clicks.
    control = f"//label[.//p[{text}]]//input | //button[{text}]"
    milliseconds = page.evaluate(ROUND, [control, _mark(options), options.mark is not None])
    page.wait_for_timeout(options.pause)
    return float(milliseconds)


@contextmanager
def _address(options: argparse.Namespace, conftest: ModuleType) -> Iterator[tuple[str, object]]:
    if options.url:
        yield options.url, None
        return
    with (
        tempfile.TemporaryDirectory() as directory,
        conftest.serve(options.script.resolve(), log=Path(directory) / "log.txt") as server,
    ):
        yield server.url, server


def _conftest() -> ModuleType:
    spec = importlib.util.spec_from_file_location("browser_conftest", TESTS / "browser" / "conftest.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
