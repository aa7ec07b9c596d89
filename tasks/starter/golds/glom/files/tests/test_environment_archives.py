"""Environment test of cligym's starter pack: targets come out of compressed files too."""

import importlib
import json

import pytest

from glom import glom


@pytest.mark.parametrize("module", ["bz2", "gzip", "lzma"])
def test_target_from_a_compressed_file(tmp_path, module):
    library = importlib.import_module(module)
    path = tmp_path / "target.json"
    path.write_bytes(library.compress(json.dumps({"a": {"b": [1, 2, 3]}}).encode()))
    with library.open(path, "rt") as stream:
        assert glom(json.load(stream), "a.b.2") == 3
