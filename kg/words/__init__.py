"""The graph in words: labels, templates, sentences, questions, rules and proofs."""
