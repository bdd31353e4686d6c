"""SHACL shapes: read and checked, compiled over the integer index, with what they depend on."""

from kg.shapes.collection import Shapes
from kg.shapes.model import Constraint, Shape

__all__ = ["Constraint", "Shape", "Shapes"]
