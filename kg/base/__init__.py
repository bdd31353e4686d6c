"""What every room stands on: errors with exit codes, files that survive a crash, the console."""
