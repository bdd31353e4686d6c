"""The lexical embedder: hashed character n-grams of the normal form, without a model.

Its vectors are similar if texts are spelled similarly, whatever they mean. It is the default when a
graph is built from documents without a model. There, similar vectors propose synonyms, and rules
accept or reject them by their spelling, so only similar spellings need to be proposed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from kg.embedding.embedder import Embedder, normalise_rows
from kg.words.normaliser import normalise_phrase

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
    "lowercase": False,  # the normal form is lower-case already
    "strip_accents": None,
}
_MAX_CHARACTERS = 2000
"""Maximum characters of a text's normal form that are used."""


def make_lexical_embedder() -> Embedder:
    """Makes an embedder of hashed counts of character n-grams (2 to 4) of the normal form.

    The vectors have 512 dimensions and unit norm; that of a text without words is zero. Hashes are
    signed 32-bit MurmurHash3 (scikit-learn's HashingVectorizer), after K. Weinberger et al.,
    Feature hashing for large scale multitask learning, ICML 2009.
    """

    def encode(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        import numpy as np
        from sklearn.feature_extraction.text import HashingVectorizer

        vectoriser = HashingVectorizer(dtype=np.float32, **_PARAMETERS)
        normal_forms = [normalise_phrase(text)[:_MAX_CHARACTERS] for text in texts]
        if not normal_forms:
            return np.zeros((0, int(vectoriser.n_features)), np.float32)
        return normalise_rows(vectoriser.transform(normal_forms).toarray())

    # Without weights, the hash of the settings identifies the embedder.
    parameters = msgspec.json.encode(_PARAMETERS, order="sorted")
    return Embedder(encode, NAME, hashlib.sha256(parameters).hexdigest())
