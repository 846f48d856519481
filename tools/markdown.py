"""Tables in Markdown."""

from collections.abc import Collection, Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], to_the_right: Collection[str] = ()) -> str:
    r"""Return a table in Markdown; a `|` in a cell is escaped.

    >>> print(table(("kind", "games"), [("a|b", "12")], ("games",)))
    | kind | games |
    | --- | ---: |
    | a\|b | 12 |

    Args:
        head: Names of the columns.
        rows: Cells of each row.
        to_the_right: Names of the columns that are aligned to the right.
    """
    rule = ["---:" if name in to_the_right else "---" for name in head]
    cells = ([cell.replace("|", r"\|") for cell in row] for row in (head, rule, *rows))
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
