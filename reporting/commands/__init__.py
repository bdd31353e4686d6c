"""Commands that write pages."""
