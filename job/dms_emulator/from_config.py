"""A task's settings, taken from the job's document, so that both always agree about the files."""

import re
from pathlib import Path

from dms_emulator.layout import BeforeImages, CsvShape, FileShape
from dms_iceberg.config.model import Bronze, Config
from dms_iceberg.config.paths import local_path, scheme


def file_shape(
    bronze: Bronze, *, gzip: bool = False, op_on_full_load: bool = True, before_images: BeforeImages = BeforeImages.PK_ONLY
) -> FileShape:
    """Return the shape of files that ``bronze`` describes.

    Args:
        bronze: format, CSV options and names of the service columns.
        gzip: compress the files.
        op_on_full_load: write ``Op`` into LOAD files.
        before_images: which columns have a before-image, if the document names a prefix.
    """
    change, csv = bronze.change, bronze.csv
    return FileShape(
        format=bronze.format.value,
        op_column=change.op_column,
        # The document maps the words in the files to I, U and D. If several words mean the same, the first is written.
        op_words={letter: word for word, letter in reversed(change.op_words.items())},
        op_on_full_load=op_on_full_load,
        timestamp_column=change.timestamp_column,
        sequence_column=change.sequence_column,
        stream_position_column=change.stream_position_column,
        before_image_prefix=change.before_image_prefix,
        before_images=before_images,
        csv=CsvShape(header=csv.header, delimiter=csv.delimiter, null=csv.null, no_supplement=csv.no_supplement, rfc4180=csv.rfc4180),
        gzip=gzip,
    )


def default_state_dir(config: Config) -> Path | None:
    """Return ``emulator/<pipeline>`` beside the job's own state; None if that is not a local folder."""
    if scheme(config.state_uri) not in ("", "file"):
        return None
    return Path(local_path(config.state_uri)) / "emulator" / config.pipeline


def default_slot(config: Config) -> str:
    """Return a slot name that is derived from the pipeline's."""
    return "dms_" + re.sub("[^a-z0-9_]", "_", config.pipeline.lower())[:59]
