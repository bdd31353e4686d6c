"""SHACL shapes: reading, checking, compilation over the triple index, and dependencies."""

from kg.shapes.collection import Shapes
from kg.shapes.model import Constraint, Shape

__all__ = ["Constraint", "Shape", "Shapes"]
