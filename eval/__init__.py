"""Systems under test, the runner that asks them the cards, and the metrics of abstention."""
