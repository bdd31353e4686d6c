"""How well retrievers find what a question needs: labelled questions, measures, paired tests."""
