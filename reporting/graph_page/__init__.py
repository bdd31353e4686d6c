"""The graph page: selection of nodes and links, layout, and rendering as HTML."""
