"""Language models as judges of claims that the graph does not decide; anchors check the judges."""
