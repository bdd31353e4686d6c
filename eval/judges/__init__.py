"""What models as judges have in common, whatever benchmark they judge."""
