"""What is made of a run's rows: the published benchmark's six files, by their names."""

from __future__ import annotations

SEARCHES = "search_results.json"
EXTRACTIONS = "extractions.json"
RESPONSES = "agent_responses.json"
DETAILS = "detailed_results.json"
METRICS = "metrics.json"
SUMMARY = "summary.txt"

OUTPUTS = (SEARCHES, EXTRACTIONS, RESPONSES, DETAILS, METRICS, SUMMARY)
"""In the order of the steps."""
