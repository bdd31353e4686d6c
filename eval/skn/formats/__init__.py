"""What each pipeline's extraction may hold, how it is asked for, written and read."""
