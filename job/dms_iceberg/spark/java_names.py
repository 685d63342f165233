"""Remembers Java's packages and classes.

Py4J asks Java what each part of ``jvm.org.apache.iceberg.BaseTable`` is, each time, and so does PySpark for each expression and list. Java
looks for a class ``org`` and a class ``org.apache`` in every jar, and finds none: a tenth of a small batch's processor time.
"""

from typing import Any

from py4j.java_gateway import JavaPackage, JVMView, is_magic_member


class _Remembering:
    """Keeps what it has found as its own attribute, so that Python asks no second time."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)  # type: ignore[misc]
        if not is_magic_member(name):
            if type(found) is JavaPackage:
                found.__class__ = _Package
            setattr(self, name, found)
        return found


class _Package(_Remembering, JavaPackage):  # type: ignore[misc]
    pass


class _View(_Remembering, JVMView):  # type: ignore[misc]
    pass


def remember_names(jvm: Any) -> None:
    """Cache the packages and classes of a JVM view; each must be on the class path already."""
    if type(jvm) is JVMView:
        jvm.__class__ = _View
