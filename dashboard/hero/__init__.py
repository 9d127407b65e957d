"""The sentence the overview opens with, and the slider that moves the confidence it is about."""

from dashboard.hero.sentence_slider import hero
from dashboard.hero.sparks import class_spark, diagram_spark, group_spark, points_of
from dashboard.hero.tiles import TILES, Tile

__all__ = ["TILES", "Tile", "class_spark", "diagram_spark", "group_spark", "hero", "points_of"]
