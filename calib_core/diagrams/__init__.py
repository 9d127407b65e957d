"""Diagrams: frozen data whose frame() is exactly the numbers drawn; to add one, write a file and import it here."""

from calib_core.diagrams.binary_map import BinaryMap, binary_map
from calib_core.diagrams.classes import ClassPanels, ClassTable, class_panels, class_table
from calib_core.diagrams.constraints import ConstraintDiagram, constraint
from calib_core.diagrams.reliability import ReliabilityDiagram, reliability
from calib_core.diagrams.validity import ValidityPlot, validity
from calib_core.diagrams.zoom import BinZoom, zoom

__all__ = [
    "BinZoom",
    "BinaryMap",
    "ClassPanels",
    "ClassTable",
    "ConstraintDiagram",
    "ReliabilityDiagram",
    "ValidityPlot",
    "binary_map",
    "class_panels",
    "class_table",
    "constraint",
    "reliability",
    "validity",
    "zoom",
]
