"""Which folder may be meant where that of a table has no file."""

from pathlib import Path

import pytest

from dms_iceberg.bronze.nearest_folders import whereabouts
from dms_iceberg.storage.open_store import open_store


@pytest.mark.parametrize(
    ("folders", "words"),
    [
        (("public/word/", "public/worm/"), "public/: word, worm; 'word' has no file that DMS writes"),
        (("public/word/_temporary/",), "public/: word; 'word' has no file that DMS writes"),
        (("public/", "publik/"), "/: public, publik; 'public' has no file that DMS writes"),
        (("public/worm/",), "public/: worm; did you mean 'worm'?"),
        (("publik/word/",), "/: publik; did you mean 'publik'?"),
        ((), "nothing at all lies below"),
    ],
)
def test_an_empty_folder_is_not_proposed_for_itself(tmp_path: Path, folders: tuple[str, ...], words: str) -> None:
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
    assert words in whereabouts(open_store(f"file://{tmp_path}"), "public", "word")
