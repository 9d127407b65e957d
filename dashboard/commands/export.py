"""`calib export`: write a fitted calibrator as a Python module without dependencies, or as an ONNX model."""

from __future__ import annotations

from pathlib import Path

import click

from dashboard.commands import _help_sections, _outputs, _shared_options
from dashboard.commands._failures import careful


@click.command("export", cls=_help_sections.Sectioned)
@click.argument("calibrator", type=_shared_options.FILE)
@click.option("-o", "--output", type=_shared_options.OUTPUT, required=True, help="Output file: .py or .onnx.")
@click.option("--logits", is_flag=True, help="Take raw logits instead of probabilities.")
@careful
def command(calibrator: Path, output: Path, logits: bool) -> None:
    """Export a saved calibrator as Python or ONNX.

    CALIBRATOR is a file written by calib fit. A .py file needs only Python, no packages; an .onnx file runs in other
    languages and on model servers. Before it is written, the export is tested against the calibrator on difficult rows,
    and refused if any result differs.

    \b
    Examples:
      calib export cal.json -o calibrator.py
      python calibrator.py < rows.json > calibrated.json
      calib export cal.json -o calibrator.onnx
    """
    ending = output.suffix.lower()
    if ending not in (".py", ".onnx"):
        raise click.BadParameter(f"{_outputs.plain(output.name)!r} ends neither in .py nor in .onnx.", param_hint="-o")
    from calib_core import exporting, load_calibrator

    fitted = load_calibrator(calibrator)
    if ending == ".py":
        content = exporting.python_source(fitted, logits=logits).encode()
    else:
        from dashboard.onnx_export import onnx_bytes

        content = onnx_bytes(fitted, logits=logits)
    _outputs.write(output, content)
    _outputs.warn([f"{calibrator} written as {output}"])
