"""How numbers of extraction are made and read, in plain words."""

from __future__ import annotations

METHOD = (
    "Each system gets a text and a JSON Schema, and gives JSON. Output and truth are aligned "
    "before anything is counted: objects by key, arrays of objects so that the total of their "
    "fields' scores is greatest. A field is a leaf: a scalar, or a list of scalars. Null, a "
    "missing key and an empty list say the same: nothing.",
    "Each field gets a score from 0 to 1 by a matcher, which the schema may name, and one of five "
    "categories: exact, partial, incorrect, missed, spurious. Strict F1 counts equal fields only, "
    "partial F1 half a field for a near match, lenient F1 a whole one.",
)

TERMS: tuple[tuple[str, str], ...] = (
    (
        "EQS",
        "Extraction quality score: schema validity, partial F1, type accuracy and 1 less the "
        "hallucination rate, weighted. From 0.90 excellent, from 0.75 good, from 0.60 moderate.",
    ),
    (
        "Interval",
        "A range drawn so that it holds the true number in 95 of 100 runs on other samples of the "
        "kind, unless the run was set to another share. It knows nothing of other prompts, other "
        "servers or other days.",
    ),
    (
        "Bounds",
        "The least and the most a number could be, whatever the calls that failed would have "
        "given.",
    ),
    (
        "Invalid",
        "JSON that is no valid instance of its schema. What it is worth is a setting; the other "
        "reading stands in a table of its own.",
    ),
    (
        "Hallucination",
        "An extracted field that nobody expected. Critical: made up, the value of an expected "
        "field too (type 2, which the rate leaves out); moderate: its value stands in the text, "
        "under another name; minor: one element of a list too many.",
    ),
    (
        "Complexity",
        "Of a schema, by number and depth of its fields. Simple: fewer than 5 fields, none deeper "
        "than 1; complex: more than 15, or one deeper than 2; medium: between.",
    ),
    (
        "Difference",
        "The first system's value less the second's on the same samples. Only its test decides; "
        "whether two intervals overlap is never used.",
    ),
    (
        "p, adjusted",
        "After Holm's correction over all pairs of a metric: with many pairs, some would look "
        "different by chance.",
    ),
    (
        "Frontier",
        "Systems that no other equals or beats in both matters while it beats them in one.",
    ),
)
