"""Records of columnar formats: Parquet, Arrow, and data frames."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

from tagtopic._core.optional import require
from tagtopic.corpus.reading.errors import BadRow, ReadError
from tagtopic.corpus.reading.lines import Record

BATCH = 1024  # rows turned into Python values at a time
FEATHER_1 = b"FEA1"

# what pyarrow raises on damaged files, and what decoding their strings can raise
DAMAGE = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError)


@dataclass(frozen=True)
class Table:
    """Column names, and a function that yields the records of some columns with the share read so far."""

    columns: list[str]
    records: Callable[[list[str]], Iterator[tuple[Record, float]]]


def parquet_table(path: Path) -> Table:
    """Open a Parquet file, which is read in batches of rows."""
    file = _opened(path, "Parquet", lambda: pyarrow.parquet.ParquetFile(path))
    total = max(1, file.metadata.num_rows)

    def records(columns: list[str]) -> Iterator[tuple[Record, float]]:
        with file:
            yield from _records(file.iter_batches(batch_size=BATCH, columns=columns), columns, total, path, "Parquet")

    return Table(list(file.schema_arrow.names), records)


def arrow_table(path: Path) -> Table:
    """Open an Arrow or Feather file, memory-mapped, or an Arrow stream."""
    if path.stat().st_size == 0:
        raise ReadError(f"{path} is empty: not even an Arrow file without rows is")
    schema, batches, total = _opened(path, "Arrow", lambda: _arrow_batches(path))

    def records(columns: list[str]) -> Iterator[tuple[Record, float]]:
        yield from _records((batch.select(columns) for batch in batches), columns, total, path, "Arrow")

    return Table(list(schema.names), records)


def excel_table(path: Path) -> Table:
    """Open the first sheet of a spreadsheet; its first row that is not empty has the names of the columns."""
    require("python_calamine", extra="excel", purpose="reading a spreadsheet")
    import python_calamine

    try:
        sheet = python_calamine.CalamineWorkbook.from_path(path).get_sheet_by_index(0)
        rows = [list(row) for row in sheet.to_python(skip_empty_area=False)]
    except (python_calamine.CalamineError, OSError, ValueError, IndexError) as error:
        raise ReadError(f"{path} is not a readable spreadsheet: {_first_line(error)}") from None
    header = next((i for i, row in enumerate(rows) if any(cell != "" for cell in row)), len(rows))
    columns = [str(cell).strip() for cell in rows[header]] if header < len(rows) else []

    def records(selected: list[str]) -> Iterator[tuple[Record, float]]:
        places = {name: columns.index(name) for name in selected}
        for number, row in enumerate(rows[header + 1 :], header + 2):
            if any(cell != "" for cell in row):
                values = {name: None if row[place] == "" else row[place] for name, place in places.items()}
                yield (number, values), number / len(rows)

    return Table(columns, records)


def _arrow_batches(path: Path) -> tuple[Any, Iterable[Any], int]:
    source = pa.memory_map(str(path))
    if source.read(4) == FEATHER_1:
        table = pyarrow.feather.read_table(path)
        return table.schema, table.to_batches(), table.num_rows
    source.seek(0)
    try:
        file = pyarrow.ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        stream = pyarrow.ipc.open_stream(source)
        return stream.schema, stream, 0
    rows = (file.get_batch(i) for i in range(file.num_record_batches))
    return file.schema, rows, 0


def _opened(path: Path, kind: str, function: Callable[[], Any]) -> Any:
    try:
        return function()
    except FileNotFoundError:
        raise
    except DAMAGE as error:
        raise ReadError(f"{path} is not a readable {kind} file: {_first_line(error)}") from None


def _records(
    batches: Iterable[Any], columns: list[str], total: int, path: Path | None, kind: str
) -> Iterator[tuple[Record, float]]:
    done = 0
    iterator = iter(batches)
    while True:
        try:
            batch = next(iterator, None)
            if batch is None:
                return
            batch.validate(full=True)  # damaged offsets would reach past the buffers
        except DAMAGE as error:
            raise ReadError(
                f"{path or 'the table'}, after row {done}: damaged {kind} data: {_first_line(error)}"
            ) from None
        for start in range(0, batch.num_rows, BATCH):
            part = batch.slice(start, BATCH)
            for row in _rows({name: _values(part.column(name)) for name in columns}, part.num_rows):
                done += 1
                yield (done, row), done / total if total else 0.0


def _values(column: Any) -> list[Any]:
    try:
        return list(column.to_pylist())
    except DAMAGE as error:
        return [BadRow(f"cannot be read: {_first_line(error)}")] * len(column)


def _rows(columns: Mapping[str, list[Any]], n: int) -> Iterator[Mapping[str, Any] | BadRow]:
    for i in range(n):
        row = {name: values[i] for name, values in columns.items()}
        yield next((value for value in row.values() if isinstance(value, BadRow)), row)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


def frame_table(source: Any) -> Table | None:
    """Return a table in memory: pandas, polars, pyarrow, Hugging Face, any Arrow stream, or a list of dicts.

    None if it is none of these. Only libraries that the caller has imported already are imported.
    """
    if isinstance(source, list | tuple) and source and all(isinstance(row, Mapping) for row in source):
        return _list_table(source)
    if type(source).__module__.partition(".")[0] == "datasets":
        return _hugging_face_table(source)
    if isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return stream_table(source)
    table = _narwhals_table(source)
    if table is None and hasattr(source, "__arrow_c_stream__"):
        return stream_table(source)
    return table


def _list_table(source: Any) -> Table:
    columns = list(dict.fromkeys(str(name) for row in source for name in row))

    def records(_: list[str]) -> Iterator[tuple[Record, float]]:
        for i, row in enumerate(source, start=1):
            yield (i, row), i / len(source)

    return Table(columns, records)


def _hugging_face_table(source: Any) -> Table:
    if isinstance(source, Mapping):
        raise ReadError(f"this is several datasets; choose one, as in dataset[{next(iter(source), 'train')!r}]")
    names = source.column_names
    if names is None:  # a stream that does not know its columns until it is read
        names = list(next(iter(source.take(1)), {}))

    def records(columns: list[str]) -> Iterator[tuple[Record, float]]:
        total = len(source) if hasattr(source, "__len__") else 0
        done = 0
        for batch in source.select_columns(columns).with_format(None).iter(batch_size=BATCH):
            for row in _rows(batch, len(next(iter(batch.values())))):
                done += 1
                yield (done, row), done / total if total else 0.0

    return Table(list(names), records)


def stream_table(source: Any) -> Table:
    """Return an Arrow table, or anything with the Arrow stream interface."""
    if isinstance(source, pa.RecordBatchReader):
        reader, total = source, 0
    elif isinstance(source, pa.RecordBatch):
        reader, total = pa.Table.from_batches([source]).to_reader(), source.num_rows
    elif isinstance(source, pa.Table):
        reader, total = source.to_reader(), source.num_rows
    else:
        reader, total = pa.RecordBatchReader.from_stream(source), 0

    def records(columns: list[str]) -> Iterator[tuple[Record, float]]:
        yield from _records((batch.select(columns) for batch in reader), columns, total, None, "Arrow")

    return Table(list(reader.schema.names), records)


def _narwhals_table(source: Any) -> Table | None:
    import narwhals as nw  # only when it is needed: it takes a while

    frame = nw.from_native(source, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        names = frame.collect_schema().names()
    elif isinstance(frame, nw.DataFrame):
        names = frame.columns
    else:
        return None

    index = _index_ids(source, names)
    if index is not None:
        names = [*names, "id"]

    def records(columns: list[str]) -> Iterator[tuple[Record, float]]:
        chosen = frame.select([name for name in columns if index is None or name != "id"])
        table = chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen
        for start in range(0, len(table), BATCH):
            part = table[start : start + BATCH]
            values = {name: part[name].to_list() for name in part.columns}
            if index is not None and "id" in columns:
                values["id"] = index[start : start + len(part)]
            for i, row in enumerate(_rows(values, len(part)), start=start + 1):
                yield (i, row), i / len(table)

    return Table([str(name) for name in names], records)


def _index_ids(source: Any, names: list[str]) -> list[Any] | None:
    """The labels of a pandas index, which are the ids if there is no column `id`; None for a plain numbering."""
    index = getattr(source, "index", None)
    if index is None or "id" in names or not hasattr(index, "to_list") or type(index).__name__ == "RangeIndex":
        return None
    labels = index.to_list()
    return None if any(isinstance(label, tuple) for label in labels) else labels
