"""Keywords of chunks: what an extractor is, the offline one, and a cache for any."""
