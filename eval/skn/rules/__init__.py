"""Extracts and answers by rules, without a model, to show what a format preserves of a text.

The text is analysed in the same way for every format (``analysis``), written as far as the format
and budget allow (``extractor``), parsed again from what was written (``context``), and questions
are answered from that by word overlap (``agent``). The result is deterministic. It does not show
how well a language model would work with a format.
"""
