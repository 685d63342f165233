"""Turn a plain document into the model's classes, and continue after each problem.

cattrs finds the hook for each type. The hooks are our own. They convert nothing silently (``"4"`` is not a number). They record
what is wrong and replace it by the default or an empty value, so that one pass finds every problem. Empty values never leave
``config.parse``, because it raises an error if there is any problem.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from types import MappingProxyType, NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin

import attrs
import cattrs

from dms_iceberg.config.problems import Problems, below, item, listed, shown, suggestion

T = TypeVar("T")

_KINDS: dict[type, tuple[str, tuple[type, ...], object]] = {
    str: ("text", (str,), ""),
    int: ("a whole number", (int,), 0),
    float: ("a number", (int, float), 0.0),
    bool: ("true or false", (bool,), False),
}
_SECRET_FIELDS = frozenset({"mask_salt"})


class _BadValueError(ValueError):
    """A value of the wrong type; the message says what was expected and found."""


def document_key(field: "attrs.Attribute[Any]") -> str | None:
    """Return the document's key of a model field, or None when it has none."""
    key: str | None = field.metadata["key"]
    return field.name if key == "" else key


def document_fields(cls: type) -> "dict[str, attrs.Attribute[Any]]":
    """Return the fields of a model class by document key, in the order of the class."""
    keyed = ((document_key(field), field) for field in attrs.fields(cls))
    return {key: field for key, field in keyed if key is not None}


class Structurer:
    """Structures one document. ``problems`` receives the problems."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self._path = ""
        self._converter = _converter(self)

    @contextmanager
    def at(self, path: str) -> Iterator[None]:
        """Use ``path`` as the current path inside this context."""
        before, self._path = self._path, path
        try:
            yield
        finally:
            self._path = before

    def fields(
        self,
        value: object,
        cls: type,
        path: str,
        *,
        extra: tuple[str, ...] = (),
        refused: Mapping[str, str] = MappingProxyType({}),
        optional: bool = False,
    ) -> dict[str, Any]:
        """Return the valid entries of an object as values by *field name*.

        Args:
            value: the document's object.
            cls: the model class whose fields it may have.
            path: key path of the object.
            extra: keys that are allowed and left to the caller.
            refused: keys that are refused here although they seem plausible, and why.
            optional: whether required keys may be missing.
        """
        allowed = {key: field for key, field in document_fields(cls).items() if key not in {*refused, *extra}}
        if not isinstance(value, dict):
            self.problems.add(path, f"expected an object, found {shown(value)}")
            return {}
        for key in value:
            if key in refused:
                self.problems.add(below(path, key), refused[key])
            elif key not in allowed and key not in extra:
                self.problems.add(below(path, key), f"unknown key; {suggestion(key, [*extra, *allowed])}")
        out: dict[str, Any] = {}
        for key, field in allowed.items():
            if key in value:
                self._read_field(value[key], field, below(path, key), out)
            elif field.default is attrs.NOTHING and not optional:
                self.problems.add(below(path, key), f"missing; {field.metadata['doc']}")
        return out

    def _read_field(self, value: object, field: "attrs.Attribute[Any]", path: str, out: dict[str, Any]) -> None:
        try:
            with self.at(path):
                result = self._structure(value, field.type)
            _check_limits(result, field)
        except _BadValueError as error:
            message = str(error) if field.name not in _SECRET_FIELDS else "expected text (value not shown)"
            self.problems.add(path, message)
            return
        out[field.name] = result

    def _structure(self, value: object, cls: Any) -> Any:
        return self._converter.get_structure_hook(cls)(value, cls)

    def instance(self, value: object, cls: type[T]) -> T:
        """Hook for a model class: build it at the current path."""
        return self.complete(cls, self.fields(value, cls, self._path))

    def complete(self, cls: type[T], values: dict[str, Any]) -> T:
        """Build ``cls`` from values by field name; missing required fields become empty."""
        for field in attrs.fields(cast(Any, cls)):
            if field.default is attrs.NOTHING and field.name not in values:
                values[field.name] = self._empty(field.type)
        return cls(**values)

    def _empty(self, cls: Any) -> Any:
        if isinstance(cls, type) and attrs.has(cls):
            return Structurer(Problems()).instance({}, cls)
        if get_origin(cls) is not None:
            return get_origin(cls)()
        return _KINDS[cls][2]

    def sequence(self, value: object, cls: Any) -> tuple[Any, ...]:
        """Hook for lists."""
        if not isinstance(value, list | tuple):
            raise _BadValueError(f"expected a list, found {shown(value)}")
        path, element = self._path, get_args(cls)[0]
        return tuple(self._element(entry, element, item(path, i)) for i, entry in enumerate(value))

    def mapping(self, value: object, cls: Any) -> dict[str, Any]:
        """Hook for objects with free keys."""
        if not isinstance(value, dict):
            raise _BadValueError(f"expected an object, found {shown(value)}")
        path, element = self._path, get_args(cls)[1]
        return {key: self._element(entry, element, below(path, key)) for key, entry in value.items()}

    def _element(self, value: object, cls: Any, path: str) -> Any:
        with self.at(path):
            try:
                return self._structure(value, cls)
            except _BadValueError as error:
                self.problems.add(path, str(error))
                return self._empty(cls)


def _converter(structurer: Structurer) -> cattrs.Converter:
    converter = cattrs.Converter()

    def register(matches: Callable[[Any], bool], hook: Callable[[Any, Any], Any]) -> None:
        converter.register_structure_hook_func(matches, hook)

    register(attrs.has, structurer.instance)
    register(lambda cls: get_origin(cls) is tuple, structurer.sequence)
    register(lambda cls: get_origin(cls) is dict, structurer.mapping)
    register(lambda cls: get_origin(cls) in (Union, UnionType), _one_of)
    for primitive in _KINDS:
        converter.register_structure_hook(primitive, _scalar)
    return converter


def _scalar(value: object, cls: Any) -> Any:
    """Hook for text, numbers, booleans, and (by way of ``StrEnum``'s base class) choices."""
    if issubclass(cls, Enum):
        return _choice(value, cls)
    name, types, _ = _KINDS[cls]
    if not isinstance(value, types) or (isinstance(value, bool) and cls is not bool):
        hint = "; put it in quotes" if cls is str and isinstance(value, bool | int | float) else ""
        raise _BadValueError(f"expected {name}, found {shown(value)}{hint}")
    return _as_float(value) if cls is float else value


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise _BadValueError("the number is too large") from error


def _choice(value: object, cls: type[Enum]) -> Enum:
    words = [str(member.value) for member in cls]
    if not isinstance(value, str):
        raise _BadValueError(f"expected one of {listed(words)}, found {shown(value)}")
    if value not in words:
        allowed = f"allowed: {listed(words)}"
        hint = suggestion(value, words)
        raise _BadValueError(f"'{value}' is not one of them; " + (hint if hint == allowed else f"{hint} ({allowed})"))
    return cls(value)


def _one_of(value: object, cls: Any) -> Any:
    """Hook for ``X | None`` and for the scalars of ``backfill``."""
    members = get_args(cls)
    if value is None and NoneType in members:
        return None
    others = [member for member in members if member is not NoneType]
    if len(others) == 1:
        return _scalar(value, others[0])
    if isinstance(value, bool | int | float | str):
        return value
    raise _BadValueError(f"expected text, a number, true or false, found {shown(value)}")


def _check_limits(value: object, field: "attrs.Attribute[Any]") -> None:
    if field.default is attrs.NOTHING and value in ("", (), {}):
        raise _BadValueError(f"must not be empty; {field.metadata['doc']}")
    if isinstance(value, float) and not math.isfinite(value):
        raise _BadValueError("must be a finite number")
    limits: dict[str, Any] = field.metadata["limits"]
    if "enum" in limits and value not in limits["enum"]:
        raise _BadValueError(f"found {shown(value)}; allowed: {listed(str(word) for word in limits['enum'])}")
    if isinstance(value, int | float):
        _check_range(value, limits)


def _check_range(value: float, limits: dict[str, Any]) -> None:
    low, high, above = (limits.get(key) for key in ("minimum", "maximum", "exclusiveMinimum"))
    if above is not None and value <= above:
        raise _BadValueError(f"must be above {above}, found {value}")
    if above is not None and high is not None and value > high:
        raise _BadValueError(f"must be above {above} and at most {high}, found {value}")
    if low is not None and high is not None and not low <= value <= high:
        raise _BadValueError(f"must be from {low} to {high}, found {value}")
    if low is not None and value < low:
        raise _BadValueError(f"must be at least {low}, found {value}")
