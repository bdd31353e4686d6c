"""Defines the errors that a user can act on, with messages, hints and fixed exit codes.

Every failure that a user can cause is one of these classes. The command line prints
``error: WHAT (WHERE). HINT`` on one line and exits with ``exit_code``; the table of codes is in
``docs/reference/exit-codes.md``, and a test checks that both agree.
"""

from __future__ import annotations

from kg.base.plain_text import to_one_line

MAX_QUOTE_LENGTH = 700
"""Maximum characters of each part of a message: quoted input may be megabytes long."""


def _shorten_text(text: str) -> str:
    """Returns ``text``; if it is longer than ``MAX_QUOTE_LENGTH``, "…" replaces its middle."""
    if len(text) <= MAX_QUOTE_LENGTH:
        return text
    # Keeps the first 500 and the last 150 characters.
    return f"{text[: MAX_QUOTE_LENGTH - 200]} … {text[-150:]}"


class EpocheError(Exception):
    """Base of all errors that a user can act on.

    Args:
        what: what is wrong, in one clause.
        where: the file, line, IRI or flag that is wrong; may be empty.
        hint: what to do about it; may be empty.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(self.format_line())

    def format_line(self) -> str:
        """Returns the whole message on one line, without control characters.

        Quoted text comes from graphs and files; control characters in it could manipulate the
        terminal that shows the message.
        """
        text = _shorten_text(self.what)
        if self.where:
            text += f" ({_shorten_text(self.where)})"
        if self.hint:
            text += f". {_shorten_text(self.hint)}"
        return to_one_line(text)


class MissingFileError(EpocheError):
    """A file named by the user does not exist or cannot be read."""

    exit_code = 3


class GraphSyntaxError(EpocheError):
    """A graph file cannot be parsed; ``where`` contains path, line and column."""

    exit_code = 4


class EmptyGraphError(EpocheError):
    """A graph file contains no triples, or only shapes."""

    exit_code = 5


class UnknownPredicateError(EpocheError):
    """A requested predicate does not occur in the graph; the hint names the most similar ones."""

    exit_code = 6


class MissingShapesError(EpocheError):
    """No SHACL shapes were given or found; without them no contradiction can be detected."""

    exit_code = 7


class ShapesError(EpocheError):
    """The shapes cannot be parsed, are ill-formed, or use terms that SHACL does not define."""

    exit_code = 8


class InvalidGraphError(EpocheError):
    """The graph violates its own shapes before any claim is added."""

    exit_code = 9


class DomainError(EpocheError):
    """``domain.toml`` is missing or malformed, or has a template that cannot be rendered."""

    exit_code = 10


class QuotaError(EpocheError):
    """``--strict`` was given and a card quota could not be reached, or no card could be made."""

    exit_code = 11


class RecordError(EpocheError):
    """A line of a card or result file is not a valid record, or is cut off."""

    exit_code = 12


class DuplicateIdError(EpocheError):
    """The same id occurs twice in a file whose ids must be unique."""

    exit_code = 13


class CardSetMismatchError(EpocheError):
    """Results, or files to compare, belong to different card sets."""

    exit_code = 14


class WriteError(EpocheError):
    """Writing failed (disk full, no permission); what was written before is intact."""

    exit_code = 15


class SystemNotFoundError(EpocheError):
    """``--system`` names no registered system and no importable one, or it cannot be made."""

    exit_code = 16


class AuditFailedError(EpocheError):
    """Labels can be guessed from surface features, or no card has one of the labels."""

    exit_code = 17


class MissingExtraError(EpocheError):
    """The request needs an optional dependency that is not installed."""

    exit_code = 18


class SettingError(EpocheError):
    """A setting (``--set key=value``) is unknown, has an invalid value, or is a secret."""

    exit_code = 19


class GraphFormatError(EpocheError):
    """A graph file is not of a supported format, or its extension is not that of its format."""

    exit_code = 20


class GraphTooLargeError(EpocheError):
    """A graph is larger than the limit, after decompression or after inference."""

    exit_code = 21


class ShapesEngineError(EpocheError):
    """pySHACL failed on well-formed shapes and data, or an audit of verdicts failed."""

    exit_code = 22


class ModelAccessError(EpocheError):
    """No call to the model can succeed: the key, model, host or quota is missing or wrong."""

    exit_code = 23


class ModelCallError(EpocheError):
    """One call to a model failed after all retries; other calls may still succeed."""

    exit_code = 24


class WeightsError(EpocheError):
    """The weights of a local model are not the expected ones, or cannot be used."""

    exit_code = 25


class CostLimitError(EpocheError):
    """A run stopped because its model calls reached ``--max-cost``; its rows are saved."""

    exit_code = 26


class TooManyErrorsError(EpocheError):
    """Too many questions in a row ended in ``ERROR``, or all questions of a run did.

    The rows of the run are saved.
    """

    exit_code = 27


class IncompleteRunError(EpocheError):
    """Rows are missing from shards to merge, or a whole shard is missing."""

    exit_code = 28


class WithheldError(EpocheError):
    """``epoche guard --fail`` was given and at least one claim was withheld."""

    exit_code = 29


class DocumentError(EpocheError):
    """A document cannot be read, contains no text, or is larger than the limits allow."""

    exit_code = 30


class RunFolderError(EpocheError):
    """A folder is not a run folder, is incomplete or damaged, or is from another version."""

    exit_code = 31


class EmbedderMismatchError(EpocheError):
    """A run is used with another embedding model than the one it was built with."""

    exit_code = 32


class StrictModelError(EpocheError):
    """``--strict`` was given and a model's reply could not be used."""

    exit_code = 33


class SearchError(EpocheError):
    """A web search failed or was not recorded (finding nothing is not an error)."""

    exit_code = 34


class ConceptExportError(EpocheError):
    """A run contains no concepts that could be exported as RDF to make questions from."""

    exit_code = 35


class NotationError(EpocheError):
    """A text is not valid SKN, or a JSON value is not an SKN document.

    ``where`` contains the line and column.
    """

    exit_code = 36


class SchemaError(EpocheError):
    """A JSON Schema cannot be used: ill-formed, unsupported draft, or external references."""

    exit_code = 37


class ConfigError(EpocheError):
    """A configuration file is not valid YAML, or contains an unknown key or an invalid value."""

    exit_code = 38


class VerificationError(EpocheError):
    """``epoche verify`` found that a run's files do not agree with each other."""

    exit_code = 39


class ChangedRunError(EpocheError):
    """The files of a run, or its cards, are not as the run left them, or contradict themselves."""

    exit_code = 40


class GateFailedError(EpocheError):
    """``epoche gate`` found a regression, or a condition that is not satisfied."""

    exit_code = 100


EXIT_INTERRUPTED = 130
"""Exit code after Ctrl-C (128 + SIGINT), as shells expect."""

EXIT_TERMINATED = 143
"""Exit code after SIGTERM (128 + 15). A ``SystemExit`` with this code stops a run; one with
another code was raised by a system that called ``sys.exit``."""
