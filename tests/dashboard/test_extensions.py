"""Extension packages: loaded by entry point or by name, never by a link, and harmless if they fail."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import calib_core as cc
from calib_core import InputError, NotAnswerable
from dashboard import extensions, session
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS, Exhibit, added
from dashboard.exhibits import columns as of
from dashboard.navigation import VIEWS
from dashboard.report import CHAPTERS, Options, build
from dashboard.report.document import Block, Heading, Paragraph, TypesetTable
from dashboard.selection import Selection, Source
from dashboard.session import Scene, call, server_limits
from dashboard.session.call import public
from dashboard.views.added import unseen
from dashboard.workers import pool
from tests.dashboard.test_views import opened

WINE = Selection(source=Source(data="demo:wine-logistic"), view="added")
OTHERS = tuple(chapter.key for chapter in CHAPTERS if chapter.key != "extensions")
SHOW = ("show", "overall", "demo:wine-logistic", "--format", "csv")
ONE_FILE = '''
from dataclasses import dataclass
import pandas as pd
from dashboard.exhibits import EXHIBITS, Exhibit
from dashboard.exhibits import columns as of
from dashboard.session import call

def rows_of(models):
    return pd.DataFrame({"model": models.keys(), "rows": [rows.n_rows for rows in models.values()]})

@EXHIBITS.register("rows-of", "Rows of each model")
@dataclass(frozen=True)
class RowsOf(Exhibit):
    """How many rows each model answers."""

    def table(self, scene):
        return call(rows_of, scene.each(lambda model: model.predictions))

    def columns(self, frame):
        return of.text("model"), of.whole("rows")
'''


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Unload extensions, and remove everything that a test loads and registers afterwards."""
    monkeypatch.setattr(extensions, "_failures", None)
    monkeypatch.setattr(extensions, "_modules", {})
    monkeypatch.setattr(extensions, "_named", {})
    monkeypatch.setattr(EXHIBITS, "_entries", {k: e for k, e in EXHIBITS._entries.items() if k not in _foreign()})
    path, loaded = [*sys.path], {*sys.modules}
    yield
    sys.path[:] = path
    for name in [name for name in sys.modules if name not in loaded and name.startswith("their_")]:
        del sys.modules[name]


def _foreign() -> set[str]:
    return {key for keys in added().values() for key in keys}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory: an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def installed(folder: Path, module: str, text: str) -> None:
    """Install a module that declares itself as an extension, as pip does."""
    (folder / f"{module}.py").write_text(text, encoding="utf-8")
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(f"[{extensions.GROUP}]\nany = {module}\n", encoding="utf-8")
    sys.path.insert(0, str(folder))


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words, prog_name="calib")


# -- loading --------------------------------------------------------------------------------------------------


def test_an_installed_extension_is_imported_once_and_only_when_asked(here: Path) -> None:
    installed(here, "their_marks", "import builtins\nbuiltins.marks = getattr(builtins, 'marks', 0) + 1\n")
    import builtins

    try:
        assert run("--help").exit_code == run("show", "--help").exit_code == 0
        assert not hasattr(builtins, "marks")
        assert extensions.load_installed() == extensions.load_installed() == ()
        assert builtins.marks == 1  # type: ignore[attr-defined]
        assert extensions.modules() == ("their_marks",)
        assert extensions.named() == ()
    finally:
        vars(builtins).pop("marks", None)


def test_an_installed_extension_that_fails_is_told_and_stops_nothing(here: Path) -> None:
    installed(here, "their_ruin", "raise SystemExit('no licence\\x1b[31m')")
    plain = run(*SHOW)
    assert plain.exit_code == 0
    assert plain.stdout.startswith("model,")
    (line,) = plain.stderr.splitlines()
    for part in ("calib show", "their_ruin", "no licence"):
        assert part in line
    assert "\x1b" not in line
    assert extensions.modules() == ()


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("their_none", None, "No module named 'their_none'"),
        ("their_half", "import their_none", "No module named 'their_none'"),
        ("their_ruin", "1 / 0", "ZeroDivisionError"),
        ("their-file.py", "", "not a package name"),
    ],
)
def test_a_package_named_that_cannot_be_loaded_ends_the_command(
    here: Path, name: str, text: str | None, why: str
) -> None:
    if text is not None:
        (here / f"{name}.py").write_text(text, encoding="utf-8")
    for words in ((*SHOW, "--with", name), ("--with", name, *SHOW)):
        answer = run(*words)
        assert answer.exit_code == 2
        assert answer.stdout == ""
        (line,) = answer.stderr.splitlines()
        assert name in line
        assert why in line
    assert extensions.named() == ()


def test_one_file_in_the_working_directory_is_a_command_and_a_chapter(here: Path) -> None:
    (here / "their_rows.py").write_text(ONE_FILE, encoding="utf-8")
    (here / "csv.py").write_text("raise RuntimeError('hides the standard library')", encoding="utf-8")
    answer = run("show", "rows-of", "demo:wine-logistic", "--format", "python", "--with", "their_rows")
    assert answer.exit_code == 0, answer.stderr
    assert "\nimport their_rows\n" in answer.stdout
    names: dict[str, object] = {}
    exec(compile(answer.stdout, "copied", "exec"), names)
    words = [word for key in OTHERS for word in ("--leave-out", key)]
    answer = run("report", "demo:wine-logistic", "-o", "r.html", *words, "--with", "their_rows")
    assert answer.exit_code == 0, answer.stderr
    page = (here / "r.html").read_text(encoding="utf-8")
    assert "Added by their_rows" in page
    assert f"{names['table']['rows'][0]:,}</td>" in page  # type: ignore[index]
    assert "their_rows" in pool._modules()
    line = session.show_line(WINE, EXHIBITS.recipe("rows-of"))
    assert line.endswith("--with their_rows")
    assert session.report_line(WINE).endswith("--with their_rows")


def test_a_server_for_strangers_loads_what_is_installed_and_nothing_else(here: Path) -> None:
    (here / "their_rows.py").write_text(ONE_FILE, encoding="utf-8")
    for words in (("serve", "--with", "their_rows"), ("--with", "their_rows", "serve")):
        answer = run(*words)
        assert answer.exit_code == 2
        assert "--with" in answer.stderr
    assert "their_rows" not in sys.modules


def test_the_page_tells_what_failed_to_its_owner_and_not_to_strangers(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(here, "their_ruin", "1 / 0")
    app = opened(Selection(view="start"))
    assert ["their_ruin" in box.value.replace("\\", "") for box in app.warning] == [True]
    monkeypatch.setattr(server_limits, "terms", lambda: server_limits.ServerLimits(private=True))
    assert not opened(Selection(view="start")).warning


# -- calls ----------------------------------------------------------------------------------------------------


def summary(models: object, above: float = 0.5) -> str:
    """Function at the top of a module."""
    return f"{type(models).__name__} above {above}"


def test_any_function_that_can_be_imported_is_called_and_printed() -> None:
    wanted = call(summary, {"a": 1}, above=0.7)
    assert session.RESULTS.get(wanted) == "dict above 0.7"
    assert call(summary, 3, 0.5) == call(summary, 3)  # defaults are left out
    text = session.python(table=wanted, other=call(cc.ece, (0, 1), (0.2, 0.8)))
    assert text.splitlines()[:3] == ["import calib_core as cc", f"import {__name__}", ""]
    names: dict[str, object] = {}
    exec(compile(text, "copied", "exec"), names)
    assert names["table"] == "dict above 0.7"
    assert not any(line.startswith("import") for line in session.python(x=call(cc.ece, (0,), (0.2,))).splitlines()[1:])


def test_no_name_in_copied_code_hides_a_module_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    module = type(sys)("table")
    exec("def twice(x):\n    return 2 * x", vars(module))
    monkeypatch.setitem(sys.modules, "table", module)
    half = call(module.twice, 1, stem="table")
    names: dict[str, object] = {}
    exec(compile(session.python(table=half, other=call(module.twice, half)), "copied", "exec"), names)
    assert (names["table"], names["other"]) == (2, 4)


def test_functions_that_nobody_could_import_are_refused_in_a_sentence() -> None:
    def within() -> None: ...

    script = type(sys)("__main__")
    exec("def of_script(): ...", vars(script))
    renamed = type(sys)("their_other")
    exec("def gone(): ...", vars(renamed))  # its module is not among those imported
    functions = (lambda rows: rows, within, script.of_script, renamed.gone, Path.exists, max)
    for function in functions:
        with pytest.raises(InputError, match=r"cannot be imported by its name|has no readable signature"):
            call(function)
    with pytest.raises(InputError, match="not a public function of calib_core"):
        call(import_module("calib_core.text").begun.__globals__["begun"])


def test_a_name_alone_imports_nothing() -> None:
    for name in ("os:system", "os.system", "their_none:run", f"{__name__}:unused"):
        with pytest.raises(KeyError):
            public(name)
        with pytest.raises(KeyError):
            call(name)
    call(summary, 1)
    assert public(f"{__name__}:summary") is summary
    assert public("ece") is cc.ece


def unused() -> None:
    """Function never passed to `call`."""


@pytest.mark.parametrize("key", ["os:system", "their_rows.rows_of", f"{__name__}:summary"])
def test_links_and_choices_name_registered_recipes_only(key: str, here: Path) -> None:
    (here / "their_rows.py").write_text(ONE_FILE, encoding="utf-8")
    call(summary, 1)  # known to this process, and still no link's business
    for name in ("exhibits", "calibrators"):
        selection, problems = Selection.from_query({name: f'[{{"key":"{key}"}}]'})
        assert selection == Selection()
        assert len(problems) == 1
    assert Selection.from_query({"with": "their_rows"}) == (Selection(), ())
    assert "their_rows" not in sys.modules
    assert run("show", key, "demo:wine-logistic").exit_code == 2


def test_a_process_that_computes_for_this_one_finds_the_function(here: Path) -> None:
    (here / "their_work.py").write_text("def doubled(x, progress=None):\n    return 2 * x\n", encoding="utf-8")
    extensions.load("their_work")
    function = sys.modules["their_work"].doubled
    workers = pool.Pool(1, quick=0, loaded=False)
    try:
        assert workers.run(function, (21,), {}, lambda percent: None) == 42
        assert call(function, 21).takes_long
    finally:
        workers.close()


# -- on screen and in the report ------------------------------------------------------------------------------


def rows_of(scene: Scene) -> object:
    return call(cc.calls.stacked, scene.each(lambda m: call(cc.diagrams.reliability, m.predictions, bins=1)))


@dataclass(frozen=True)
class _Works(Exhibit):
    """Number of rows that each model answers."""

    def table(self, scene: Scene) -> object:  # type: ignore[override]
        return rows_of(scene)

    def columns(self, frame: object) -> tuple[of.Column, ...]:
        return of.text("model"), of.whole("rows", "count")


class _Refuses(_Works):
    """Nothing."""

    def table(self, scene: Scene) -> object:  # type: ignore[override]
        raise NotAnswerable("these rows have no colours")


class _Fails(_Works):
    """Nothing."""

    def table(self, scene: Scene) -> object:  # type: ignore[override]
        raise ZeroDivisionError("by their_own *fault*")


class _WritesBadly(_Works):
    """Nothing."""

    def columns(self, frame: object) -> tuple[of.Column, ...]:
        return (of.text("colour"),)


@pytest.fixture
def four() -> None:
    """Register exhibits of another package: one fails, one refuses, one is written badly, the last works."""
    for key, kind in (("fails", _Fails), ("refuses", _Refuses), ("badly", _WritesBadly), ("works", _Works)):
        fields = {"__module__": "their_four.inner", "__doc__": "Rows."}
        EXHIBITS.register(f"their/{key}", f"Title {key}")(dataclass(frozen=True)(type(key, (kind,), fields)))


@pytest.mark.usefixtures("four")
def test_the_report_has_a_chapter_that_no_error_loses() -> None:
    (section,) = build(WINE, Options(left_out=OTHERS)).document.sections
    assert section.title == "Added by their_four"
    under: dict[str, list[Block]] = {}
    for block in section.blocks:
        if isinstance(block, Heading):
            title = block.text
        else:
            under.setdefault(title, []).append(block)
    for title, parts in {
        "Title fails": ("their_four", "ZeroDivisionError", "by their_own *fault*"),
        "Title badly": ("their_four", "KeyError", "colour"),
        "Title refuses": ("These rows have no colours.",),
    }.items():
        (sentence,) = under[title]
        assert isinstance(sentence, Paragraph)
        assert all(part in sentence.text for part in parts), sentence.text
    assert [table.frame["count"].tolist() for table in under["Title works"] if isinstance(table, TypesetTable)]


@pytest.mark.usefixtures("four")
def test_one_view_shows_what_no_view_of_theirs_does(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(WINE)
    assert "Added by their_four" in " ".join(block.value for block in app.markdown).replace("\\", "")
    assert [error.value.replace("\\", "").count("their_four") for error in app.error] == [1, 1]
    assert "these rows have no colours" in " ".join(info.value.lower() for info in app.info)
    assert len(app.dataframe) == 1
    shown = VIEWS["levels"].__class__(**{**vars(VIEWS["levels"]), "shows": ("their/works", "their/fails")})
    monkeypatch.setitem(VIEWS, "levels", shown)
    assert unseen() == {"their_four": ("their/refuses", "their/badly")}


def test_without_other_packages_there_is_neither_view_nor_chapter() -> None:
    (tabs,) = (each for each in opened(WINE.replace(view="reliability")).button_group if each.label == "View")
    assert "Reliability" in str(tabs.options)
    assert "Added" not in str(tabs.options)
    chapter = next(chapter for chapter in CHAPTERS if chapter.key == "extensions")
    assert chapter.rare
    with pytest.raises(InputError, match="nothing to report"):
        build(WINE, Options(left_out=OTHERS))
