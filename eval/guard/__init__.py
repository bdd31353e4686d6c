"""Guards a stream of model text: each clause passes only after its claims are licensed."""
