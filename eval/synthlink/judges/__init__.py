"""Language models as judges of claims that the graph does not decide, checked by anchors."""
