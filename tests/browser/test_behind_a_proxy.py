"""`calib serve` behind Debian's nginx: a path prefix, a name from the proxy, and no page that violates its policy."""

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.test_app import own_file
from tests.browser.waiting import settled

NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
pytestmark = [
    pytest.mark.wide,
    pytest.mark.skipif(not Path(NGINX).exists(), reason="nginx is not installed: apt-get install nginx-light"),
]
MARKERS = ("markername", "markerclass")
PAGE = Path(__file__).parents[2] / "docs/how-to/server.md"


@dataclass
class Served:
    """Server and the proxy in front of it."""

    url: str
    direct: str


@pytest.fixture(scope="module")
def proxied(served_many, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:  # type: ignore[no-untyped-def]
    """Yield the server behind the documented lines of nginx."""
    folder = tmp_path_factory.mktemp("nginx")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    (folder / "nginx.conf").write_text(_configuration(folder, served_many.url, port))
    nginx = subprocess.Popen([NGINX, "-c", str(folder / "nginx.conf"), "-p", str(folder)])
    yield Served(f"http://localhost:{port}/calib/", f"{served_many.url}/")
    nginx.terminate()
    nginx.wait(timeout=10)


def _configuration(folder: Path, url: str, proxy: int) -> str:
    """Return the documented lines, for this machine's ports; the user's name is not verified."""
    lines = re.findall(r"```nginx\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[0]
    # The page requires a password; here the name comes in a header of the test's browser.
    lines = re.sub(r"\n *(auth_basic|ssl_)[^\n]*", "", lines).replace("$remote_user", "$http_x_test")
    lines = lines.replace("http://127.0.0.1:8501", url.removesuffix("/calib"))
    lines = lines.replace("443 ssl", f"127.0.0.1:{proxy}").replace("calib.example.org", "localhost")
    folders = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off; {folders}\n{lines} }}"
    )


@pytest.fixture
def people(browser: Browser) -> Iterator[dict[str, BrowserContext]]:
    """Yield two users with separate browsers."""
    contexts = {name: browser.new_context(extra_http_headers={"X-Test": name}) for name in ("ann", "bob")}
    yield contexts
    for context in contexts.values():
        context.close()


def watched(page: Page) -> list[str]:
    """Return the page's complaints, especially about its policy."""
    found: list[str] = []
    page.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    page.set_default_timeout(60_000)
    return found


def table(folder: Path) -> Path:
    path = folder / "markername.csv"
    lines = [f"{i % 97 / 97:.4f},{1 - i % 97 / 97:.4f},{'markerclass' if i % 3 else 'other'}" for i in range(90)]
    path.write_text("p_markerclass,p_other,label\n" + "\n".join(lines))
    return path


def test_rooms_are_drawn_and_what_is_uploaded_is_ones_own_until_it_is_shared(
    proxied: Served, people: dict[str, BrowserContext], tmp_path: Path
) -> None:
    ann = people["ann"].new_page()
    complaints = watched(ann)
    answer = ann.goto(proxied.url)
    assert answer is not None
    assert answer.headers["x-frame-options"] == "DENY"
    expect(ann.get_by_text("You are ann")).to_be_visible()
    settled(ann)
    own_file(ann).set_input_files(table(tmp_path))
    expect(ann.locator(".st-key-frame-file")).to_contain_text("markername")
    for room in ("Explore", "Recalibrate", "Evidence", "Report", "Overview"):
        ann.get_by_role("radio", name=room, exact=True).click()
        settled(ann)
        expect(ann.locator(".st-key-frame-file")).to_contain_text("markername")
    assert complaints == []

    bob = people["bob"].new_page()
    others = watched(bob)
    bob.goto(ann.url)
    expect(bob.get_by_text("not shared with you")).to_be_visible()
    assert not [marker for marker in MARKERS if marker in bob.content()]
    ann.get_by_role("button", name="Copy link").click()
    ann.get_by_text("Share this file").click()
    expect(ann.get_by_text("Anybody who can reach this server")).to_be_visible()
    bob.reload()
    expect(bob.locator(".st-key-frame-file")).to_contain_text("markername")
    ann.reload()
    expect(ann.locator(".st-key-frame-file")).to_contain_text("markername")
    assert complaints == others == []


def test_nobody_comes_in_beside_the_proxy_and_metrics_are_closed(
    proxied: Served, people: dict[str, BrowserContext], browser: Browser
) -> None:
    nobody = browser.new_context()
    assert nobody.request.get(proxied.direct).status == 403
    assert nobody.request.get(proxied.url).status == 403
    assert people["ann"].request.get(f"{proxied.url}_stcore/metrics").status == 404
    assert people["ann"].request.get(f"{proxied.url}_stcore/health").status == 200
    nobody.close()
