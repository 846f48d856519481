"""Results as tables: pandas frames and CSV, with one row per measurement."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, ClassVar

from mancala_env._util.command_line import needing

if TYPE_CHECKING:
    import pandas


class Tabular:
    """Base class of results that are tables.

    Attributes:
        COLUMNS: The columns of the class; a class whose results differ overrides `columns` instead.
    """

    COLUMNS: ClassVar[Mapping[str, str]] = {}

    @property
    def columns(self) -> Mapping[str, str]:
        """Meaning and unit of each column, by name."""
        return self.COLUMNS

    def _rows(self) -> Iterable[Sequence[Any]]:
        """Yield the values of each row, in the order of `columns`."""
        raise NotImplementedError

    def as_rows(self) -> list[dict[str, Any]]:
        """Return each row as a dictionary by column; a missing value is None."""
        names = list(self.columns)  # once: some classes derive them from all rows
        return [dict(zip(names, row, strict=True)) for row in self._rows()]

    def to_frame(self) -> "pandas.DataFrame":
        """Return a pandas frame with one row per measurement.

        The attribute `columns` describes the columns. A missing value is None or NaN.

        Raises:
            ImportError: If pandas is not installed.
        """
        with needing("to_frame()", None, "pandas"):
            import pandas
        return pandas.DataFrame(self.as_rows(), columns=pandas.Index(self.columns))

    def write_csv(self, file: IO[str]) -> None:
        """Write the same table as CSV with a line of column names; a missing value is empty."""
        writer = csv.DictWriter(file, [*self.columns], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.as_rows())


class TableRows(Tabular):
    """A table, from the meanings of its columns and its rows."""

    def __init__(self, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> None:
        self._columns, self._all = columns, [*rows]

    @property
    def columns(self) -> Mapping[str, str]:
        """Meaning of each column, by name."""
        return self._columns

    def _rows(self) -> Iterable[Sequence[Any]]:
        return self._all


def named_interval(name: str, meaning: str) -> dict[str, str]:
    """Return the columns of a value and of both ends of its 95 % interval."""
    end = "end of its 95 % interval"
    return {name: meaning, f"{name}_low": f"Lower {end}", f"{name}_high": f"Upper {end}"}
