"""Language models as judges of claims that nothing else decides, checked by anchors."""
