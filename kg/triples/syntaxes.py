"""Recognises ontology files that are not RDF files, or not of the format their name says."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from pathlib import Path

from kg.base.errors import GraphFormatError

MAX_HEAD = 1 << 16
"""Number of bytes at the start of a file by which it is recognised."""

_XML_PROLOG = {"<?": "?>", "<!--": "-->", "<!DOCTYPE": ">"}
_COMMENTS = re.compile(r"(?:\s+|#[^\n]*+)*+")
_OWL_ELEMENT = re.compile(r"<(?:[\w.-]+:)?Ontology\s[^>]*2002/07/owl")
_RDF_ELEMENT = re.compile(r"<(?:[\w.-]+:)?RDF[\s>]")
_FUNCTIONAL = re.compile(r"(?:Prefix|Ontology)\s*\(")
_MANCHESTER = re.compile(
    r"(?:Prefix|Namespace|Ontology|Import|Class|Individual|(?:Object|Data|Annotation)Property):\s"
)
_OBO = re.compile(r"^(?:format-version\s*:|\[(?:Term|Typedef)\])", re.MULTILINE)
_TURTLE = re.compile(r"@prefix\s|@base\s|PREFIX\s|BASE\s|<(?:[a-z]+://|urn:)", re.IGNORECASE)
_SPACE = re.compile(r"\s*")
_RDF_FORMATS = {
    "RDF/XML": (".rdf", {"RDF_XML"}),
    "Turtle or N-Triples": (".ttl", {"TURTLE", "N_TRIPLES", "N_QUADS", "TRIG"}),
}
"""Name → the extension of files of this format, and the formats that may begin like it."""


def recognise_syntax(head: bytes) -> str:
    """Returns the name of the syntax that a file begins like; empty if it is none of these."""
    text = _decode(head)
    root = _skip_xml_prolog(text)
    if _OWL_ELEMENT.match(text, root):
        return "OWL/XML"
    if _RDF_ELEMENT.match(text, root):
        return "RDF/XML"
    start = _COMMENTS.match(text)
    for name, pattern in (
        ("OWL functional syntax", _FUNCTIONAL),
        ("OWL Manchester syntax", _MANCHESTER),
        ("Turtle or N-Triples", _TURTLE),
    ):
        if start is not None and pattern.match(text, start.end()):
            return name
    return "OBO" if _OBO.search(text) else ""


def recognise_file(path: Path) -> str:
    """Returns the name of the syntax that a file begins like, see ``recognise_syntax``."""
    return recognise_syntax(_read_head(path))


def _read_head(path: Path) -> bytes:
    try:
        with gzip.open(path) if _is_packed(path) else path.open("rb") as stream:
            return stream.read(MAX_HEAD)
    except (OSError, EOFError, zlib.error):
        return b""


def choose_format(path: Path, format_name: str) -> str:
    """Returns the format to read a file in: Turtle if it is named like RDF/XML but holds Turtle.

    Args:
        path: the file.
        format_name: the format that its extension names.
    """
    if format_name == "RDF_XML" and recognise_file(path) == "Turtle or N-Triples":
        return "TURTLE"
    return format_name


def find_format(path: Path) -> str | None:
    """Returns the format of a file whose extension names none: RDF/XML, Turtle or None.

    SPARQL and ShEx may begin like Turtle, but for "@prefix".
    """
    head = _read_head(path)
    if recognise_syntax(head) == "RDF/XML":
        return "RDF_XML"
    text = _decode(head)
    start = _COMMENTS.match(text)
    return "TURTLE" if start and text.startswith(("@prefix", "@base"), start.end()) else None


def find_format_error(path: Path, format_name: str = "") -> GraphFormatError | None:
    """Returns the error that says of what other format a file is that could not be read.

    Args:
        path: the file.
        format_name: the format that it was read as; that one is no other.

    Returns:
        The error; None if the file's format cannot be recognised.
    """
    name = recognise_file(path)
    extension, alike = _RDF_FORMATS.get(name, ("", frozenset()))
    if not name or format_name in alike:
        return None
    if extension:
        what, hint = (
            "but its name says otherwise",
            f"Rename it to end in {extension}{'.gz' if _is_packed(path) else ''}.",
        )
    else:
        what = "which is not read"
        hint = (
            "Convert it to Turtle: `robot convert --input FILE --output FILE.ttl` with ROBOT "
            "(robot.obolibrary.org), or open it in Protégé and save it as Turtle."
        )
    return GraphFormatError(f"the file is {name}, {what}", where=str(path), hint=hint)


def _is_packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


def _decode(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return head.decode("utf-16", "replace").lstrip("\ufeff")
    return head.decode("utf-8", "replace").lstrip("\ufeff")


def _skip_xml_prolog(text: str) -> int:
    """Returns where the root element of an XML document begins."""
    position = 0
    while True:
        space = _SPACE.match(text, position)
        position = position if space is None else space.end()
        opening = next((mark for mark in _XML_PROLOG if text.startswith(mark, position)), None)
        if opening is None:
            return position
        end = text.find(_XML_PROLOG[opening], position)
        subset = text.find("[", position, end)
        if opening == "<!DOCTYPE" and subset >= 0:
            end = text.find(">", text.find("]", subset))
        if end < 0:
            return len(text)
        position = end + len(_XML_PROLOG[opening])
