"""A receipt that was opened in a browser, as its reader meets it."""

from __future__ import annotations

from typing import Any

CASE = "granian/get_item/w1/c100"

OPEN = """async ([run, id, metric]) => {
    const from = document.querySelector("a");
    from.focus();
    await lapsheet.part("receipt.js");
    await lapsheet.receipt({ run, case: id, metric, from });
}"""


class Receipt:
    """An open receipt."""

    def __init__(self, found: Any, run: str, case: str = CASE, metric: str = "rps") -> None:
        self.found, self.page = found, found.page
        self.page.evaluate(OPEN, [run, case, metric])
        self.dialog = self.page.locator("dialog.ls-receipt[open]")
        self.dialog.locator(".ls-receipt-figure").wait_for()

    @property
    def text(self) -> str:
        return " ".join((self.dialog.text_content() or "").split())

    def verify(self) -> str:
        """Press Verify, and give the verdict."""
        self.dialog.get_by_role("button", name="Verify").click()
        return self.verdict()

    def verdict(self) -> str:
        self.dialog.locator(".ls-verify-verdict").wait_for()
        return str(self.dialog.locator(".ls-verify-verdict").text_content())

    def rows(self, table: str) -> list[list[str]]:
        """The cells of the body of a table, by its class or caption."""
        texts: list[list[str]] = self.dialog.locator(table).evaluate(
            "table => [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent))"
        )
        return texts

    @property
    def outcome(self) -> dict[str, list[str]]:
        """What Verify said, by the first cell of its row."""
        return {row[0]: row[1:] for row in self.rows(".ls-verify-table")}
