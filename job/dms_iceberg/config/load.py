"""Read the configuration document from a path, ``file://`` or ``s3://``."""

import json
from pathlib import Path
from typing import Any

from dms_iceberg.config.model import Config
from dms_iceberg.config.parse import parse_config
from dms_iceberg.config.paths import S3_SCHEMES, check_uri, escaped, folder_of, local_path, scheme
from dms_iceberg.config.problems import Problems
from dms_iceberg.errors import ConfigError

_YAML_NAMES = (".yaml", ".yml")


def load_config(uri: str) -> Config:
    """Read, parse and check a configuration document.

    Args:
        uri: ``s3://bucket/key``, ``file:///path`` or a path. A document is YAML if its name ends in ``.yaml`` or
            ``.yml``, otherwise JSON.

    Raises:
        ConfigError: the document cannot be read, is not JSON or YAML, or has problems, all of which are listed.
    """
    try:
        check_uri(uri)
    except ValueError as error:
        raise ConfigError([str(error)], escaped(uri)) from error
    text = _decode(_read(uri), uri)
    document = _load_yaml(text, uri) if uri.lower().endswith(_YAML_NAMES) else _load_json(text, uri)
    return parse_config(document, source=uri, base=folder_of(uri))


def _read(uri: str) -> bytes:
    if scheme(uri) in S3_SCHEMES:
        from dms_iceberg.config.s3 import read_object

        return read_object(uri)
    if scheme(uri) not in ("", "file"):
        raise ConfigError([f"cannot read '{scheme(uri)}:'; use s3://, file:// or a path"], uri)
    path = Path(local_path(uri))
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ConfigError([f"the file does not exist: {path.absolute()}"], uri) from error
    except OSError as error:
        raise ConfigError([f"the file cannot be read: {error.strerror}"], uri) from error


def _decode(data: bytes, uri: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError([f"not UTF-8 at byte {error.start}; save the document as UTF-8"], uri) from error


def _load_json(text: str, uri: str) -> object:
    problems = Problems()

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, value in pairs:
            if key in out:
                problems.add("", f"the key '{escaped(key)}' appears twice in one object; only one of them can count")
            out[key] = value
        return out

    def no_constant(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    try:
        document = json.loads(text, object_pairs_hook=unique, parse_constant=no_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ConfigError([f"not valid JSON at {place}: {error.msg}"], uri) from error
    except ValueError as error:
        raise ConfigError([f"not valid JSON: {error}"], uri) from error
    except RecursionError as error:
        raise ConfigError(["not valid JSON: nested too deeply"], uri) from error
    if problems.lines:
        raise ConfigError(problems.lines, uri)
    return document


def _load_yaml(text: str, uri: str) -> object:
    from dms_iceberg.config.yaml_document import load_yaml

    return load_yaml(text, uri)
