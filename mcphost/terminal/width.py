"""How wide text is on a terminal: Chinese characters and emoji take two columns."""

from rich.cells import cell_len, set_cell_size


def cut(text: str, columns: int) -> str:
    """`text` in at most `columns` columns, with an ellipsis where something was cut."""
    if cell_len(text) <= columns:
        return text
    return set_cell_size(text, max(columns - 1, 0)).rstrip() + "…"
