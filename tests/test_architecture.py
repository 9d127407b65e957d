"""Static gates over the repository's own text: forbidden constructs, and restrictions on their place.

Each gate is a function from source text to complaints. It runs over every file of the repository, and over a bad sample
that it must complain about. A gate that has gone blind is therefore noticed. Import rules between modules are
import-linter's (`.importlinter`).
"""

import ast
import functools
import graphlib
import re
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import calib_core
from tests import house
from tests.support.source_trees import nodes_of, tree_of

ROOT = Path(__file__).parents[1]
LIBRARY = ("calib_core/",)
SHIPPED = ("calib/", "calib_core/", "dashboard/")
PACKAGES = (*SHIPPED, "demo_data/")


# ---- the files ---------------------------------------------------------------------------------------------


def repository_files():
    """Return paths of all files git tracks or would track, so that a new file is checked before it is committed."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return sorted({name for name in listed.split("\0") if name and (ROOT / name).is_file()})


def python_files(folders):
    return [name for name in repository_files() if name.endswith(".py") and name.startswith(folders)]


def texts():
    """Yield every text file's name and content; binary files have NUL bytes and are left out."""
    for name in repository_files():
        content = (ROOT / name).read_bytes()
        if b"\0" not in content:
            yield name, content.decode("utf-8", errors="replace")


# ---- walking source ----------------------------------------------------------------------------------------


def dotted(node):
    """Return `a.b.c` for nested attributes of a plain name, otherwise the known part of it."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "?")
    return ".".join(reversed(parts))


@functools.cache
def aliases(tree):
    """Return the meaning of local names: `import numpy as np` gives np -> numpy."""
    names = {}
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            # Without `as`, `import a.b` binds a.
            names |= {a.asname: a.name for a in node.names if a.asname}
            names |= {first: first for a in node.names if not a.asname for first in [a.name.split(".")[0]]}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {(a.asname or a.name): f"{node.module}.{a.name}" for a in node.names}
    return names


def full_name(node, names):
    """Return the dotted name with its first part resolved through the module's imports."""
    first, _, rest = dotted(node).partition(".")
    resolved = names.get(first, first)
    return f"{resolved}.{rest}" if rest else resolved


@functools.cache
def references(tree):
    """Return (line, full dotted name) of every name and attribute that is used."""
    names = aliases(tree)
    used = (node for node in nodes_of(tree) if isinstance(node, ast.Attribute | ast.Name))
    return [(node.lineno, full_name(node, names)) for node in used]


def imported(tree):
    """Yield (line, module) of every import statement."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module


# ---- gates -------------------------------------------------------------------------------------------------


UNPICKLERS = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
RUNS_CODE = {"eval", "exec", "compile", "builtins.eval", "builtins.exec", "builtins.compile", "pandas.eval"}

# What is no data of anybody's, and where it comes from instead.
MAY_UNPICKLE = {
    "dashboard/workers/shared_arrays.py": "what the server and the processes it started itself send each other",
}


def runs_code_from_data(source):
    """Find code from data: files and share links come from strangers, and must not become code."""
    tree = tree_of(source)
    for line, module in imported(tree):
        if module.split(".")[0] in UNPICKLERS:
            yield line, f"imports {module}, which runs code found in data"
    for line, name in references(tree):
        if name in RUNS_CODE or name in {"pandas.read_pickle", "numpy.lib.format.read_array"}:
            yield line, f"uses {name}, which runs code found in data"
    for node in nodes_of(tree):
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle" and not _is_false(node.value):
            yield node.value.lineno, "allow_pickle may only be False: a pickle runs code when it is loaded"


def raw_html(source):
    """Find raw HTML: class names and metadata are users' text, and must not reach the page as HTML."""
    tree = tree_of(source)
    names = aliases(tree)
    for node in nodes_of(tree):
        if isinstance(node, ast.keyword) and node.arg == "unsafe_allow_html":
            yield (
                node.value.lineno,
                "unsafe_allow_html lets users' text become HTML; use st.markdown without it",
            )
    framed = {
        id(call.func)
        for call in nodes_of(tree)
        if isinstance(call, ast.Call) and full_name(call.func, names) == "streamlit.iframe" and _of_data(call, tree)
    }
    for node in nodes_of(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            name = full_name(node, names)
            if name == "streamlit.html" or name.startswith("streamlit.components.v1"):
                yield node.lineno, f"{name} puts raw HTML on the page; use Streamlit's own elements"
            if name == "streamlit.iframe":
                what = "puts a page on the page" if id(node) in framed else "may only be of an address written data:..."
                yield node.lineno, f"{name} {what}"
    for line, module in imported(tree):
        if module.startswith("streamlit.components.v1"):
            yield line, f"imports {module}: raw HTML on the page; use Streamlit's own elements"


def _of_data(call, tree):
    """Return True if a call's first argument, or every value of its name, is a text that begins with data:."""
    values = call.args[:1]
    if values and isinstance(values[0], ast.Name):
        values = [
            node.value
            for node in nodes_of(tree)
            if isinstance(node, ast.Assign) and any(ast.unparse(t) == values[0].id for t in node.targets)
        ]
    begins = [value.values[0] if isinstance(value, ast.JoinedStr) else value for value in values]
    return bool(begins) and all(
        isinstance(begin, ast.Constant) and str(begin.value).startswith("data:") for begin in begins
    )


MAY_PUT_HTML = {
    ("dashboard/frame/style.py", "streamlit.html puts raw HTML"): "the package's own style sheets, no user's text",
    ("dashboard/views/report.py", "streamlit.iframe puts a page"): "the report, escaped, in a frame of no origin",
}

PARSERS = re.compile(
    r"""^(?: pandas\.(?:io\.\w+\.)?(?:read_\w+|ExcelFile|HDFStore)
      | numpy\.(?:load|loadtxt|genfromtxt|fromfile|memmap|fromregex)
      | (?:json|orjson|ujson|simplejson)\.(?:loads?|JSONDecoder)
      | csv\.(?:reader|DictReader)
      | pyarrow\.(?:parquet|csv|json|feather|ipc)\.(?:read_\w+|open_\w+|ParquetFile|ParquetDataset)
      )$""",
    re.VERBOSE,
)
# JSON that is no user's data file, and what it is instead.
MAY_PARSE_JSON = {
    "dashboard/session/reading_changes.py": "what a link holds of a reading, validated as a reading is",
    "calib_core/calibrators/saving.py": "saved calibrators, checked value by value and tried before use",
    "calib_core/papers/tables/runs.py": "results it has kept itself, taken only where they are what was wanted",
    "calib_core/inference/gate_baselines.py": "a gate's own record, checked value by value",
    "calib_core/monitoring/state_file.py": "states it has written itself, checked value by value",
    "calib_core/exporting/trial.py": "what a module it has just written and run has answered",
    "calib_core/registry/registry.py": "recipes, validated against the registries",
    "dashboard/commands/_shared_options.py": "a recipe in an option, validated against its registry",
    "dashboard/selection.py": "the choices in a share link, validated against the registries",
    "dashboard/report/recipe.py": "the recipe in a report, checked as a link is",
    "dashboard/chart/drawn.py": "figures the app itself has just written, read back by its tests",
}


def parses_files(source):
    """Find parsers outside the readers, the only place for checks of users' files."""
    for line, name in references(tree_of(source)):
        if PARSERS.match(name):
            yield line, f"{name} parses input; only calib_core/readers may"


def caches(source):
    """Find caches outside dashboard/session/result_cache.py, which cannot mix users' data: it keys by content."""
    for line, name in references(tree_of(source)):
        if name in {"streamlit.cache_data", "streamlit.cache_resource"}:
            yield line, f"{name} mixes data up: dashboard/session/result_cache.py keeps results"


def prints(source):
    """Find prints: a library is silent; it returns, warns or raises."""
    for line, name in references(tree_of(source)):
        if name in {"print", "builtins.print"}:
            yield line, "print in the library: return the text, warn, or raise"


def lacks_docstring(source):
    """Find modules without a docstring: a module states its purpose first."""
    if not ast.get_docstring(tree_of(source)):
        yield 1, "no module docstring: say in one sentence what the module is for"


# Put together from halves so that this file passes its own gate.
MACHINE_FOLDERS = "|".join(["wo" + "rk", "ro" + "ot", "t" + "mp"])
MACHINE_PATH = re.compile(rf"(?<![\w.~:/}}])/(?:{MACHINE_FOLDERS})(?![\w-])")
HOSTS = "|".join(["py" + r"pi\.\w+", "python" + r"hosted\.\w+", "arti" + "factory", "dev" + "pi"])
INDEX_OPTION = r"(?:extra-)?index-" + r"url\s*[=:\s]\s*\S+"
INDEX_HOST = re.compile(rf"\b(?:[\w-]+\.)*(?:{HOSTS})\b|{INDEX_OPTION}", re.IGNORECASE)


def machine_paths(text):
    """Find paths of one machine, which work nowhere else."""
    for line, content in enumerate(text.splitlines(), 1):
        for found in MACHINE_PATH.finditer(content):
            yield (
                line,
                f"{found.group()}: a path of one machine; use a relative path, a parameter or tempfile",
            )


def index_hosts(text):
    """Find package index hosts: the source of packages is the installing person's choice."""
    for line, content in enumerate(text.splitlines(), 1):
        for found in INDEX_HOST.finditer(content):
            yield (
                line,
                f"{found.group()}: a package index; leave the choice to the person's pip configuration",
            )


def _is_false(node):
    return isinstance(node, ast.Constant) and node.value is False


# ---- gates on this repository ------------------------------------------------------------------------------


def complaints(gate, files):
    return [f"{name}:{line}: {what}" for name in files for line, what in gate((ROOT / name).read_text("utf-8"))]


def assert_clean(found):
    assert not found, "\n" + "\n".join(found)


def test_nothing_shipped_runs_code_from_data():
    found = complaints(runs_code_from_data, python_files(SHIPPED))
    allowed = [f for f in found if f.partition(":")[0] in MAY_UNPICKLE]
    assert_clean([f for f in found if f not in allowed])
    assert {f.partition(":")[0] for f in allowed} == set(MAY_UNPICKLE), "strike off what is no exception any more"


def test_raw_html_is_where_no_text_of_users_is():
    found = complaints(raw_html, python_files(SHIPPED))
    allowed = {
        f: place for f in found for place in MAY_PUT_HTML if f.startswith(place[0] + ":") and f": {place[1]}" in f
    }
    assert_clean([f for f in found if f not in allowed])
    assert sorted(allowed.values()) == sorted(MAY_PUT_HTML), "each once; strike off what is no exception any more"


def test_only_readers_parse_files():
    files = [name for name in python_files(SHIPPED) if not name.startswith("calib_core/readers/")]
    found = complaints(parses_files, files)
    assert_clean([f for f in found if not (f.split(":")[0] in MAY_PARSE_JSON and re.search(r": (or)?json\.", f))])


def test_only_the_shelf_caches():
    assert_clean(complaints(caches, python_files(SHIPPED)))


def test_the_library_prints_nothing():
    assert_clean(complaints(prints, python_files(LIBRARY)))


def test_every_module_has_a_docstring():
    public = [f for f in python_files(PACKAGES) if not Path(f).name.startswith("_") or f.endswith("__init__.py")]
    assert_clean(complaints(lacks_docstring, public))


@pytest.mark.parametrize("gate", [machine_paths, index_hosts])
def test_no_file_names_a_machine_or_an_index(gate):
    assert_clean([f"{name}:{line}: {what}" for name, text in texts() for line, what in gate(text)])


def test_the_gates_see_the_repository():
    assert "calib_core/datasets.py" in python_files(LIBRARY)
    assert "pyproject.toml" in dict(texts())


# ---- gates on bad samples ----------------------------------------------------------------------------------

BAD = [
    (runs_code_from_data, "import pickle"),
    (runs_code_from_data, "from joblib import load"),
    (runs_code_from_data, "import numpy as np\nnp.load(f, allow_pickle=True)"),
    (runs_code_from_data, "import numpy as np\nnp.load(f, allow_pickle=flag)"),
    (runs_code_from_data, "import pandas\npandas.read_pickle(f)"),
    (runs_code_from_data, "eval(text)"),
    (runs_code_from_data, "list(map(exec, texts))"),
    (raw_html, "import streamlit as st\nst.markdown(name, unsafe_allow_html=True)"),
    (raw_html, "import streamlit as st\nst.html(name)"),
    (raw_html, "import streamlit as st\nst.components.v1.html(name)"),
    (raw_html, "import streamlit.components.v1 as components"),
    (raw_html, "from streamlit import html\nhtml(name)"),
    (raw_html, "import streamlit as st\nst.iframe(f'data:text/html,{page}')"),
    (parses_files, "import pandas as pd\npd.read_csv(f)"),
    (parses_files, "from pandas import read_parquet as rp\nrp(f)"),
    (parses_files, "import numpy as np\nnp.load(f)"),
    (parses_files, "import json\njson.loads(text)"),
    (parses_files, "import pyarrow.parquet as pq\npq.read_table(f)"),
    (caches, "import streamlit as st\n@st.cache_data\ndef f(): ..."),
    (caches, "from streamlit import cache_resource\n@cache_resource\ndef f(): ..."),
    (prints, "print('fitted')"),
    (lacks_docstring, "x = 1"),
    (machine_paths, "see /wo" + "rk/main/x.csv"),
    (machine_paths, "open('/ro" + "ot/x')"),
    (machine_paths, "cd /t" + "mp"),
    (index_hosts, "https://py" + "pi.org/simple"),
    (index_hosts, "https://files.python" + "hosted.org/x.whl"),
    (index_hosts, "pip install --index-" + "url https://mirror.example/simple x"),
]


@pytest.mark.parametrize(("gate", "source"), BAD, ids=[f"{gate.__name__}-{i}" for i, (gate, _) in enumerate(BAD)])
def test_gate_fires(gate, source):
    assert list(gate(source)), f"{gate.__name__} is blind to {source!r}"


GOOD = [
    (
        runs_code_from_data,
        "import numpy as np\nnp.load(f, allow_pickle=False)\nmodel.eval()\nre.compile('x')",
    ),
    (raw_html, "import html\nhtml.escape(name)\nst = 1"),
    (parses_files, "import json\njson.dumps(x)\nreader.load(f)"),
    (prints, "sys.stdout.write('x')\npretty.print_table(x)"),
    (machine_paths, "the frame" + "/wo" + "rk of pages /wo" + "rkers and https://example.org/wo" + "rk"),
    (index_hosts, "an index of urls; the artifact of this"),
]


@pytest.mark.parametrize(("gate", "source"), GOOD, ids=[f"{gate.__name__}-{i}" for i, (gate, _) in enumerate(GOOD)])
def test_gate_lets_the_legitimate_pass(gate, source):
    assert not list(gate(source))


def frames_of_data(source):
    return [what for _, what in raw_html("import streamlit as st\n" + source) if "may only" not in what]


def test_a_frame_may_only_be_of_data():
    for good in ("st.iframe(f'data:text/html,{page}')", "address = f'data:,{x}'\nst.iframe(address, height=3)"):
        assert frames_of_data(good)
    for bad in (
        "st.iframe(name)",
        "st.iframe(f'{page}data:')",
        "a = f'data:,{x}'\na = name\nst.iframe(a)",
        "st.iframe",
    ):
        assert not frames_of_data(bad)
        assert list(raw_html("import streamlit as st\n" + bad))


# ---- sizes and names ---------------------------------------------------------------------------------------
# Exceptions have ceilings that may only come down: lower a number when you can, strike off what is no exception.


def assert_within(found, ceilings):
    assert {name: count for name, count in found.items() if count > ceilings.get(name, 0)} == {}, "above the ceiling"
    assert set(ceilings) - {name for name, count in found.items() if count} == set(), (
        "no exception any more: strike off"
    )


ENDINGS = ("s", "es", "ed", "d", "er", "r", "ing")
ALIKE = {
    "base": 5,
    "call": 2,
    "calibration_map": 2,
    "classes": 4,
    "fitted_numbers": 2,
    "findings": 3,
    "lab": 4,
    "decisions": 2,
    "plan_curve": 2,
    "recalibration": 2,
    "reliability": 5,
    "validity": 2,
    "zoom": 2,
    "levels": 3,
    "verdict": 2,
    "table": 2,
    "show": 2,
    "exhibit": 4,
    "export": 2,
    "report": 2,
    "calibrators": 3,
    "data": 2,
    "estimators": 3,
    "forest": 2,
    "tests": 2,
    "simplex": 2,
    "triangle": 2,
    "slices": 4,
    "papers": 2,
}
"""Number of modules that share a name except for its ending, by the first of their names."""


def stem(name):
    """Return a module's name without its ending, so that sweep and sweeps, pairs and paired are the same."""
    name = name.strip("_")
    shortest = min((name.removesuffix(end) for end in ENDINGS if len(name) > len(end) + 2), key=len, default=name)
    return shortest.removesuffix("e")


def alike(files):
    """Return how many modules differ at most by an ending, in one or two packages, by the first of their names."""
    groups = defaultdict(list)
    for name in (Path(file).stem for file in files):
        groups[name if name.startswith("__") else stem(name)].append(name)
    return {min(names): len(names) for names in groups.values() if len(names) > 1 and names[0][:2] != "__"}


def test_no_two_modules_have_the_same_name_but_for_an_ending():
    assert_within(alike(python_files(SHIPPED)), ALIKE)


# ---- circles -----------------------------------------------------------------------------------------------


def imports_by_module(files):
    """Return each module's imports of these files, anywhere in it: a name's own module, if it is one."""
    modules = {name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): name for name in files}
    found = {}
    for module, name in modules.items():
        nodes = nodes_of(tree_of((ROOT / name).read_text("utf-8")))
        froms = [(n.module, a.name) for n in nodes if isinstance(n, ast.ImportFrom) and n.module for a in n.names]
        named = {f"{home}.{leaf}" if f"{home}.{leaf}" in modules else home for home, leaf in froms}
        named |= {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
        found[module] = (named & set(modules)) - {module}
    return found


def test_no_module_of_the_core_is_imported_by_what_it_imports():
    imports = imports_by_module(python_files(LIBRARY))
    faces_of_lazy_modules = {"calib_core", "calib_core.evaluation", "calib_core.papers", "calib_core.predictions"}
    for face in faces_of_lazy_modules:  # they name their modules for type checkers, and load them on first use
        imports[face] = set()
    tuple(graphlib.TopologicalSorter(imports).static_order())  # CycleError names the circle


def test_rooms_have_an_order_and_classes_a_name_of_their_own():
    plan = house.arrows("calib_core")
    assert house.circles(plan) == []
    assert house.back(plan) == []
    assert house.classes_named_twice() == []


def bound_twice(text: str) -> list[str]:
    """Return names that a module binds at top level more than once: the later one replaces the earlier."""
    seen: list[str] = []
    for node in tree_of(text).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
        parts = [each for target in targets for each in (target.elts if isinstance(target, ast.Tuple) else [target])]
        seen += [name for each in parts if (name := getattr(each, "id", getattr(each, "name", None)))]
    return sorted({name for name in seen if seen.count(name) > 1})


def test_no_module_binds_a_name_twice():
    every = {name: bound_twice((ROOT / name).read_text("utf-8")) for name in python_files(LIBRARY)}
    assert not {name: names for name, names in every.items() if names}
    assert bound_twice("A, B = 1, 2\ndef f(): ...\nB: int = 3\ndef f(): ...\nB[1] = 2") == ["B", "f"]


def test_a_circle_and_an_arrow_back_are_seen():
    plan = {"figures": {"diagrams"}, "diagrams": {"claims"}, "claims": {"diagrams"}}
    assert house.circles(plan) == [frozenset({"claims", "diagrams"})]
    assert house.back(plan) == [("claims", "diagrams")]
    assert house.floors(plan) == 2


VAGUE = ("held", "made", "asked", "said", "at", "one", "told")
VAGUE_NAMES: dict[str, int] = {}
"""Number of values with such names in each package."""


def named_values(source):
    """Yield every name that a module gives to a value: variables, arguments, functions, fields, keywords."""
    for node in nodes_of(tree_of(source)):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg | ast.keyword) and node.arg:
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def package_of(name):
    folders = Path(name).parts[:-1]
    return "/".join(folders[:2])


def test_values_are_named_by_nouns_of_the_field():
    found = Counter()
    for name in python_files(SHIPPED):
        found[package_of(name)] += sum(word in VAGUE for word in named_values((ROOT / name).read_text("utf-8")))
    assert_within(found, VAGUE_NAMES)


def test_the_counts_see_what_they_are_for():
    source = "held: int = 1\ndef said(at, *, told=0):\n    self.made = [one for one in at]\n    f(asked=1)\n"
    assert sorted(named_values(source)) == sorted(VAGUE)
    files = ["a/pairs.py", "b/paired.py", "a/sweep.py", "b/_sweeps.py", "a/merge.py", "a/__init__.py", "b/__init__.py"]
    assert alike(files) == {"paired": 2, "_sweeps": 2}
    assert_within({"a": 2, "b": 0}, {"a": 3})
    for ceilings in ({"a": 1}, {}, {"a": 2, "b": 1}, {"a": 2, "gone": 1}):
        with pytest.raises(AssertionError):
            assert_within({"a": 2, "b": 0}, ceilings)


# ---- the version -------------------------------------------------------------------------------------------


def test_the_version_is_that_of_the_changelog():
    released = re.findall(r"^## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    number, _, ahead = calib_core.__version__.partition(".dev")
    assert number > released[0] if ahead else number == released[0]
