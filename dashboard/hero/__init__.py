"""Opening sentence of the overview, and the slider for its confidence."""

from dashboard.hero.sparks import class_spark, diagram_spark, group_spark, points_of
from dashboard.hero.tiles import TILES, Tile

__all__ = ["TILES", "Tile", "class_spark", "diagram_spark", "group_spark", "points_of"]
