"""Tables in Markdown."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], num_left: int = 1) -> str:
    """Return a Markdown table; all columns but the first `num_left` are aligned to the right."""
    lines = [head, ["---"] * num_left + ["---:"] * (len(head) - num_left), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
