"""The lexical embedder: character n-grams of the normal form, hashed. No model, no download.

Near in it is what is spelled alike, nothing else; that is its use as a default, since spellings are
what rules can verify offline.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from kg.embedding.embedder import Embedder, unit_rows
from kg.text.normaliser import normalise

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

NAME = "lexical"
_PARAMETERS: dict[str, object] = {
    "analyzer": "char_wb",  # n-grams inside words, whose borders count as spaces
    "ngram_range": (2, 4),
    "n_features": 512,
    "alternate_sign": True,  # collisions cancel on average instead of adding up
    "norm": "l2",
    "lowercase": False,  # the normal form has no capitals
    "strip_accents": None,
}
_MOST_CHARACTERS = 2000
"""Of a text's normal form that are read."""


def lexical_embedder() -> Embedder:
    """Texts as hashed counts of the character n-grams (2 to 4) of their normal form.

    512 dimensions, rows of length 1; a text without a word is a row of zeros. Hashes are signed
    32-bit MurmurHash3 (scikit-learn's HashingVectorizer), after K. Weinberger et al., Feature
    hashing for large scale multitask learning, ICML 2009.
    """

    def encode(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        import numpy as np
        from sklearn.feature_extraction.text import HashingVectorizer

        hashing = HashingVectorizer(dtype=np.float32, **_PARAMETERS)
        forms = [normalise(text)[:_MOST_CHARACTERS] for text in texts]
        if not forms:
            return np.zeros((0, int(hashing.n_features)), np.float32)
        return unit_rows(hashing.transform(forms).toarray())

    described = msgspec.json.encode(_PARAMETERS, order="sorted")
    return Embedder(encode, NAME, hashlib.sha256(described).hexdigest())
