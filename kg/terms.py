"""Reads and writes term text, the form of IRIs, blank nodes and literals in every record.

An IRI is written without brackets, a blank node as ``_:b0``, a literal in N-Triples form.
``xsd:string`` is never written (``"x"``, not ``"x"^^xsd:string``) and language tags are
lower-case, so that every RDF term has exactly one text. Escapes are those of pyoxigraph, whose
output is used unchanged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

if TYPE_CHECKING:
    from rdflib.term import Identifier

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
SKOS = "http://www.w3.org/2004/02/skos/core#"

XSD_STRING = XSD + "string"
RDF_LANG_STRING = RDF + "langString"
TEXT_DATATYPES = frozenset((XSD_STRING, RDF_LANG_STRING))
RDF_TYPE = RDF + "type"

_ESCAPES = {
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
    '"': '\\"',
    "\\": "\\\\",
}
_MUST_ESCAPE = re.compile(r'[\x00-\x1f"\\\x7f]')  # control characters, quotes, backslashes
_UNESCAPES = {value[1]: key for key, value in _ESCAPES.items()} | {"'": "'"}
_ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
# Datatypes and languages are not validated: malformed ones are kept, like malformed IRIs.
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*+)"(?:@(.+)|\^\^<(.*)>)?', re.DOTALL)
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")
_INVALID_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|\\^`\x7f]|%(?![0-9A-Fa-f]{2})")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
# A second "http" in an IRI whose colon was replaced by "_" or percent-encoded: "/http_//…".
_DOUBLED_SCHEME = re.compile(r"https?:.*\bhttps?(?:_|%3a)/?/", re.IGNORECASE)


class LiteralParts(NamedTuple):
    """The parts of a literal."""

    lexical: str
    datatype: str
    """Datatype IRI; ``xsd:string`` for plain, ``rdf:langString`` for language-tagged literals."""
    language: str
    """Lower-case language tag, or empty."""


def is_literal(text: str) -> bool:
    """Returns whether term text is a literal."""
    return text.startswith('"')


def is_blank(text: str) -> bool:
    """Returns whether term text is a blank node."""
    return text.startswith("_:")


def is_iri(text: str) -> bool:
    """Returns whether term text is an IRI (well-formed or not)."""
    return not text.startswith(('"', "_:"))


def write_literal(lexical: str, datatype: str = "", language: str = "") -> str:
    """Writes a literal as term text; ``language`` takes precedence over ``datatype``."""
    quoted = f'"{_MUST_ESCAPE.sub(_escape_char, lexical)}"'
    if language:
        return f"{quoted}@{language.lower()}"
    if datatype and datatype != XSD_STRING:
        return f"{quoted}^^<{datatype}>"
    return quoted


def parse_literal(text: str) -> LiteralParts:
    """Splits a literal's term text into its parts.

    Raises:
        ValueError: ``text`` is not a literal in N-Triples form.
    """
    match = _LITERAL.fullmatch(text)
    if match is None:
        raise ValueError(f"not a literal in N-Triples form: {text[:200]!r}")
    body, language, datatype = match.groups()
    lexical = _ESCAPED.sub(_unescape_match, body) if "\\" in body else body
    if language:
        return LiteralParts(lexical, RDF_LANG_STRING, language.lower())
    return LiteralParts(lexical, datatype or XSD_STRING, "")


def get_lexical(literal: str) -> str:
    """Returns the lexical form of a literal's term text; faster than ``parse_literal``."""
    if "\\" in literal:
        return parse_literal(literal).lexical
    # Nothing is escaped, so the first quotation mark ends it.
    return literal[1 : literal.index('"', 1)]


def to_ntriples(text: str) -> str:
    """Converts term text to N-Triples syntax (IRIs in angle brackets)."""
    return f"<{text}>" if is_iri(text) else text


def is_malformed_iri(text: str) -> bool:
    """Returns whether an IRI violates RFC 3987 or contains a second, mangled IRI.

    The second kind (``http://dbpedia.org/resource/http_//dbpedia.org/…``) is valid syntax, but
    always the trace of an exporter that mistook an IRI for a name. An unmangled second IRI in the
    path, as in URLs of web archives, is accepted.
    """
    return (
        _INVALID_IN_IRI.search(text) is not None
        or _SCHEME.match(text) is None
        or _DOUBLED_SCHEME.match(text) is not None
    )


def iri_tail(iri: str) -> str:
    """Returns the last part of an IRI, percent-decoded and with underscores as spaces.

    ``http://e/S%C3%A3o_Paulo`` → ``São Paulo``; an IRI without such a part is returned whole.
    """
    tail = iri.rstrip("/#:")
    if "#" in tail:
        tail = tail.rsplit("#", 1)[1]
    elif "/" in tail:
        tail = tail.rsplit("/", 1)[1]
    elif ":" in tail:
        tail = tail.rsplit(":", 1)[1]
    text = " ".join(unquote(tail, errors="replace").replace("_", " ").split())
    return text or " ".join(iri.split())


def to_rdflib(text: str) -> Identifier:
    """Converts term text to an rdflib term; keeps the lexical form and drops ``xsd:string``.

    Raises:
        ValueError: the text begins like a literal but is not one in N-Triples form.
    """
    from rdflib import BNode, Literal, URIRef

    if is_blank(text):
        return BNode(text[2:])
    if not is_literal(text):
        return URIRef(text)
    lexical, datatype, language = parse_literal(text)
    if language:
        # rdflib supports no base direction (`en--ltr`) and rejects malformed tags: the direction,
        # or a malformed tag, is dropped.
        tag = language.split("--")[0]
        return Literal(lexical, lang=tag if _LANGUAGE.fullmatch(tag) else None)
    if datatype == XSD_STRING:
        return Literal(lexical)
    return Literal(lexical, datatype=URIRef(datatype), normalize=False)


def from_rdflib(term: Identifier) -> str:
    """Converts an rdflib term to term text.

    Raises:
        TypeError: the term is neither an IRI, a blank node nor a literal.
    """
    from rdflib import BNode, Literal, URIRef

    if isinstance(term, Literal):
        return write_literal(str(term), str(term.datatype or ""), term.language or "")
    if isinstance(term, BNode):
        return f"_:{term}"
    if isinstance(term, URIRef):
        return str(term)
    raise TypeError(f"not an RDF term: {term!r}")


def _escape_char(match: re.Match[str]) -> str:
    char = match.group()
    return _ESCAPES.get(char) or f"\\u{ord(char):04X}"


def _unescape_match(match: re.Match[str]) -> str:
    short_code, long_code, escaped_char = match.groups()
    code = short_code or long_code
    if code:
        number = int(code, 16)
        return chr(number) if number < 0x110000 else match.group()
    return _UNESCAPES.get(escaped_char, match.group())
