"""Notes of cards in eight formats, written and read by rules: what a format preserves of a card.

A text is analysed in the same way for every format (``analysis``), written as far as the format and
budget allow (``extractor``), parsed again (``context``), and yes-no questions are answered from the
parsed content by word overlap (``agent``). The result is deterministic. It does not show how well a
language model would work with a format.
"""
