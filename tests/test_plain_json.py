"""The quick JSON gives what `json` gives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import touchline
from touchline.plain_json import dumps, loads

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(value=values, sort=st.booleans())
def test_written_and_read_as_usual(value: Any, sort: bool) -> None:
    assert dumps(value, sort_keys=sort) == json.dumps(value, sort_keys=sort)
    assert loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")) == json.loads(
        json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    )


@given(raw=st.binary() | st.text(alphabet='{}[]",:1 \\\n').map(str.encode))
def test_the_same_is_refused(raw: bytes) -> None:
    try:
        usual = json.loads(raw.decode("utf-8", "replace"))
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011
            loads(raw)
    else:
        assert repr(loads(raw)) == repr(usual)


@pytest.mark.parametrize("raw", ["{", "", "[1,", '{"a" 1}', '"', "tru", "1 2"])
def test_errors_are_errors_in_a_process_that_never_loaded_json(raw: str) -> None:
    program = f"""
import sys
sys.path.append({str(Path(touchline.__file__).parents[1])!r})
from touchline.plain_json import loads
assert "json" not in sys.modules
try:
    loads({raw.encode()!r})
except ValueError:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "refused\n", done.stderr
