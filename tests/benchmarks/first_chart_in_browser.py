"""Time from requesting a page to its first chart on the screen, with an empty and with a filled browser cache.

    python tests/benchmarks/first_chart_in_browser.py --url http://localhost:8501/?view=reliability --chart reliability

Start the dashboard first, once with `calib dashboard` and once with `streamlit run dashboard/app.py`, and compare. The
clock is the page's own, from the start of the navigation to two frames after the chart's revision is on its node.
"""

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, sync_playwright

DRAWN = """key => new Promise((resolve, reject) => {
    const poll = () => {
        const data = document.querySelector(`[data-calib-chart='${key}']`)?.dataset;
        if (data?.calibRevision) {
            return requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
        }
        if (performance.now() > 60000) return reject(new Error("no chart in 60 s"));
        requestAnimationFrame(poll);
    };
    poll();
})"""


def main() -> None:
    """Print the medians."""
    options = _options()
    from toggle_in_browser import _conftest  # next to this file, in the folder from which it is run

    conftest = _conftest()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:

        def open_context(folder: str) -> BrowserContext:
            return playwright.chromium.launch_persistent_context(
                folder, executable_path=conftest.chromium(), args=conftest.ARGUMENTS
            )

        cold = [_cold(open_context, options) for _ in range(options.rounds)]
        context = open_context(profile)
        page = context.new_page()
        for _ in range(2):
            _first_chart(page, options)
        warm = [_first_chart(page, options) for _ in range(options.rounds)]
        context.close()
    for name, times in (("empty cache", cold), ("filled cache", warm)):
        low, high = min(times), max(times)
        sys.stdout.write(f"{name}: median {statistics.median(times):.0f} ms (from {low:.0f} to {high:.0f})\n")
    sys.stdout.write(f"load of the machine: {os.getloadavg()[0]:.1f}\n")


def _cold(open_context: Callable[[str], BrowserContext], options: argparse.Namespace) -> float:
    with tempfile.TemporaryDirectory() as folder:
        context = open_context(folder)
        found = _first_chart(context.new_page(), options)
        context.close()
    return found


def _first_chart(page: Page, options: argparse.Namespace) -> float:
    page.goto("about:blank")
    page.goto(options.url, wait_until="commit")
    found = float(page.evaluate(DRAWN, options.chart))
    page.wait_for_timeout(options.pause)
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="a page of a running dashboard")
    parser.add_argument("--chart", default="reliability", help="key of the chart")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pause", type=int, default=1000, help="milliseconds between two rounds")
    return parser.parse_args()


if __name__ == "__main__":
    main()
