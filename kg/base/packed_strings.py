"""Many strings in little memory: distinct strings as numbers, and columns of repeated strings.

A Python string of 16 characters takes 65 bytes and a place in a dictionary about 100 more; here
both together take 40. Metrics of a million rows need the ids of all their cards, to pair systems
and to find duplicates.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CHUNK = 10_000
"""Number of strings that are unpacked at once."""
_EMPTY = -1
_MAX_UINT32 = 2**32 - 1
_TAG_MASK = 2**31 - 1
_MIN_PLACES = 1024
_FEW = 32
"""Number of strings up to which they are looked up one by one: arrays would take longer."""
_MAX_PADDING = 4
"""Maximum size of an array of padded strings as a multiple of the strings themselves."""


class PackedStrings(Sequence[str]):
    """A sequence of strings, stored as UTF-8 one after another."""

    def __init__(self, strings: Iterable[str] = ()) -> None:
        self._bytes = bytearray()
        self._ends: array[int] = array("I")
        for text in strings:
            self.append(text)

    @classmethod
    def from_bytes(cls, content: bytes, ends: NDArray[np.unsignedinteger[Any]]) -> PackedStrings:
        """Returns the strings that are stored one after another, by where each of them ends."""
        strings = cls()
        strings._bytes += content
        strings._widen_ends()
        strings._ends.frombytes(ends.astype(strings._ends.typecode).tobytes())
        return strings

    def to_bytes(self) -> tuple[bytes, bytes]:
        """Returns the strings one after another, and where each of them ends, as ``<u8``."""
        return bytes(self._bytes), self._view_ends().astype("<u8").tobytes()

    def append(self, text: str) -> None:
        """Appends a string."""
        self._bytes += _encode(text)
        self._widen_ends()
        self._ends.append(len(self._bytes))

    def extend_encoded(self, encoded: Sequence[bytes]) -> None:
        """Appends strings that are encoded as UTF-8."""
        ends = accumulate(map(len, encoded), initial=len(self._bytes))
        next(ends)  # where the first string begins
        self._bytes += b"".join(encoded)
        self._widen_ends()
        self._ends.extend(ends)

    def _widen_ends(self) -> None:
        """Gives the ends eight bytes each once four do not suffice."""
        if len(self._bytes) > _MAX_UINT32 and self._ends.typecode == "I":
            self._ends = array("Q", self._ends)

    def equals(self, index: int, encoded: bytes) -> bool:
        """Whether the string with this index, which is not negative, is this one in UTF-8."""
        start = self._ends[index - 1] if index else 0
        return self._bytes[start : self._ends[index]] == encoded

    def equals_all(self, indices: NDArray[np.int64], encoded: Sequence[bytes]) -> NDArray[np.bool_]:
        """Compares the strings with these indices with others, encoded as UTF-8; shape (n,)."""
        import numpy as np

        content, ends = self._bytes, self._view_ends()
        lasts = ends[indices]
        firsts = np.where(indices > 0, ends[indices - 1], 0)
        return np.array(
            [
                content[first:last] == text
                for first, last, text in zip(firsts.tolist(), lasts.tolist(), encoded, strict=True)
            ],
            dtype=np.bool_,
        )

    def has_run(self, first: int, encoded: Sequence[bytes]) -> bool:
        """Whether the strings from an index on are these, encoded as UTF-8."""
        if first + len(encoded) > len(self):
            return False
        start = self._ends[first - 1] if first else 0
        ends = list(accumulate(map(len, encoded), initial=start))
        if self._ends[first : first + len(encoded)].tolist() != ends[1:]:
            return False
        return self._bytes[start : ends[-1]] == b"".join(encoded)

    def _view_ends(self) -> NDArray[np.unsignedinteger[Any]]:
        """Returns the ends as an array; nothing can be appended while it exists."""
        import numpy as np

        return np.frombuffer(self._ends, dtype=np.uint32 if self._ends.itemsize == 4 else np.uint64)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            encoded = self.iter_encoded(range(*index.indices(len(self))))
            return [text.decode("utf-8", "surrogatepass") for text in encoded]
        number = range(len(self))[index]
        start = self._ends[number - 1] if number else 0
        return self._bytes[start : self._ends[number]].decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        for encoded in self.iter_encoded(range(len(self))):
            yield encoded.decode("utf-8", "surrogatepass")

    def sort_indices(self) -> NDArray[np.int64]:
        """Returns the indices of the strings in the order of the strings, equal ones in order."""
        import numpy as np  # here, because cards are read without it

        # The order of UTF-8 is that of the characters, so the bytes are compared.
        n, n_bytes = len(self), len(self._bytes)
        if not n_bytes:
            return np.arange(n, dtype=np.int64)
        width = self._find_width()
        # numpy compares padded strings, which is fast, but takes a NUL at the end for padding.
        if b"\0" in self._bytes or width * n > _MAX_PADDING * n_bytes:
            encoded = list(self.iter_encoded(range(n)))
            return np.array(sorted(range(n), key=encoded.__getitem__), dtype=np.int64)
        if width * n == n_bytes:  # all strings have the same length
            padded = np.frombuffer(self._bytes, dtype=f"S{width}")
        else:
            padded = np.empty(n, dtype=f"S{width}")
            for start in range(0, n, _CHUNK):
                numbers = range(start, min(start + _CHUNK, n))
                padded[start : numbers.stop] = list(self.iter_encoded(numbers))
        return np.argsort(padded, kind="stable").astype(np.int64, copy=False)

    def _find_width(self) -> int:
        """Returns the length of the longest string in UTF-8."""
        import numpy as np

        ends = self._view_ends()
        return max(int(np.diff(ends).max(initial=0)), int(ends[0])) if len(ends) else 0

    def take(self, indices: NDArray[np.integer[Any]]) -> PackedStrings:
        """Returns the strings with these indices, in their order."""
        import numpy as np

        taken = PackedStrings()
        n, width = len(indices), self._find_width()
        if width and width * len(self) == len(self._bytes):  # all strings have the same length
            strings = np.frombuffer(self._bytes, dtype=f"V{width}")
            taken._bytes += strings[indices].tobytes()
            taken._widen_ends()
            taken._ends.extend(range(width, width * n + 1, width))
            return taken
        for start in range(0, len(indices), _CHUNK):
            chunk = indices[start : start + _CHUNK].tolist()
            taken.extend_encoded(list(self.iter_encoded(chunk)))
        return taken

    def iter_encoded(self, indices: Iterable[int]) -> Iterator[bytes]:
        """Yields the strings with these indices, encoded as UTF-8."""
        content, ends = self._bytes, self._ends
        for number in indices:
            yield bytes(content[ends[number - 1] if number else 0 : ends[number]])


class StringNumbers:
    """Numbers distinct strings from 0, in the order in which they are first added.

    A hash table with open addressing. Each place holds 32 bits of a string's hash and its number;
    where the hash is equal, the strings are compared, so that no two strings are ever confused.

    Attributes:
        strings: the strings by number.
    """

    def __init__(self, strings: PackedStrings | None = None) -> None:
        self.strings = PackedStrings() if strings is None else strings
        self._mask = _MIN_PLACES - 1
        self._places = array("q", [_EMPTY]) * _MIN_PLACES
        for start in range(0, len(self.strings), _CHUNK):
            numbers = range(start, min(start + _CHUNK, len(self.strings)))
            self._place_all(list(self.strings.iter_encoded(numbers)), start)

    def __len__(self) -> int:
        return len(self.strings)

    def __contains__(self, text: str) -> bool:
        return self.find(text) != _EMPTY

    def find(self, text: str) -> int:
        """Returns the number of a string, or -1 if it was not added."""
        return self._find_place(_encode(text))[0]

    def add(self, text: str) -> int:
        """Returns the number of a string, a new one if it was not added before."""
        encoded = _encode(text)
        number, place = self._find_place(encoded)
        if number == _EMPTY:
            number = len(self.strings)
            self.strings.append(text)
            # The hash is taken modulo 2**31, so that the entry fits into 63 bits.
            self._places[place] = (hash(encoded) & _TAG_MASK) << 32 | number
            if 3 * number > 2 * self._mask:
                self._resize(2 * len(self._places))
        return number

    def find_all(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Returns the numbers of many strings as ``find``, in a third of the time; shape (n,)."""
        return self._look_up(texts, adds=False)

    def add_all(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Returns the numbers of many strings as ``add``, in a third of the time; shape (n,)."""
        return self._look_up(texts, adds=True)

    def _look_up(self, texts: Sequence[str], *, adds: bool) -> NDArray[np.int64]:
        import numpy as np

        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        distinct = list(dict.fromkeys(encoded))
        numbers = self._find_distinct(distinct)
        if adds and (missing := np.flatnonzero(numbers < 0)).size:
            n_before = len(self.strings)
            numbers[missing] = np.arange(n_before, n_before + missing.size)
            new = [distinct[index] for index in missing.tolist()]
            self.strings.extend_encoded(new)
            self._place_all(new, n_before)
        if len(distinct) == len(texts):
            return numbers
        number_of = dict(zip(distinct, numbers.tolist(), strict=True))
        return np.array([number_of[text] for text in encoded], dtype=np.int64)

    def _find_distinct(self, encoded: Sequence[bytes]) -> NDArray[np.int64]:
        """Returns the numbers of strings, -1 for those that were not added, looking at all at once.

        In each round, every string looks at one place; the few that need many rounds are looked up
        one by one.
        """
        import numpy as np

        tags = _compute_tags(encoded)
        table = np.frombuffer(self._places, dtype=np.int64)
        numbers = np.full(len(encoded), _EMPTY, dtype=np.int64)
        sought = np.arange(len(encoded))  # strings that are neither found nor known to be absent
        places = tags & self._mask
        while sought.size > _FEW:
            entries = table[places]
            is_sought = entries != _EMPTY
            candidates = np.flatnonzero(is_sought & (entries >> 32 == tags[sought]))
            is_equal = self.strings.equals_all(
                entries[candidates] & _MAX_UINT32,
                [encoded[index] for index in sought[candidates].tolist()],
            )
            equal = candidates[is_equal]
            numbers[sought[equal]] = entries[equal] & _MAX_UINT32
            is_sought[equal] = False
            sought, places = sought[is_sought], (places[is_sought] + 1) & self._mask
        for index in sought.tolist():
            numbers[index] = self._find_place(encoded[index])[0]
        return numbers

    def _place_all(self, encoded: Sequence[bytes], first: int) -> None:
        """Enters strings that are not in the table, numbered in their order from ``first``."""
        import numpy as np

        n_places = len(self._places)
        while 3 * (first + len(encoded)) > 2 * n_places:
            n_places *= 2
        if n_places > len(self._places):
            old_table = np.frombuffer(self._places, dtype=np.int64)
            self._places = array("q", [_EMPTY]) * n_places
            self._mask = n_places - 1
            for start in range(0, len(old_table), _CHUNK):
                part = old_table[start : start + _CHUNK]
                self._place_entries(part[part != _EMPTY])
        numbers = np.arange(first, first + len(encoded), dtype=np.int64)
        self._place_entries(_compute_tags(encoded) << 32 | numbers)

    def _place_entries(self, entries: NDArray[np.int64]) -> None:
        """Enters strings that are not in the table, which has room for them."""
        import numpy as np

        table = np.frombuffer(self._places, dtype=np.int64)
        places = entries >> 32 & self._mask
        while entries.size > _FEW:
            is_free = table[places] == _EMPTY
            # Of several entries for one place, the last one written stays; the others go on.
            table[places[is_free]] = entries[is_free]
            is_left = table[places] != entries
            entries, places = entries[is_left], (places[is_left] + 1) & self._mask
        for entry in entries.tolist():
            self._place(entry)

    def _place(self, entry: int) -> None:
        """Enters a string that is not in the table."""
        places, mask = self._places, self._mask
        place = entry >> 32 & mask
        while places[place] != _EMPTY:
            place = (place + 1) & mask
        places[place] = entry

    def _find_place(self, encoded: bytes) -> tuple[int, int]:
        """Returns the string's number, -1 if it is not there, and its place or a free one."""
        places, mask, equals = self._places, self._mask, self.strings.equals
        tag = hash(encoded) & _TAG_MASK
        place = tag & mask
        while (entry := places[place]) != _EMPTY:
            if entry >> 32 == tag and equals(entry & _MAX_UINT32, encoded):
                return entry & _MAX_UINT32, place
            place = (place + 1) & mask
        return _EMPTY, place

    def _resize(self, n_places: int) -> None:
        """Sets the number of places, a power of two."""
        entries = self._places
        self._mask = n_places - 1
        self._places = array("q", [_EMPTY]) * n_places
        for entry in entries:
            if entry != _EMPTY:
                self._place(entry)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _compute_tags(encoded: Sequence[bytes]) -> NDArray[np.int64]:
    """Returns the 31 bits of the strings' hashes that the table holds, shape (n,)."""
    import numpy as np

    return np.fromiter(map(hash, encoded), dtype=np.int64, count=len(encoded)) & _TAG_MASK


class StringColumn(Sequence[str]):
    """A column of strings, few of them different, stored as numbers of the different ones.

    Attributes:
        names: the different strings.
        codes: the index of each string of the column in ``names``, shape (n,).
    """

    def __init__(self, names: Sequence[str], codes: NDArray[np.integer[Any]]) -> None:
        import numpy as np

        self.names = tuple(names)
        self.codes = codes.astype(np.min_scalar_type(max(len(self.names) - 1, 0)), copy=False)

    @classmethod
    def from_strings(cls, strings: Iterable[str]) -> StringColumn:
        """Makes a column of these strings."""
        import numpy as np

        numbers: dict[str, int] = {}
        codes = [numbers.setdefault(text, len(numbers)) for text in strings]
        return cls(tuple(numbers), np.array(codes, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return StringColumn(self.names, self.codes[index])
        return self.names[int(self.codes[index])]

    def take(self, selection: NDArray[Any] | slice) -> StringColumn:
        """Returns the strings that a mask, indices or a slice select."""
        return StringColumn(self.names, self.codes[selection])

    def select(self, condition: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Returns a mask of the strings that fulfil a condition, shape (n,)."""
        import numpy as np

        mask: NDArray[np.bool_] = np.array([condition(n) for n in self.names], np.bool_)[self.codes]
        return mask
