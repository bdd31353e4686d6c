"""Errors a user can act on: what is wrong, where, what to do, and an exit code scripts can trust.

Every failure that a user can cause is one of these classes. The command line prints
``error: WHAT (WHERE). HINT`` on one line and exits with ``exit_code``; the table of codes is in
``docs/errors.md`` and a test holds the two together.
"""

from __future__ import annotations

from kg.words.plain_text import one_line

QUOTE_LIMIT = 700
"""Characters each part of a message may have: what it quotes may be megabytes long."""


def _short(text: str) -> str:
    """``text`` with its middle left out when it is too long to read."""
    if len(text) <= QUOTE_LIMIT:
        return text
    return f"{text[: QUOTE_LIMIT - 200]} … {text[-150:]}"


class EpocheError(Exception):
    """Base of all errors that a user can act on.

    Args:
        what: what is wrong, in one clause.
        where: the file, line, IRI or flag it is wrong in; may be empty.
        hint: what to do about it; may be empty.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(self.one_line())

    def one_line(self) -> str:
        """The whole message on one line, whatever the text it quotes contains.

        Quoted text comes from graphs and files: control characters in it could drive the
        terminal that shows the message, so none is left.
        """
        text = _short(self.what)
        if self.where:
            text += f" ({_short(self.where)})"
        if self.hint:
            text += f". {_short(self.hint)}"
        return one_line(text)


class MissingFileError(EpocheError):
    """A file named by the user is not there or cannot be read."""

    exit_code = 3


class GraphSyntaxError(EpocheError):
    """A graph file does not parse; ``where`` holds path, line and column."""

    exit_code = 4


class EmptyGraphError(EpocheError):
    """A graph file parses to no triples."""

    exit_code = 5


class UnknownPredicateError(EpocheError):
    """The predicate asked for does not occur in the graph; the hint names the nearest."""

    exit_code = 6


class MissingShapesError(EpocheError):
    """No SHACL shapes were given or found, so nothing could ever be contradictory."""

    exit_code = 7


class ShapesError(EpocheError):
    """The shapes do not parse, are ill-formed, or name terms SHACL does not know."""

    exit_code = 8


class InvalidGraphError(EpocheError):
    """The graph violates its own shapes before any claim is added."""

    exit_code = 9


class DomainError(EpocheError):
    """``domain.toml`` is missing, malformed or has a template that does not render."""

    exit_code = 10


class QuotaError(EpocheError):
    """``--strict`` was asked for and a card quota could not be reached."""

    exit_code = 11


class RecordError(EpocheError):
    """A card or result file holds a line that is not a valid record (or is torn)."""

    exit_code = 12


class DuplicateIdError(EpocheError):
    """The same id occurs twice in a file whose ids must be unique."""

    exit_code = 13


class CardSetMismatchError(EpocheError):
    """Results (or files to be compared) belong to different card sets."""

    exit_code = 14


class WriteError(EpocheError):
    """Writing failed (disk full, no permission); what was written before is intact."""

    exit_code = 15


class SystemNotFoundError(EpocheError):
    """``--system`` names neither a registered system nor an importable ``module:Class``."""

    exit_code = 16


class AuditFailedError(EpocheError):
    """``epoche audit --max-leak`` was exceeded: labels can be read off the surface."""

    exit_code = 17


class MissingExtraError(EpocheError):
    """An optional dependency is needed for what was asked."""

    exit_code = 18


class SettingError(EpocheError):
    """A setting (``--set key=value``) is unknown, unreadable or a secret."""

    exit_code = 19


class GraphFormatError(EpocheError):
    """A graph file's extension names no format that can be read."""

    exit_code = 20


class GraphTooLargeError(EpocheError):
    """A graph is larger, once unpacked or once closed, than the limit allows."""

    exit_code = 21


class ShapesEngineError(EpocheError):
    """pySHACL gave up on shapes and data that are well-formed, or an audit of verdicts failed."""

    exit_code = 22


class ModelAccessError(EpocheError):
    """The model cannot be used at all: no key, no such model, no such host, no quota left."""

    exit_code = 23


class ModelCallError(EpocheError):
    """One call to a model failed for good; other calls may still succeed."""

    exit_code = 24


class WeightsError(EpocheError):
    """The weights of a local model are not the ones expected, or are of no use here."""

    exit_code = 25


class CostLimitError(EpocheError):
    """A run stopped because its model calls have cost what ``--max-cost`` allows; rows are kept."""

    exit_code = 26


class TooManyErrorsError(EpocheError):
    """A run stopped because too many questions in a row ended in ``ERROR``, or holds nothing else.

    Rows are kept.
    """

    exit_code = 27


class IncompleteRunError(EpocheError):
    """Shards to be merged lack rows, or a whole shard is missing."""

    exit_code = 28


class WithheldError(EpocheError):
    """``epoche guard --fail`` was asked for and something was withheld."""

    exit_code = 29


class DocumentError(EpocheError):
    """A document cannot be read, holds no text, or is larger than the limits allow."""

    exit_code = 30


class RunFolderError(EpocheError):
    """A run's folder is half written, damaged, of another make, or no run at all."""

    exit_code = 31


class EmbedderMismatchError(EpocheError):
    """A run is used with another embedding model than the one it was built with."""

    exit_code = 32


class StrictModelError(EpocheError):
    """``--strict`` was asked for and a model's reply could not be used."""

    exit_code = 33


class SearchError(EpocheError):
    """A search on the web failed, or was not recorded; that is not the same as finding nothing."""

    exit_code = 34


class ConceptExportError(EpocheError):
    """A run holds nothing that could be stated as RDF and asked about."""

    exit_code = 35


class NotationError(EpocheError):
    """A text is not SKN, or a JSON value no SKN document; ``where`` holds the line and column."""

    exit_code = 36


class SchemaError(EpocheError):
    """A JSON Schema cannot be used: ill-formed, of another draft, or leading out of itself."""

    exit_code = 37


class ConfigError(EpocheError):
    """A configuration file is no YAML, or holds a key or value that means nothing."""

    exit_code = 38


class GateFailedError(EpocheError):
    """``epoche gate`` found a condition that does not hold, or a regression."""

    exit_code = 100


INTERRUPTED = 130
"""Exit code after Ctrl-C (128 + SIGINT), as shells expect."""

TERMINATED = 143
"""Exit code after SIGTERM (128 + 15), by which a run that is being stopped is told from a system's
own ``sys.exit``."""
