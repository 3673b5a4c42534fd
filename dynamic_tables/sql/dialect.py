"""The dialect of SQL in which definitions and statements are written."""

from sqlglot import TokenType
from sqlglot.dialects.snowflake import Snowflake
from sqlglot.parsers.snowflake import SnowflakeParser

# The key of a function's name, as it is written, in the metadata of its node.
WRITTEN_NAME = "name"


class DefinitionParser(SnowflakeParser):
    """The parser of Snowflake's SQL, in which WINDOW behind a table is not the alias of the table."""

    TABLE_ALIAS_TOKENS = SnowflakeParser.TABLE_ALIAS_TOKENS - {TokenType.WINDOW}

    def _warn_unsupported(self) -> None:
        """Leave out the parser's warning about a statement that it does not know, which is refused."""


class DefinitionDialect(Snowflake):
    """Snowflake's SQL with the clause WINDOW; functions keep the names by which they are written."""

    ORIGINAL_NAME_META_KEY = WRITTEN_NAME
    PRESERVE_ORIGINAL_NAMES = True  # the same, in the first releases of sqlglot 30
    Parser = DefinitionParser
