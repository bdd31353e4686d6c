"""The parts of the agent ``graph_walk``: question analysis, page reader, paths, sentence writer."""
