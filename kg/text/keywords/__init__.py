"""Keywords of chunks: the protocol of extractors, the offline extractor, and a cache."""
