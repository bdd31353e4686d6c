"""What the folder of a run of structured extraction shows, and what several show together."""
