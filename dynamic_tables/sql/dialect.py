"""The dialect of SQL in which definitions and statements are written."""

from sqlglot import TokenType
from sqlglot.dialects.snowflake import Snowflake
from sqlglot.parsers.snowflake import SnowflakeParser


class DefinitionParser(SnowflakeParser):
    """The parser of Snowflake's SQL, in which WINDOW behind a table is not the alias of the table."""

    TABLE_ALIAS_TOKENS = SnowflakeParser.TABLE_ALIAS_TOKENS - {TokenType.WINDOW}


class DefinitionDialect(Snowflake):
    """Snowflake's SQL with the clause WINDOW."""

    Parser = DefinitionParser
