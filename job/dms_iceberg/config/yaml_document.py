"""Read YAML documents so that they mean the same as the equivalent JSON."""

from typing import Any

import yaml

from dms_iceberg.errors import ConfigError

_TIMESTAMP = "tag:yaml.org,2002:timestamp"


class _Loader(yaml.SafeLoader):
    """A safe loader without dates (``2024-01-01`` stays text) that refuses duplicate keys."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - declared so by PyYAML
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Construct a mapping; the key ``null`` (in the ``csv`` section) stays a text, as in JSON."""
        self.flatten_mapping(node)
        out: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = "null" if key_node.value == "null" else self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is not text; put it in quotes", key_node.start_mark)
            if key in out:
                raise yaml.constructor.ConstructorError(None, None, f"the key '{key}' appears twice in one object", key_node.start_mark)
            out[key] = self.construct_object(value_node, deep=deep)
        return out


def load_yaml(text: str, uri: str) -> object:
    """Return the document in ``text``.

    Raises:
        ConfigError: it is not a single YAML document; the message has line and column.
    """
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a subclass of SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError([f"not valid YAML{place}: {error.problem}"], uri) from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError([f"not valid YAML: {error}"], uri) from error
    except RecursionError as error:
        raise ConfigError(["not valid YAML: nested too deeply"], uri) from error
