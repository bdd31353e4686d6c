"""What the readers of several kinds of markup share."""
