"""Extensions of DuckDB: those that DuckDB has installed, and those that packages of the index contain."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import duckdb


def load_text(*extensions: str) -> str | None:
    """Return text that loads extensions into the connection `con`; None if one cannot be loaded.

    Nothing is downloaded.
    """
    # LOAD of a missing extension downloads it otherwise.
    connection, text = duckdb.connect(config={"autoinstall_known_extensions": "false"}), ""
    for extension in extensions:
        statement = _working_statement(connection, extension)
        if statement is None:
            return None
        text += f"con.execute({statement!r})\n"
    return text


def _working_statement(connection: duckdb.DuckDBPyConnection, extension: str) -> str | None:
    """Load an extension into a connection, and return the statement that did."""
    for statement in _load_statements(extension):
        try:
            connection.execute(statement)
        except duckdb.Error:
            continue
        return statement
    return None


def _load_statements(extension: str) -> list[str]:
    """Return the statements that may load an extension."""
    statements = [f"LOAD {extension}"]
    package = importlib.util.find_spec(f"duckdb_extension_{extension}")
    for folder in (package.submodule_search_locations or ()) if package else ():
        files = Path(folder).glob(f"extensions/v{duckdb.__version__}/{extension}.duckdb_extension")
        statements += [f"LOAD '{file}'" for file in files]
    return statements
