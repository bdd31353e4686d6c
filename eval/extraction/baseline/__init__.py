"""The baseline: rules that fill a schema from a text without any model.

It knows the schema (types, formats, enums, names, descriptions) and the text, and nothing else; it
never sees what is expected. Its numbers say what surface cues alone are worth, and let the whole
benchmark run where there is no model; they say nothing of how a model would fare.
"""

from typing import Final

BASELINE: Final = "baseline"
"""The baseline's name among the systems of a run."""
