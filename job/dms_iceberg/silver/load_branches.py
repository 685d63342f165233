"""The branches on which loads and rebuilds are built beside a table's content."""

from dms_iceberg.silver.table import TargetTable

_BRANCH = "dms_iceberg_epoch_"
REBUILD_BRANCH = "dms_iceberg_rebuild_"
"""Prefix of the branches of rebuilds (`rebuild`). A complete load removes them, because nothing is left to rebuild."""


def branch_of(epoch: int, reload: int = 0) -> str:
    """Return the name of the branch on which a load is built: that of an epoch, or of its n-th reload in place."""
    return f"{_BRANCH}{epoch}_{reload}" if reload else f"{_BRANCH}{epoch}"


def building(target: TargetTable) -> list[str]:
    """Return the loads that are being built beside the table's content, as ``epoch`` or ``epoch.reload``, in order."""
    return list(branches_of_loads(target))


def branches_of_loads(target: TargetTable) -> dict[str, str]:
    """Return the branches of the loads that are being built, by the names that `building` gives the loads, in order."""
    return {".".join(map(str, load)): name for load, name in sorted(loads_by_branch(target).items())}


def loads_by_branch(target: TargetTable) -> dict[tuple[int, ...], str]:
    """Return the branches of loads that are being built, by epoch, or by epoch and number of the reload in place."""
    names = [name for name in target.branches() if name.startswith(_BRANCH)]
    return {tuple(map(int, name.removeprefix(_BRANCH).split("_"))): name for name in names}


def later_branches(target: TargetTable) -> list[str]:
    """Return the branches on which loads of later epochs than the content's are built."""
    return [name for load, name in sorted(loads_by_branch(target).items()) if load[0] > target.progress().epoch]


def reloads_in_place(target: TargetTable) -> list[str]:
    """Return the branches on which reloads in place of the content's epoch are built."""
    return [name for load, name in sorted(loads_by_branch(target).items()) if load[0] == target.progress().epoch]


def rebuild_branches(target: TargetTable) -> list[str]:
    """Return the branches of rebuilds that are not done."""
    return sorted(name for name in target.branches() if name.startswith(REBUILD_BRANCH))
