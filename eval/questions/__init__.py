"""Reading a question as claims about a graph: names linked, wording parsed, nothing guessed."""
