"""Makes triplets of cards and proves them."""
