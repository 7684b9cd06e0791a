"""CSV, JSON and Parquet of a run say the same."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.synthetic import flawed, write_run
from hooks import loading
from hooks.catalogue import Entry
from hooks.exports import NAMES, export, names
from hooks.parquet import parquet_bytes
from hooks.view import View
from runner import store


@pytest.fixture
def view(tmp_path: Path) -> View:
    write_run(tmp_path, "ref-run", servers=4, mutate=flawed)
    found = loading.load(tmp_path, ["ref-run"])["ref-run"]
    assert isinstance(found, View)
    return found


REAL = sorted(path.parent for path in Path(__file__).parent.parent.glob(f"artifacts/ref-*/{store.MANIFEST}"))


@pytest.mark.parametrize("folder", REAL, ids=lambda folder: folder.name)
def test_parquet_is_the_csv_with_types(folder: Path) -> None:
    view = loading.load(folder.parent, [folder.name])[folder.name]
    assert isinstance(view, View)
    exports = export(view)
    assert list(exports) == list(NAMES)
    for name in ("summary", "samples"):
        read = pd.read_csv(io.BytesIO(exports[f"{name}.csv"]), keep_default_na=False, dtype=str)
        typed = pd.read_parquet(io.BytesIO(exports[f"{name}.parquet"]), dtype_backend="numpy_nullable")
        assert list(typed.columns) == list(read.columns)
        assert len(typed) == len(read) > 0
        for column in typed.columns:
            for told, value in zip(read[column], typed[column], strict=True):
                if value is pd.NA:
                    assert told == ""
                elif isinstance(value, str):
                    assert told.removeprefix("'") == value.removeprefix("'")
                elif str(value) in ("True", "False"):
                    assert told == str(value).lower()
                else:
                    assert float(told) == value


def test_parquet_has_the_figures_types(view: View) -> None:
    frame = pd.read_parquet(io.BytesIO(export(view)["summary.parquet"]))
    assert frame["median"].dtype == frame["band"].dtype == "float64"
    assert frame["n"].dtype == frame["wanted"].dtype == "int64"
    assert frame["floor"].dtype == "bool"
    nullable = pd.read_parquet(io.BytesIO(export(view)["summary.parquet"]), dtype_backend="numpy_nullable")
    assert nullable["tier"].dtype == "Int64"
    assert nullable["tier"].isna().any()  # what has no tier
    assert frame["median"].isna().any()  # what always failed
    rows = json.loads(export(view)["summary.json"])["rows"]
    assert [row["tier"] for row in rows] == [None if tier is pd.NA else tier for tier in nullable["tier"]]


def test_same_columns_are_the_same_bytes(view: View) -> None:
    assert export(view) == export(view)


def test_local_run_has_no_parquet(view: View) -> None:
    local, pinned = Entry(view), Entry(view, pins=("rest",))
    assert list(names(pinned)) == list(NAMES)
    assert list(names(local)) == ["summary.csv", "summary.json", "samples.csv"]
    whole = export(view)
    assert export(view, names(local)) == {name: whole[name] for name in names(local)}


def test_column_without_any_value_keeps_its_type() -> None:
    data = parquet_bytes(
        {
            "tier": [None],
            "band": [None],
            "metric": [None],
            "load": [
                1,
            ],
        }
    )
    frame = pd.read_parquet(io.BytesIO(data), dtype_backend="numpy_nullable")
    assert [str(kind) for kind in frame.dtypes] == ["Int64", "Float64", "string", "Int64"]


def test_numbers_and_names_in_one_column_are_text() -> None:
    data = parquet_bytes({"load": ["closed", 50, None]})
    frame = pd.read_parquet(io.BytesIO(data), dtype_backend="numpy_nullable")
    assert frame["load"].tolist() == ["closed", "50", pd.NA]
