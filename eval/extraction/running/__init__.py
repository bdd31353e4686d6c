"""What a run is asked for, whom it asks, and what its folder holds."""
