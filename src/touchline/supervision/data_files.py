"""What stands in a data file beside the rules? Without `pathlib`: a stop in an agent's hook waits for every import."""

from __future__ import annotations

from touchline.plain_os import dirname, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from touchline.errors import DataFileError


def data_path(name: str) -> str:
    """Where a file of this folder is."""
    return join(dirname(__file__), name)


def data_text(name: str) -> str:
    """Its text."""
    with open(data_path(name), encoding="utf-8") as file:
        return file.read()


def unusable(what: str) -> DataFileError:
    """The error of a file that says something else than it should; who never meets one does not load all errors."""
    from touchline.errors import DataFileError

    return DataFileError(f"{what}.", hint="Reinstall Touchline.")
