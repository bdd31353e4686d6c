"""The report of cards: its tables, charts and exports."""
