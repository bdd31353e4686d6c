"""What a report shows, as data: sections of tables, charts and samples."""
