"""Extraction and answers by rules, without a model: what a format keeps or drops of a text.

The text is analysed once and the same way for every format (``analysis``), written down as far as
the format has room for it (``extractor``), read back from what was written alone (``known``), and
answered from that by words (``agent``). It is deterministic, and no measure of what a language
model would do with a format.
"""
