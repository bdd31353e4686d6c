"""What is measured of a run's rows: numbers, intervals, bounds and paired differences."""
