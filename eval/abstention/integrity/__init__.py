"""Compares rows with their cards, and says what is known of the runs that wrote them."""
