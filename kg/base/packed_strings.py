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
_MAX_PADDING = 4
"""Maximum size of an array of padded strings as a multiple of the strings themselves."""


class PackedStrings(Sequence[str]):
    """A sequence of strings, stored as UTF-8 one after another."""

    def __init__(self, strings: Iterable[str] = ()) -> None:
        self._bytes = bytearray()
        self._ends: array[int] = array("I")
        for text in strings:
            self.append(text)

    def append(self, text: str) -> None:
        """Appends a string."""
        self._bytes += text.encode("utf-8", "surrogatepass")
        self._widen_ends()
        self._ends.append(len(self._bytes))

    def _widen_ends(self) -> None:
        """Gives the ends eight bytes each once four do not suffice."""
        if len(self._bytes) > _MAX_UINT32 and self._ends.typecode == "I":
            self._ends = array("Q", self._ends)

    def equals(self, index: int, text: str) -> bool:
        """Whether the string with this index, which is not negative, is ``text``."""
        start = self._ends[index - 1] if index else 0
        encoded = text.encode("utf-8", "surrogatepass")
        return self._bytes[start : self._ends[index]] == encoded

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        start = self._ends[number - 1] if number else 0
        return self._bytes[start : self._ends[number]].decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        for encoded in self._iter_encoded(range(len(self))):
            yield encoded.decode("utf-8", "surrogatepass")

    def sort_indices(self) -> NDArray[np.int64]:
        """Returns the indices of the strings in the order of the strings, equal ones in order."""
        import numpy as np  # here, because cards are read without it

        # The order of UTF-8 is that of the characters, so the bytes are compared.
        n, n_bytes = len(self), len(self._bytes)
        if not n_bytes:
            return np.arange(n, dtype=np.int64)
        ends = np.frombuffer(self._ends, dtype=np.uint32 if self._ends.itemsize == 4 else np.uint64)
        width = max(int(np.diff(ends).max(initial=0)), int(ends[0]))
        # numpy compares padded strings, which is fast, but takes a NUL at the end for padding.
        if b"\0" in self._bytes or width * n > _MAX_PADDING * n_bytes:
            encoded = list(self._iter_encoded(range(n)))
            return np.array(sorted(range(n), key=encoded.__getitem__), dtype=np.int64)
        if width * n == n_bytes:  # all strings have the same length
            padded = np.frombuffer(self._bytes, dtype=f"S{width}")
        else:
            padded = np.empty(n, dtype=f"S{width}")
            for start in range(0, n, _CHUNK):
                numbers = range(start, min(start + _CHUNK, n))
                padded[start : numbers.stop] = list(self._iter_encoded(numbers))
        return np.argsort(padded, kind="stable").astype(np.int64, copy=False)

    def take(self, indices: NDArray[np.integer[Any]]) -> PackedStrings:
        """Returns the strings with these indices, in their order."""
        taken = PackedStrings()
        for start in range(0, len(indices), _CHUNK):
            encoded = list(self._iter_encoded(indices[start : start + _CHUNK].tolist()))
            ends = accumulate(map(len, encoded), initial=len(taken._bytes))
            next(ends)  # where the first string begins
            taken._bytes += b"".join(encoded)
            taken._widen_ends()
            taken._ends.extend(ends)
        return taken

    def _iter_encoded(self, indices: Iterable[int]) -> Iterator[bytes]:
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
        self._mask = -1
        self._places: array[int] = array("q")
        self._resize(1 << max(10, (2 * len(self.strings)).bit_length()))
        for number, text in enumerate(self.strings):
            self._places[self._find_place(text)[1]] = self._encode(text, number)

    def __len__(self) -> int:
        return len(self.strings)

    def __contains__(self, text: str) -> bool:
        return self._find_place(text)[0] != _EMPTY

    def find(self, text: str) -> int:
        """Returns the number of a string, or -1 if it was not added."""
        return self._find_place(text)[0]

    def add(self, text: str) -> int:
        """Returns the number of a string, a new one if it was not added before."""
        number, place = self._find_place(text)
        if number == _EMPTY:
            number = len(self.strings)
            self.strings.append(text)
            self._places[place] = self._encode(text, number)
            if 3 * number > 2 * self._mask:
                self._resize(2 * len(self._places))
        return number

    @staticmethod
    def _encode(text: str, number: int) -> int:
        # The hash is taken modulo 2**31, so that the entry fits into 63 bits.
        return (hash(text) & 0x7FFFFFFF) << 32 | number

    def _find_place(self, text: str) -> tuple[int, int]:
        """Returns the string's number, -1 if it is not there, and its place or a free one."""
        places, mask, equals = self._places, self._mask, self.strings.equals
        tag = hash(text) & 0x7FFFFFFF
        place = tag & mask
        while (entry := places[place]) != _EMPTY:
            if entry >> 32 == tag and equals(entry & _MAX_UINT32, text):
                return entry & _MAX_UINT32, place
            place = (place + 1) & mask
        return _EMPTY, place

    def _resize(self, n_places: int) -> None:
        """Sets the number of places, a power of two."""
        entries, mask = self._places, n_places - 1
        self._mask = mask
        self._places = places = array("q", [_EMPTY]) * n_places
        for entry in entries:
            if entry != _EMPTY:
                place = entry >> 32 & mask
                while places[place] != _EMPTY:
                    place = (place + 1) & mask
                places[place] = entry


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
