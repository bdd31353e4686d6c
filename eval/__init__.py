"""Systems, the runner that holds them to the cards, and the metrics of abstention."""
