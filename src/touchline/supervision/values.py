"""How are the frozen facts made? A `Value` is a frozen, slotted, keyword-only dataclass that costs nothing to import.

`dataclasses` writes and compiles six methods per class while a module loads, which was the largest part of a hook's
stop. Here each method is compiled when it is first called, and `dataclasses` itself is loaded only by who asks for its
fields: to `fields`, `asdict`, `replace`, pickling, matching and type checkers a value is the dataclass it replaces.
"""

from __future__ import annotations

__all__ = ["Literal", "Value", "assert_never", "columns_of", "field", "from_columns", "names_of", "replace"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from dataclasses import field, replace
    from types import FunctionType
    from typing import Any, Literal, TypeVar, assert_never, dataclass_transform

    _V = TypeVar("_V")

    @dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
    class Value: ...


BY_HAND = 48
"""Values of a class that are made before its `__init__` is compiled, which takes as long as making fifty by hand."""


class _Made:
    """A default that is made anew for each value."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


class _Later:
    """A method of all values: for each class it is written and compiled when it is first needed there."""

    __slots__ = ("name", "write")

    def __init__(self, name: str, write: Callable[[type[Any]], Any]) -> None:
        self.name, self.write = name, write

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        made = self.write(owner)
        setattr(owner, self.name, made)
        return made if instance is None or not callable(made) else made.__get__(instance, owner)


class _Shape(type):
    """Makes a class of values: its fields are slots, its defaults are kept apart."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> _Shape:
        if bases and bases != (Value,):
            raise TypeError(f"{body['__qualname__']}: a value stands alone, with no class above it but `Value`.")
        names = tuple(body.get("__annotations__", ()))
        body["__value_defaults__"] = {each: body.pop(each) for each in names if each in body}
        body["__slots__"] = names
        return super().__new__(cls, name, bases, body)


def names_of(held: object) -> tuple[str, ...]:
    """The fields of a value, or of a class of values; empty for anything else."""
    owner: Any = held if isinstance(held, type) else type(held)
    return tuple(owner.__slots__) if hasattr(owner, "__value_defaults__") else ()


def _replace(instance: Any, **changes: Any) -> Any:
    """The value with other fields."""
    for name in instance.__slots__:
        if name not in changes:
            changes[name] = getattr(instance, name)
    return instance.__class__(**changes)


def columns_of(cls: type[Any], held: Sequence[Any]) -> dict[str, list[Any]]:
    """Many values of one class by their fields, each field of all of them together; a hook keeps hundreds so."""
    return {name: list(map(cls.__dict__[name].__get__, held)) for name in cls.__slots__}


def from_columns(cls: type[_V], columns: Mapping[str, Sequence[Any]]) -> tuple[_V, ...]:
    """The values that `columns_of` told of. Raises `ValueError` for missing or unknown fields, or unlike lengths."""
    names: tuple[str, ...] = cls.__slots__  # type: ignore[attr-defined]
    sizes = set(map(len, columns.values()))
    if columns.keys() != set(names) or len(sizes) != 1:
        raise ValueError(f"not the fields of {cls.__qualname__}")
    made = tuple(map(cls.__new__, (cls,) * sizes.pop()))
    for name in names:
        for _ in map(cls.__dict__[name].__set__, made, columns[name]):
            pass
    return made


def _init(cls: type[Any]) -> FunctionType:
    """For the first few values of a class by hand; compiled for who makes many. In a hook, compiling was a tenth."""
    setters = {name: cls.__dict__[name].__set__ for name in cls.__slots__}
    defaults: dict[str, Any] = cls.__value_defaults__
    left = BY_HAND

    def __init__(self: Any, *args: Any, **given: Any) -> None:  # noqa: N807 - it becomes the class's
        nonlocal left
        left -= 1
        if left >= 0 and not args:
            taken = 0
            for name, put in setters.items():
                if name in given:
                    put(self, given[name])
                    taken += 1
                elif name in defaults:
                    default = defaults[name]
                    put(self, default.make() if type(default) is _Made else default)
                else:
                    break
            else:
                if taken == len(given):
                    return
        # What does not fit is told as Python tells it.
        cls.__init__ = compiled = _compiled_init(cls)
        compiled(self, *args, **given)

    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return __init__  # type: ignore[return-value]


def _compiled_init(cls: type[Any]) -> FunctionType:
    known: dict[str, Any] = {f"set_{name}": cls.__dict__[name].__set__ for name in cls.__slots__}
    taken, lines = [], []
    for name in cls.__slots__:
        given = name
        if name not in cls.__value_defaults__:
            taken.append(name)
        else:
            default = cls.__value_defaults__[name]
            if isinstance(default, _Made):
                known[f"make_{name}"], known["MAKE"], default = default.make, _MAKE, _MAKE
                given = f"make_{name}() if {name} is MAKE else {name}"
            known[f"default_{name}"] = default
            taken.append(f"{name}=default_{name}")
        lines.append(f" set_{name}(self, {given})")
    stars = ", *, " if taken else ""
    written = _written(cls, "__init__", f"self{stars}{', '.join(taken)}", "\n".join(lines) or " pass", known)
    written.__annotations__ = {**cls.__annotations__, "return": "None"}
    return written


def _signature(cls: type[Any]) -> Any:
    from inspect import signature

    told = signature(_compiled_init(cls))
    return told.replace(parameters=[each for name, each in told.parameters.items() if name != "self"])


def _eq(cls: type[Any]) -> FunctionType:
    body = f" return {_tuple(cls, 'self')} == {_tuple(cls, 'other')} if other.__class__ is self.__class__ else differs"
    return _written(cls, "__eq__", "self, other", body, {"differs": NotImplemented})


def _hash(cls: type[Any]) -> FunctionType:
    return _written(cls, "__hash__", "self", f" return hash({_tuple(cls, 'self')})", {})


def _repr(cls: type[Any]) -> FunctionType:
    shown = ", ".join(f"{name}={{self.{name}!r}}" for name in cls.__slots__)
    return _written(cls, "__repr__", "self", f" return self.__class__.__qualname__ + f'({shown})'", {})


def _tuple(cls: type[Any], owner: str) -> str:
    return "(" + "".join(f"{owner}.{name}, " for name in cls.__slots__) + ")"


def _written(cls: type[Any], name: str, takes: str, body: str, known: dict[str, Any]) -> FunctionType:
    known["__name__"] = cls.__module__
    exec(f"def {name}({takes}):\n{body}", known)  # noqa: S102 - as dataclasses do; nothing but names of fields
    made: FunctionType = known[name]
    made.__qualname__ = f"{cls.__qualname__}.{name}"
    return made


def _dataclass_part(name: str) -> Callable[[type[Any]], Any]:
    """What `dataclasses` wants to find, taken from a dataclass of the same fields."""

    def write(cls: type[Any]) -> Any:
        import dataclasses

        defaults = {
            name: dataclasses.field(default_factory=each.make) if isinstance(each, _Made) else each
            for name, each in cls.__value_defaults__.items()
        }
        same = {"__annotations__": cls.__annotations__, "__module__": cls.__module__}
        twin = type(cls.__name__, (), {**same, **defaults})
        return getattr(dataclasses.dataclass(frozen=True, kw_only=True)(twin), name)

    return write


def _refuse_to_set(_: object, name: str, __: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__slots__]


def _restore(self: Any, state: list[Any]) -> None:
    for name, each in zip(self.__slots__, state, strict=True):
        object.__setattr__(self, name, each)


_MAKE: Any = type("_Make", (), {"__repr__": lambda _: "<made anew>"})()
if not TYPE_CHECKING:
    replace = _replace

    class Value(metaclass=_Shape):
        """What all values share."""

        __match_args__ = ()
        __setattr__ = _refuse_to_set
        __delattr__ = _refuse_to_delete
        __getstate__ = _state
        __setstate__ = _restore
        __init__ = _Later("__init__", _init)
        __signature__ = _Later("__signature__", _signature)
        __eq__ = _Later("__eq__", _eq)
        __hash__ = _Later("__hash__", _hash)
        __repr__ = _Later("__repr__", _repr)
        __dataclass_fields__ = _Later("__dataclass_fields__", _dataclass_part("__dataclass_fields__"))
        __dataclass_params__ = _Later("__dataclass_params__", _dataclass_part("__dataclass_params__"))

    class Literal:
        """`typing.Literal` for who reads its words with `get_args`, without `typing`, which loads `re` and more."""

        __class_getitem__ = classmethod(type(list[str]))

    def assert_never(value: object) -> None:
        raise AssertionError(f"Expected code to be unreachable, but got: {value!r}")

    def field(*, default_factory: Callable[[], Any]) -> _Made:
        return _Made(default_factory)
