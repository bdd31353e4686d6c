"""Reports: HTML pages of runs, comparisons and graphs, and their CSV, Markdown and JSON exports."""
