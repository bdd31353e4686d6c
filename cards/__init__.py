"""Context cards: the record, the generator that proves each label, the leakage audit."""
