"""Which copy of each bundled package was imported: Glue and Spark have packages of their own, which may come first on the path."""

import zipfile
from collections.abc import Mapping, Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from dms_iceberg import __version__
from dms_iceberg.doctor.finding import Finding, Verdict

_OWN = "dms_iceberg"

_METADATA = ".dist-info/METADATA"
_ADVICE = (
    "The job was tested with the bundled version. Remove the other one from --additional-python-modules, from the image or from the "
    "cluster, or put the job's zips before it."
)


def examine_packages(path: Sequence[str], modules: Mapping[str, ModuleType]) -> Finding:
    """Return whether each package that the job's zips have is imported from them, or is of the same version.

    Args:
        path: ``sys.path``.
        modules: ``sys.modules``.
    """
    subject = f"packages of dms-iceberg {__version__}"
    zips = [entry for entry in path if entry.endswith(".zip") and zipfile.is_zipfile(entry) and _is_of_the_job(entry)]
    if not zips:
        return Finding(subject, Verdict.OK, f"installed in {_folder_of(_OWN, modules)}; no zip of the job is on the path")
    others = [text for entry in zips for text in _other_copies(entry, modules)]
    if others:
        return Finding(subject, Verdict.WRONG, "; ".join(others), _ADVICE)
    return Finding(subject, Verdict.OK, f"imported from {', '.join(zips)}")


def _is_of_the_job(entry: str) -> bool:
    return any(name.startswith(f"{_OWN}/") or name.endswith(_METADATA) for name in zipfile.ZipFile(entry).namelist())


def _other_copies(entry: str, modules: Mapping[str, ModuleType]) -> list[str]:
    bundled, owners, found = _versions(entry), metadata.packages_distributions(), []
    roots = {name.split("/")[0] for name in zipfile.ZipFile(entry).namelist()}
    for name in sorted(root.removesuffix(".py") for root in roots if not root.endswith(".dist-info")):
        folder = _folder_of(name, modules)
        if folder in (None, entry):
            continue
        there = _versions(str(folder))
        pairs = [(bundled.get(one), there.get(one)) for one in map(_plain, owners.get(name, ()))]
        if not any(ours == theirs is not None for ours, theirs in pairs):
            ours, theirs = next((pair for pair in pairs if None not in pair), (None, None))
            found.append(f"{name} is imported from {folder} ({theirs or 'unknown version'}), not from {entry} ({ours or __version__})")
    return found


def _versions(entry: str) -> dict[str, str]:
    # A package that was removed badly leaves a folder without a name.
    found = metadata.distributions(path=[entry])
    return {_plain(names[0]): one.version for one in found if (names := one.metadata.get_all("Name"))}


def _plain(name: str) -> str:
    return name.replace("-", "_").lower()


def _folder_of(name: str, modules: Mapping[str, ModuleType]) -> str | None:
    """Return the folder or zip that a top-level module comes from, or would come from; None for a namespace package."""
    file = modules[name].__file__ if name in modules else getattr(find_spec(name), "origin", None)
    if file is None:
        return None
    place = Path(file)
    return str(place.parent.parent if place.name == "__init__.py" else place.parent)
