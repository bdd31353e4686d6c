"""The baseline: rules that fill a schema from a text without a model.

It uses only the schema (types, formats, enums, names, descriptions) and the text; it never sees the
expected output. It shows what surface cues alone achieve, and with it the benchmark can be run
without a model.
"""

from typing import Final

BASELINE: Final = "baseline"
"""Name of the baseline among the systems of a run."""
