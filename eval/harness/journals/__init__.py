"""The journal of a run, and the layout of its rows."""
