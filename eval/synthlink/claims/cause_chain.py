"""Reads which of two things a claim calls the cause, and compares it with the question's chain.

The triples of a question's steps say what led to what. A claim that joins two of their nodes by
words such as "led to", "because" or an arrow is right if it names them in that order, and wrong if
it names them in the other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from eval.synthlink.claims.lexicon import RELATION_BY_WORD
from eval.synthlink.claims.words import Word, get_content, is_same, is_same_word, split_text
from eval.synthlink.items import Question, Triple
from kg.base.plain_text import list_words

_CAUSAL: Final = frozenset(("cause", "enable", "increase"))
_PROMOTING: Final = frozenset(("inspired", "revealed"))
_CHANGES: Final = {"increased": "raised", "reduced": "lowered", "limited": "lowered"}
_HINDERING: Final = frozenset(("reduced", "limited", "replaced"))
"""Relations that do not say which came first: what limits wages may be an answer to them."""
_FORWARD = (
    r"→|⇒|prompted|spurred|fuell?ed|ushered in|provoked|gave birth to|helped (?:to )?bring about|"
    r"made way for|opened the way (?:for|to)|laid the (?:basis|foundations?|ground) for|"
    r"led (?:directly |eventually |finally )?to|leads to|leading to|caused|causes|brought "
    r"(?:about|on)|brings about|resulted in|gave rise to|set off|triggered|sparked|started|made "
    r"possible|enabled|paved the way (?:for|to)|inspired|contributed to|was the (?:cause|reason) "
    r"(?:of|for)|and so|so that|führte(?:n)? (?:schließlich |dann )?zu[mr]?|verursachte(?:n)?|"
    r"bewirkte(?:n)?|ermöglichte(?:n)?|löste(?:n)?|sodass|so dass"
)
_BE = (
    r"(?:is|are|was|were|been|being)\s+"
    r"(?:(?:directly|eventually|finally|ultimately|actually|really)\s+)?"
)
_BACKWARD = (
    r"grew out of|sprang from|followed on from|resulted from|came from|arose from|stemmed from|"
    rf"{_BE}(?:caused|brought about|brought on|triggered|sparked|made possible|enabled|inspired|"
    r"set off|started|prompted|spurred|fuell?ed|provoked|driven) by|"
    r"(?:was|were|is|are) (?:an? |the )?(?:result|consequence|effect|outcome|product) of|"
    r"as a (?:result|consequence) of|because of|because|due to|owing to|thanks to|"
    r"followed from|weil|wegen|aufgrund|infolge|dank|wurde durch|entstand aus|"
    r"war (?:eine |die )?folge (?:von|der|des)"
)
_RAISED = r"increase[ds]|raise[ds]|boosted|multiplied|strengthened|erhöhten?|steigerten?"
_LOWERED = r"reduce[ds]|lower(?:ed|s)|decrease[ds]|diminished|senkten?|verringerten?"
_CONNECTOR: Final = re.compile(
    rf"(?<!\w)(?:(?P<backward>{_BACKWARD})|{_BE}(?P<raised_by>{_RAISED}) by|"
    rf"{_BE}(?P<lowered_by>{_LOWERED}) by|(?P<forward>{_FORWARD})|(?P<raised>{_RAISED})|"
    rf"(?P<lowered>{_LOWERED}))(?!\w|\s+by\b)",
    re.IGNORECASE,
)
# An object before its verb: "Den Pakt verursachte der Marsch".
_OBJECT_FIRST: Final = re.compile(r"\s*(?:den|dem|einen|einem|zum|zur)\s", re.IGNORECASE)
# After "did not", verbs have no ending; elsewhere these words are nouns too.
_PLAIN: Final = re.compile(
    r"(?<!\w)(?:(?P<forward>lead to|cause|trigger|bring about|result in|set off|enable|inspire|"
    r"make possible)|(?P<backward>result from|come from)|(?P<raised>increase|raise)|"
    r"(?P<lowered>reduce|lower|decrease))(?!\w)",
    re.IGNORECASE,
)
_CHANGED: Final = re.compile(
    r"\s*(?:(?P<lowered>less|fewer|lower|reduced)|more|higher|increased)\s", re.IGNORECASE
)
_LED_TO_DO: Final = re.compile(
    r"(?<!\w)(?:led|moved|drove|prompted|pushed|spurred|inspired|forced)\s+(?P<who>[^,;]+?)\s+to\s+"
    r"(?=[a-z]+\s)|(?<!\w)made\s+(?P<what>[^,;]+?)\s+possible"
)
_GENERAL: Final = frozenset(
    list_words(
        "end growth use number rise spread start beginning increase large great new first "
        "arrival building opening discovery invention development sale law act war theory "
        "method"
    )
)
"""Words of names that occur with many things, so that alone they name none."""

_OF_CHANGE: Final = frozenset(
    list_words(
        "collapse decline end ending loss fall reduction destruction shortage lack death deaths "
        "disappearance failure closing closure ban defeat extinction weakness growth rise spread "
        "recovery return ruin abolition repeal increase decrease withdrawal removal reversal limits"
    )
)
"""Heads of names without which the rest says something else, or the opposite."""
_OTHER_SMALL_WORDS: Final = frozenset(list_words("from with than as against without by into"))
"""Small words that change what a side says, unless the thing's name or a fact has them."""
_MIN_SHARE: Final = 0.5
_MIN_TELLING: Final = 2
"""A side names a node if it has half of the words of its name, or two that tell."""
_MAX_READINGS: Final = 4
"""Maximum number of pairs of nodes that a claim may mean."""

Direction = Literal["forward", "backward", "open"]


class Link(NamedTuple):
    """What the chain says of a claim."""

    direction: Direction
    edge: tuple[str, str] | None = None
    """The nodes of the only triple that the claim states or reverses."""


class CauseChain:
    """The nodes of a question's steps, and what led to what.

    Args:
        question: the question.
        names: words that are names in the evidence.
    """

    def __init__(self, question: Question, names: Collection[str] = ()) -> None:
        self._names = frozenset(names)
        edges = [triple for triple in question.triples if is_causal(triple)]
        ordered = [triple for triple in question.triples if is_causal(triple, hindering=True)]
        self._nodes = {
            node: split_name(node) for triple in ordered for node in (triple[0], triple[2])
        }
        self._heads = {node: _find_head(node, keys) for node, keys in self._nodes.items()}
        # A thing can also be called by who made it and when: "Harrison's watch of 1759".
        self._traits: dict[str, tuple[str, ...]] = {}
        for subject, predicate, thing in question.triples:
            if not is_causal((subject, predicate, thing), hindering=True):
                words = split_name(thing if ":" in thing else f":{thing}")
                self._traits[subject] = (*self._traits.get(subject, ()), *words)
        self._calls = {
            node: (*keys, *self._traits.get(node, ())) for node, keys in self._nodes.items()
        }
        self._facts: dict[str, list[list[Word]]] = {}
        self._told: dict[str, frozenset[str]] = {}
        self._small = {
            node: frozenset(re.split(r"[:-]", node)) & _OTHER_SMALL_WORDS for node in self._nodes
        }
        for step in question.steps:
            fact = get_content(split_text(step.fact, names))
            about = {triple[0] for triple in step.triples} & {*self._nodes}
            small = {word.key for word in split_text(step.fact) if word.kind == "light"}
            for node in {end for triple in step.triples for end in triple} & {*self._nodes}:
                self._small[node] |= small
            for node in about:
                self._facts.setdefault(node, []).append(fact)
            if len(about) == 1:
                (node,) = about
                told = {word.key for word in fact if word.kind == "name"}
                self._told[node] = self._told.get(node, frozenset()) | told
        self._effects = _close_edges(edges)
        self._later = _close_edges(ordered)
        self._changes = {
            (subject, thing): _CHANGES[relation]
            for subject, predicate, thing in question.triples
            for relation in split_name(predicate)
            if relation in _CHANGES
        }
        self._direct = {(subject, thing) for subject, _, thing in ordered}

    def find_link(self, text: str) -> Link:
        """Returns in which order a claim names two nodes of the chain; open if it is not sure.

        Args:
            text: the claim, as if it was asserted.
        """
        sides = _split_sides(text)
        if sides is None:
            return Link("open")
        (cause, cause_sure), (effect, effect_sure) = map(self._find_nodes, sides[:2])
        if not cause or not effect or cause & effect or len(cause) * len(effect) > _MAX_READINGS:
            return Link("open")
        if sides[2]:
            return self._compare_change(cause, effect, sides[2], cause_sure and effect_sure)
        is_forward = any(b in self._effects.get(a, ()) for a in cause for b in effect)
        is_backward = any(a in self._effects.get(b, ()) for a in cause for b in effect)
        is_hindered = any(a in self._later.get(b, ()) for a in cause for b in effect)
        if is_backward and not is_forward:
            return Link("backward", self._find_edge(effect, cause))
        if not is_forward or is_hindered or not (cause_sure and effect_sure):
            return Link("open")
        return Link("forward", self._find_edge(cause, effect))

    def _compare_change(self, causes: set[str], effects: set[str], change: str, sure: bool) -> Link:
        """Compares "A increased B" and "A reduced B" with the triples that say so."""
        changes = {self._changes.get((a, b), "") for a in causes for b in effects} - {""}
        if len(changes) == 1:
            edge = self._find_edge(causes, effects)
            if changes != {change}:
                return Link("backward", edge)
            return Link("forward", edge) if sure else Link("open")
        reverse = {self._changes.get((b, a), "") for a in causes for b in effects} - {""}
        is_reverse = bool(reverse) and not changes
        return Link("backward", self._find_edge(effects, causes)) if is_reverse else Link("open")

    def _find_edge(self, causes: set[str], effects: set[str]) -> tuple[str, str] | None:
        """Returns the only triple from cause to effect, as a pair of nodes."""
        edges = [(a, b) for a in causes for b in effects if (a, b) in self._direct]
        return edges[0] if len(edges) == 1 else None

    def _find_nodes(self, side: str) -> tuple[set[str], bool]:
        """Finds the nodes that one side of a claim names.

        Returns:
            The nodes; and whether the side has no words that its node does not have.
        """
        words = get_content(split_text(side))
        best: set[str] = set()
        best_score = (0, 0.0)
        for node, keys in self._nodes.items():
            shared = [key for key in keys if any(is_same_word(word.key, key) for word in words)]
            telling = [key for key in shared if key not in _GENERAL]
            share = len(shared) / len(keys)
            calls = [*telling, *self._traits.get(node, ())]
            is_named = any(
                self._is_own_name(key) and any(is_same_word(word.key, key) for word in words)
                for key in calls
            )
            n_covered = sum(any(is_same_word(word.key, key) for key in keys) for word in words)
            called = self._calls[node]
            n_called = sum(any(is_same_word(word.key, key) for key in called) for word in words)
            # "Ploughing" is "the ploughing of the plains", if nothing else is said.
            is_head = n_covered == len(words) and self._heads[node] in shared
            if not telling or not (
                share >= _MIN_SHARE or len(telling) >= _MIN_TELLING or is_named or is_head
            ):
                continue
            score = (n_called, share)
            if score > best_score:
                best, best_score = {node}, score
            elif score == best_score:
                best.add(node)
        if not best:
            # "The wreck of Shovell's fleet": a fact about one thing only has the name.
            own = {word.key for word in words if self._is_own_name(word.key, self._told)}
            return {node for node, told in self._told.items() if own & told}, False
        keys_of_best = {key for node in best for key in self._calls[node]}
        sure = all(any(is_same_word(word.key, key) for key in keys_of_best) for word in words) or (
            any(self._tells(node, words) for node in best)
        )
        small = {word.key for word in split_text(side) if word.key in _OTHER_SMALL_WORDS}
        if not any(
            self._keeps_order(node, words) and small <= self._small.get(node, frozenset())
            for node in best
        ):
            sure = False
        return best, sure and not any(self._lacks_change(node, words) for node in best)

    def _keeps_order(self, node: str, words: Sequence[Word]) -> bool:
        """Returns whether a side has the names in a thing's name in their order.

        "The Ireland Famine" is not the famine in Ireland, but "ozone layer recovering" is the
        recovery of the ozone layer.
        """
        places = [
            next((i for i, key in enumerate(self._nodes[node]) if is_same_word(word.key, key)), -1)
            for word in words
            if word.key in self._names
        ]
        named = [place for place in places if place >= 0]
        return named == sorted(named) or self._tells(node, words)

    def _tells(self, node: str, words: Sequence[Word]) -> bool:
        """Returns whether a fact about a thing has some words in their order.

        "Busicom's order to Intel" has those of "Busicom placed an order with Intel".
        """
        for fact in self._facts.get(node, ()):
            following = iter(fact)
            if all(any(is_same(word, other) for other in following) for word in words):
                return True
        return False

    def _lacks_change(self, node: str, words: Sequence[Word]) -> bool:
        """Returns whether a side leaves out the word that says what became of a thing.

        "Indian indigo" is not the collapse of Indian indigo.
        """
        head = self._heads[node]
        return head in _OF_CHANGE and not any(is_same_word(word.key, head) for word in words)

    def _is_own_name(self, key: str, called: Mapping[str, Collection[str]] | None = None) -> bool:
        """Returns whether a word is a name, and that of one node only."""
        is_name = key in self._names or any(map(str.isdigit, key))
        calls = (self._calls if called is None else called).values()
        return is_name and sum(key in keys for keys in calls) == 1


def _split_sides(text: str) -> tuple[str, str, str] | None:
    """Returns what a claim calls cause and effect, and ``raised`` or ``lowered`` if it says so.

    Returns None if it has not exactly one connector.
    """
    text = _LED_TO_DO.sub(
        lambda m: f"led to {m['who']} " if m["who"] else f"enabled {m['what']} ", text
    )
    connectors = list(_CONNECTOR.finditer(text)) or list(_PLAIN.finditer(text))
    if len(connectors) != 1:
        return None
    connector = connectors[0]
    change = _CHANGED.match(text, connector.end()) if connector.group() in ("→", "⇒") else None
    if change:
        # "A → less B" is "A lowered B".
        kind = "lowered" if change["lowered"] else "raised"
        return text[: connector.start()], text[change.end() :], kind
    before, after = text[: connector.start()], text[connector.end() :]
    if not before.strip(" ,"):
        # "Because A, B": the cause comes first.
        cause, comma, effect = after.partition(",")
        return (cause, effect, "") if comma and connector["backward"] else None
    if _OBJECT_FIRST.match(before):
        return None
    kind = connector.lastgroup or ""
    if kind == "backward" or kind.endswith("_by"):
        before, after = after, before
    return before, after, kind.removesuffix("_by") if kind.startswith(("raised", "lowered")) else ""


def is_causal(triple: Triple, *, hindering: bool = False) -> bool:
    """Returns whether a triple says that one thing led to another, or hindered it.

    Args:
        triple: a triple of a step.
        hindering: whether relations such as "reduced" count too.
    """
    words = split_name(triple[1])
    is_inverse = re.search(r"(?:By|_by|-by)$", triple[1]) is not None
    return (
        triple[2].count(":") == 1
        and not is_inverse
        and any(
            RELATION_BY_WORD.get(word, frozenset()) & _CAUSAL
            or word in _PROMOTING
            or (hindering and word in _HINDERING)
            for word in words
        )
    )


def _close_edges(triples: Sequence[Triple]) -> dict[str, set[str]]:
    """Returns for each node all nodes that can be reached from it."""
    after: dict[str, set[str]] = {}
    for subject, _, thing in triples:
        after.setdefault(subject, set()).add(thing)
    closed = {}
    for node in after:
        found: set[str] = set()
        pending = [node]
        while pending:
            for following in after.get(pending.pop(), set()) - found:
                found.add(following)
                pending.append(following)
        closed[node] = found
    return closed


_INNER: Final = re.compile(r"-(?:of|in|by|for|at|on|against|to|with|from|over|under|as)-")


def _find_head(name: str, keys: Sequence[str]) -> str:
    """Returns the word of a name that says what it is: "ploughing" of ``ploughing-of-plains``."""
    first = split_name(f":{_INNER.split(name.partition(':')[2])[0]}")
    return first[-1] if first else keys[-1] if keys else ""


def split_name(name: str) -> tuple[str, ...]:
    """Returns the words with content of a prefixed name such as ``syn:cotton-gin``."""
    local = name.partition(":")[2]
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", local).replace("-", " ").replace("_", " ")
    return tuple(dict.fromkeys(word.key for word in get_content(split_text(spaced))))
