"""What comes next for a table: every action, and every pair that could come in two orders. Without Spark."""

from datetime import UTC, datetime
from typing import Any

import attrs
import pytest

from dms_iceberg.bronze.keys import BronzeFile, parse_key
from dms_iceberg.config.model import Batch, Table
from dms_iceberg.context import BranchState, RunRequest
from dms_iceberg.errors import BronzeError, DmsIcebergError, TargetError
from dms_iceberg.loads.load_marker import LoadMarker
from dms_iceberg.loads.no_files import NoFiles
from dms_iceberg.progress.pending import Pending, RecordBatch
from dms_iceberg.progress.progress import LookBack, Progress
from dms_iceberg.runs.actions import (
    Action,
    ApplyTruncate,
    CompleteLoad,
    CreateTable,
    Done,
    DropBranches,
    EvolveSchema,
    MergeBatch,
    PublishRebuild,
    ReadFiles,
    RecordTruncate,
    RenameColumns,
    ResolveRejected,
    RestoreBackfills,
    SkipFiles,
    SwitchMode,
    Wait,
)
from dms_iceberg.runs.plan import MOST_COMPARISONS, plan
from dms_iceberg.runs.predict import after
from dms_iceberg.runs.state import OpenedBatch, RunMemory, TableState
from dms_iceberg.silver.rename import RenameColumn
from dms_iceberg.silver.schema_diff import AddColumn, SchemaPlan
