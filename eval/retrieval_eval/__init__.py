"""Evaluates retrievers on labelled questions: metrics, intervals and paired tests."""
