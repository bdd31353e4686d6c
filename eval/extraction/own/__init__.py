"""The toolkit's own extractors, scored as structured extraction.

What they make (SKN and JSON of a search, triples of a text) is turned to JSON of one schema and
scored beside a gold set, in a run folder like any other, so that extraction quality stands in one
report with abstention.
"""
