"""Reads documents (Markdown, text, HTML, PDF) as headings and paragraphs."""

from kg.text.documents.document import Block, Document, Heading, Paragraph
from kg.text.documents.reader import SUFFIXES, read_document

__all__ = ["SUFFIXES", "Block", "Document", "Heading", "Paragraph", "read_document"]
