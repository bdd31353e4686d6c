"""SHACL shapes: reads and checks them, compiles them over the triple index, finds dependencies."""

from kg.shapes.collection import Shapes
from kg.shapes.model import Constraint, Shape

__all__ = ["Constraint", "Shape", "Shapes"]
