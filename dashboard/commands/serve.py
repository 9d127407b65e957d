"""`calib serve`: serve the dashboard to many users, each with their own data."""

import ipaddress
import os
import re
import sys
from typing import NoReturn

import click

from dashboard import launch
from dashboard.hosting import machine

ABSENCE = 120.0
"""Seconds after a visitor's last tab was closed until their uploads are removed; a reload finds them."""
FILE_MB, LEAST_BYTES = 512, 64 << 20
"""Default maximum size of a file in MB, and minimum memory reserved for data."""
_NAME = re.compile(r"(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_BASE = re.compile(r"(/[A-Za-z0-9._~-]+)*")
_ORIGIN = re.compile(r"https?://[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:\d{1,5})?")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_LOCAL = ("localhost", "127.0.0.1")


@click.command("serve")
@click.option("--address", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=8501, show_default=True, envvar="CALIB_PORT",
              show_envvar=True, help="Port to listen on.")  # fmt: skip
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="Host name of the server (repeatable).")
@click.option("--base-path", default="", metavar="PATH", help="Path prefix of every URL, such as /calib.")
@click.option("--user-header", default="", metavar="NAME", help="HTTP header in which the proxy names the user.")
@click.option(
    "--framed-by",
    multiple=True,
    metavar="ORIGIN",
    help="Origin allowed to embed the dashboard in a frame (repeatable).",
)
@click.option(
    "--sessions", type=click.IntRange(1, 10_000), default=150, show_default=True, help="Maximum number of open tabs."
)
@click.option(
    "--files", type=click.IntRange(1, 1000), default=8, show_default=True, help="Maximum number of uploads per visitor."
)
@click.option(
    "--file-mb",
    type=click.IntRange(1, 1024),
    help="Maximum size of a file in MB (default: 512, or a quarter of the memory for data).",
)
@click.option(
    "--visitor-mb", type=click.IntRange(1), help="Maximum size of a visitor's uploads in MB (default: twice --file-mb)."
)
@click.option(
    "--memory-gb",
    type=click.FloatRange(0.5),
    help="Total memory in GB for data, server and worker processes (default: half of the machine).",
)
@click.option(
    "--processes",
    type=click.IntRange(0, 64),
    help="Number of worker processes (default: one per CPU, at most 8, and as many as fit into a third of the memory).",
)
@click.option(
    "--expire",
    type=click.IntRange(1),
    default=240,
    show_default=True,
    help="Minutes before an unused upload is removed.",
)
def command(
    address: str,
    port: int,
    hosts: tuple[str, ...],
    base_path: str,
    user_header: str,
    framed_by: tuple[str, ...],
    sessions: int,
    files: int,
    file_mb: int | None,
    visitor_mb: int | None,
    memory_gb: float | None,
    processes: int | None,
    expire: int,
) -> None:
    """Serve the dashboard to many users.

    Uploads are private until their owner shares them. They are removed when the owner deletes them, leaves, or does not
    use them for a while. Files are stored only in memory. There is no log-in: run the server behind a proxy that has
    one and passes the user's name in --user-header. In a Hugging Face Space, --host and --framed-by are set
    automatically.

    \b
    Examples:
      calib serve
      calib serve --host calib.example.org --base-path /calib --user-header X-User
      calib serve --address 0.0.0.0 --host calib.example.org --memory-gb 8
    """
    base = "/" + base_path.strip("/") if base_path.strip("/") else ""
    here = machine.space_of(os.environ)
    hosts, framed_by = (*hosts, *here.hosts), (*framed_by, *here.framed_by)
    _check(address, hosts, base, user_header)
    for origin in framed_by:
        if not _ORIGIN.fullmatch(origin):
            _refuse(f"{origin!r} is not an origin: give one such as https://intranet.example.org.")
    sys.argv = [str(launch.APP)]
    from calib_core.readers import limits

    # Many visitors share the memory: a file takes no more than it may anywhere.
    os.environ.setdefault(limits.VARIABLE, "1")
    machine.keep_memory_whole()
    launch.preload()
    launch.collect_on_a_timer()

    from calib_core._base import machine_memory, parallel
    from calib_core.readers.messages import size
    from dashboard.hosting.application import application
    from dashboard.session.server_limits import GB, ServerLimits

    memory = int(memory_gb * GB) if memory_gb else machine_memory.memory() // 2
    if sys.platform == "win32":
        processes = 0  # the pipes to them are of a kind that Windows lacks
    elif processes is None:
        processes = machine.processes_for(memory, parallel.threads())
    own = machine.own_bytes(processes)
    if own > memory - LEAST_BYTES:
        _refuse(
            f"{size(memory)} of memory are too few: the server and its {processes} processes take {size(own)}; give "
            f"--memory-gb {(own + LEAST_BYTES) / GB + 0.05:.1f} or more, or fewer --processes."
        )
    largest = (memory - own) // 4 >> 20
    if file_mb is not None and file_mb > largest:
        _refuse(
            f"--file-mb {file_mb} is more than a quarter of what {size(memory)} of memory leave for data: give "
            f"--file-mb {largest} or less, or more --memory-gb."
        )
    file_mb = file_mb or min(FILE_MB, largest)
    under = ServerLimits(
        private=True,
        hosts=tuple(dict.fromkeys((*_LOCAL, *hosts))),
        base=base,
        user_header=user_header,
        sessions=sessions,
        files=files,
        bytes=(visitor_mb or 2 * file_mb) << 20,
        file_bytes=file_mb << 20,
        memory=memory,
        own=own,
        expiry=60.0 * expire,
        absence=ABSENCE,
        framed_by=tuple(dict.fromkeys(framed_by)),
        processes=processes,
    )
    application(launch.APP, under=under).run(config=launch.hosted(address, port, under))


def _check(address: str, hosts: tuple[str, ...], base: str, user_header: str) -> None:
    try:
        loopback = ipaddress.ip_address("127.0.0.1" if address == "localhost" else address).is_loopback
    except ValueError:
        _refuse(
            f"{address!r} is not an address: give one of this computer, such as 127.0.0.1, or 0.0.0.0 for all of them."
        )
    for name in hosts:
        if not _NAME.fullmatch(name):
            _refuse(f"{name!r} is not a host name: give one without scheme and port, such as calib.example.org.")
    if not loopback and not hosts:
        _refuse(f"{address} can be reached from other machines: give its name with --host, such as calib.example.org.")
    if not _BASE.fullmatch(base):
        _refuse(f"{base!r} is not a path: give one such as /calib, of letters, digits and . _ ~ -.")
    if user_header and not _HEADER.fullmatch(user_header):
        _refuse(f"{user_header!r} is not a header name: give one such as X-User.")


def _refuse(sentence: str) -> NoReturn:
    """Print one sentence without a usage text; exit with code 2."""
    click.echo(f"calib serve: {sentence}", err=True)
    raise SystemExit(2)
