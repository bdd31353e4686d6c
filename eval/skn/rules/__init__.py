"""Extracts and answers by rules, without a model, to show what a format preserves of a text.

The text is analysed in the same way for every format (``analysis``). The analysis is written as far
as the format and budget allow (``extractor``) and parsed again (``context``). Questions are then
answered from the parsed content by word overlap (``agent``). The result is deterministic. It does
not show how well a language model would work with a format.
"""
