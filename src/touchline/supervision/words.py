"""How are the words that a decision is told in named? `Word` is `enum.StrEnum` without `enum`.

Loading `enum` takes half as long as starting the interpreter, and a stop in an agent's hook waits for it. To type
checkers, matching, pickling and JSON a class of words is the `StrEnum` it stands for.
"""

from __future__ import annotations

__all__ = ["Word"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from enum import StrEnum as Word
else:

    class _Vocabulary(type):
        """A class of words: closed, in the order they were written."""

        def __new__(cls, name, bases, body):
            named = {key: word for key, word in body.items() if type(word) is str and not key.startswith("_")}
            body.setdefault("__slots__", ())
            made = super().__new__(cls, name, bases, body)
            made.__members__ = {}
            made._known = {}
            for key, word in named.items():
                member = str.__new__(made, word)
                member._name, member._value = key, word
                setattr(made, key, member)
                made.__members__[key] = made._known[word] = member
            return made

        def __call__(cls, word):
            found = cls._known.get(word)
            if found is None:
                raise ValueError(f"{word!r} is not a valid {cls.__qualname__}")
            return found

        def __getitem__(cls, name):
            return cls.__members__[name]

        def __iter__(cls):
            return iter(cls.__members__.values())

        def __len__(cls):
            return len(cls.__members__)

    class Word(str, metaclass=_Vocabulary):
        """A class of named words; each is a `str`."""

        __slots__ = ("_name", "_value")

        @property
        def name(self):
            return self._name

        @property
        def value(self):
            return self._value

        def __repr__(self):
            return f"<{self.__class__.__name__}.{self._name}: {self._value!r}>"

        def __reduce_ex__(self, _):
            return self.__class__, (self._value,)
