"""Rules over the words of a text, without a model.

``statements`` splits texts, and ``retention`` counts what an extraction keeps of one, in every run.
The rest answers cards by rules (``formats`` of ``epoche eval``), to show what a format preserves of
a card: a text is analysed in the same way for every format (``analysis``), written as far as the
format and budget allow (``extractor``), parsed again (``context``), and yes-no questions are
answered from the parsed content by word overlap (``agent``). This does not show how well a language
model would work with a format.
"""
