"""Changes a graph before its profile is made, so that cards can ask about more of it."""
