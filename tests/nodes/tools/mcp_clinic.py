"""A small MCP server over its standard streams; run as a program."""

from pathlib import Path

from mcp.server.fastmcp import FastMCP

clinic = FastMCP("clinic", log_level="ERROR")


@clinic.tool()
def opening_hours(day: str) -> dict[str, str]:
    """Tell when the clinic is open on a day."""
    return {"day": day, "hours": "9 to 5"}


@clinic.tool()
def book_visit(day: str, ledger: str) -> str:
    """Book a visit."""
    with Path(ledger).open("a") as book:
        book.write(f"{day}\n")
    return f"booked {day}"


@clinic.tool()
def breaks() -> str:
    """Fail."""
    raise RuntimeError("CANARY-mcp")


if __name__ == "__main__":
    clinic.run()
