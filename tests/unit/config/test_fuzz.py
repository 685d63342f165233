"""Whatever is wrong with a document, the answer is a `ConfigError` that names the place."""

import copy
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dms_iceberg.config.expressions import expression_problems
from dms_iceberg.config.parse import parse_config
from dms_iceberg.config.partition import PartitionError, parse_partition
from dms_iceberg.config.problems import below, item
from dms_iceberg.config.types import TypeTextError, canonical_type
from dms_iceberg.errors import ConfigError
from unit.config.config_documents import FULL, SAMPLE, to_document

FREE = ("tables", "properties", "table_properties", "op_words")
"""Objects whose keys are the user's own."""


def key_places(node: Any, path: str = "", parent: str = "") -> list[tuple[Any, str, str]]:
    """Every fixed key of a document: its object, itself, the key path of the object."""
    if isinstance(node, list):
        return [place for i, entry in enumerate(node) for place in key_places(entry, item(path, i))]
    if not isinstance(node, dict):
        return []
    own = [] if parent in FREE else [(node, key, path) for key in node]
    return own + [place for key, value in node.items() for place in key_places(value, below(path, key), key)]


def typed(word: str, kind: str, at: int, letter: str) -> str:
    at %= len(word)
    return {
        "drop": word[:at] + word[at + 1 :],
        "double": word[:at] + word[at] + word[at:],
        "replace": word[:at] + letter + word[at + 1 :],
        "swap": word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
    }[kind]


@settings(max_examples=300)
@given(data=st.data(), base=st.sampled_from([SAMPLE, FULL]))
def test_a_typing_error_in_one_key_is_named(data: st.DataObject, base: dict[str, Any]) -> None:
    document = copy.deepcopy(base)
    node, key, path = data.draw(st.sampled_from(key_places(document)))
    kind = data.draw(st.sampled_from(["drop", "double", "replace", "swap"]))
    wrong = typed(key, kind, data.draw(st.integers(0, 40)), data.draw(st.sampled_from("abcxyz_")))
    if wrong in node or wrong == key:
        return
    node[wrong] = node.pop(key)
    with pytest.raises(ConfigError) as caught:
        parse_config(document)
    named = [line for line in caught.value.problems if line.startswith(f"{below(path, wrong)}: unknown key; ")]
    assert len(named) == 1
    assert f"'{key}'" in named[0] or key in named[0].partition("allowed: ")[2].split(", ") or "did you mean" in named[0]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def value_places(node: Any) -> list[tuple[Any, Any]]:
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [place for key, value in list(entries) for place in [(node, key), *value_places(value)]]


@settings(max_examples=500)
@given(data=st.data(), base=st.sampled_from([SAMPLE, FULL]), value=ANYTHING)
def test_any_value_anywhere_is_accepted_or_a_config_error(data: st.DataObject, base: dict[str, Any], value: object) -> None:
    document = copy.deepcopy(base)
    node, key = data.draw(st.sampled_from(value_places(document)))
    node[key] = value
    try:
        config = parse_config(document, base="/data")
    except ConfigError as error:
        assert error.problems
        assert all(isinstance(line, str) and line for line in error.problems)
    else:
        assert parse_config(to_document(config), base="/data") == config


@settings(max_examples=300)
@given(ANYTHING)
def test_any_document(document: object) -> None:
    with pytest.raises(ConfigError):
        parse_config(document)


@settings(max_examples=500)
@given(st.text(max_size=40) | st.text(alphabet="ab(),.'`\"[]<>=-+*/;:?@${} \n01", max_size=30))
@example(text="0{:}")
def test_any_text_as_expression_type_or_partition(text: str) -> None:
    assert isinstance(expression_problems(text), list)
    for parse, error in ((canonical_type, TypeTextError), (parse_partition, PartitionError)):
        try:
            parse(text)
        except error as found:
            assert str(found)
