"""Tables as an Office Open XML workbook; a spreadsheet calculates no text in it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from fabricc.base.foreign.text import visible_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDEST = 60


class NoWorkbookError(Exception):
    """The library that writes workbooks is not installed."""


def build_workbook(sheets: Iterable[tuple[str, Sequence[Sequence[object]]]]) -> bytes:
    """Sheets of a name and rows each, the first row its head, as the bytes of an `.xlsx`.

    Raises:
        NoWorkbookError: openpyxl is not installed.
    """
    try:
        import openpyxl  # an extra that need not be installed
    except ImportError:
        raise NoWorkbookError from None
    book = openpyxl.Workbook(write_only=True)
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        sheet.freeze_panes = "A2"
        for column, values in enumerate(zip(*rows, strict=True), start=1):
            width = max(len(str(value)) for value in values) + 2
            sheet.column_dimensions[openpyxl.utils.get_column_letter(column)].width = min(width, WIDEST)
        for number, row in enumerate(rows):
            cells = [openpyxl.cell.WriteOnlyCell(sheet, value=_cell_value(value)) for value in row]
            for cell in cells:
                if isinstance(cell.value, str):
                    cell.data_type = "s"  # also of a text that begins like a formula
                if number == 0:
                    cell.font = openpyxl.styles.Font(bold=True)
            sheet.append(cells)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _cell_value(value: object) -> str | int | float | None:
    return value if isinstance(value, int | float | None) else visible_text(str(value))
