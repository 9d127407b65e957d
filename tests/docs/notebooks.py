"""Run notebooks of docs/notebooks without Jupyter, and save or compare what their cells show.

A cell is Python, or lines ``!calib ...`` only. The value of its last line is shown as in Jupyter, by its text and its
HTML, unless it ends with a semicolon. Figures of Matplotlib that it draws are shown, too. Cells share one namespace and
a temporary folder. Only text is compared: pictures and HTML depend on versions of other packages.

Usage: python -m tests.docs.notebooks [--write] [NOTEBOOK...]. With --write, outputs are saved.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.docs import executed

NOTEBOOKS = sorted((executed.ROOT / "docs/notebooks").glob("*.ipynb"))
PICTURE = "image/png"

Notebook = dict[str, Any]
Output = dict[str, Any]


def read(path: Path) -> Notebook:
    found: Notebook = json.loads(path.read_text("utf-8"))
    return found


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def run(notebook: Notebook, folder: Path) -> Iterator[tuple[dict[str, Any], list[Output]]]:
    """Yield the code cells with their new outputs."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate((each for each in notebook["cells"] if each["cell_type"] == "code"), start=1):
        code = source(cell)
        if code.startswith("!"):
            lines = "".join(line.removeprefix("!") for line in code.splitlines(keepends=True))
            printed = "".join(executed.command(words, status, folder) for words, status in executed.commands(lines))
            yield cell, _streams(printed)
        else:
            yield cell, _python(code, namespace, folder, number)


def _python(code: str, namespace: dict[str, Any], folder: Path, number: int) -> list[Output]:
    """Run a cell of Python; return what it prints, the value of its last line, and its figures."""
    tree = ast.parse(code)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        kept = ast.copy_location(ast.Assign([ast.Name("_", ast.Store())], last.value), last)
        tree.body[-1] = ast.fix_missing_locations(kept)
    namespace["_"] = None
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, f"cell {number}", "exec"), namespace)
        value = namespace["_"]
        shown = isinstance(last, ast.Expr) and value is not None and not code.rstrip().endswith(";")
        data = _forms(value) if shown else {}
    result = {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data}
    return [*_streams(printed.getvalue()), *([result] if data else []), *_figures()]


def _streams(printed: str) -> list[Output]:
    return [{"output_type": "stream", "name": "stdout", "text": printed.splitlines(keepends=True)}] if printed else []


def _forms(value: Any) -> dict[str, Any]:
    """Return a value in the forms that a notebook stores."""
    if hasattr(value, "_repr_mimebundle_"):
        data = value._repr_mimebundle_()
    else:
        data = {"text/plain": repr(value)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_()
    return {kind: text.splitlines(keepends=True) for kind, text in data.items()}


def _figures() -> list[Output]:
    """Return the open figures of Matplotlib as pictures, and close them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    outputs = []
    for number in pyplot.get_fignums() if pyplot else ():
        figure, picture = pyplot.figure(number), io.BytesIO()
        # Without the name of the software, the same picture has the same bytes in every version.
        figure.savefig(picture, format="png", dpi=80, bbox_inches="tight", metadata={"Software": None})
        pyplot.close(figure)
        data = {PICTURE: base64.b64encode(picture.getvalue()).decode(), "text/plain": ["<Figure>"]}
        outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
    return outputs


def texts(outputs: list[Output]) -> list[str]:
    """Return the text of each output, as a terminal would show it."""
    return ["".join(each["text"] if "text" in each else each["data"]["text/plain"]) for each in outputs]


def differences(path: Path, folder: Path) -> list[str]:
    """Return the code of cells that show something else than is saved, with what they show now."""
    return [
        "\n".join([source(cell), "->", *texts(outputs)])
        for cell, outputs in run(read(path), folder)
        if texts(outputs) != texts(cell["outputs"])
    ]


def write(path: Path, folder: Path) -> None:
    """Run a notebook and save its outputs, as Jupyter would."""
    notebook = read(path)
    for number, (cell, outputs) in enumerate(run(notebook, folder), start=1):
        cell |= {"execution_count": number, "outputs": outputs}
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(*names: str) -> int:
    wrong = 0
    for path in [Path(name) for name in names if name != "--write"] or NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            if "--write" in names:
                write(path, Path(folder))
            else:
                found = differences(path, Path(folder))
                wrong += bool(found)
                cells = sum(cell["cell_type"] == "code" for cell in read(path)["cells"])
                sys.stdout.write("\n".join([f"{path.name}: {cells} cells, {len(found)} differ", *found]) + "\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
