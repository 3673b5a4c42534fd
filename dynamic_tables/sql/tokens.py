"""A reader of short statements, token by token, on sqlglot's tokenizer."""

from sqlglot import Dialect, Token, TokenType
from sqlglot.errors import TokenError

from pruning.errors import InputError


class Tokens:
    """The tokens of one statement, read from the left."""

    def __init__(self, text: str, dialect: str) -> None:
        try:
            tokens = Dialect.get_or_raise(dialect).tokenize(text)
        except TokenError as error:
            raise InputError(f"this is no SQL: {error}") from None
        self.tokens: list[Token] = [token for token in tokens if token.token_type is not TokenType.SEMICOLON]
        self.text = text
        self.place = 0

    @property
    def first(self) -> str:
        """The first word, in upper case."""
        return self.tokens[0].text.upper() if self.tokens else ""

    def accept(self, *words: str) -> bool:
        """Read these words if they come next, and tell whether they did."""
        coming = self.tokens[self.place : self.place + len(words)]
        if [token.text.upper() for token in coming] != list(words):
            return False
        self.place += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Read these words.

        Raises:
            InputError: Other words come next.
        """
        if not self.accept(*words):
            raise InputError(f"{' '.join(words)} is expected {self.where()}")

    def one_of(self, *phrases: str) -> str:
        """Read one of several phrases, of which the longest must be given first.

        Raises:
            InputError: None of them comes next.
        """
        for phrase in phrases:
            if self.accept(*phrase.split()):
                return phrase
        raise InputError(f"{' or '.join(phrases)} is expected {self.where()}")

    def part(self) -> str:
        """Read one identifier and fold it."""
        if self.place == len(self.tokens):
            raise InputError(f"a name is expected {self.where()}")
        token = self.tokens[self.place]
        if token.token_type is not TokenType.IDENTIFIER and not token.text.replace("_", "a").isalnum():
            raise InputError(f"a name is expected {self.where()}")
        self.place += 1
        return token.text if token.token_type is TokenType.IDENTIFIER else token.text.lower()

    def name(self) -> str:
        """Read a name, whose parts are separated by points."""
        parts = [self.part()]
        while self.accept("."):
            parts.append(self.part())
        return ".".join(parts)

    def value(self) -> tuple[str, bool]:
        """Read a quoted text or a word; return it, and whether it was quoted."""
        if self.place == len(self.tokens):
            raise InputError(f"a value is expected {self.where()}")
        token = self.tokens[self.place]
        self.place += 1
        return token.text, token.token_type is TokenType.STRING

    def rest(self) -> str:
        """Read the rest of the statement, as text."""
        if self.place == len(self.tokens):
            return ""
        left = self.text[self.tokens[self.place].start : self.tokens[-1].end + 1]
        self.place = len(self.tokens)
        return left

    def behind(self, word: str) -> str:
        """Return the text after the first such word outside parentheses; empty if there is none."""
        depth = 0
        for place, token in enumerate(self.tokens):
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
            quoted = token.token_type in (TokenType.IDENTIFIER, TokenType.STRING)
            if depth == 0 and token.text.upper() == word and not quoted:
                self.place = place + 1
                return self.rest()
        return ""

    def end(self) -> None:
        """Check that everything is read.

        Raises:
            InputError: Something is left.
        """
        if self.place < len(self.tokens):
            raise InputError(f"nothing more is expected {self.where()}")

    def where(self) -> str:
        """Return the place of the next token, for error messages."""
        if self.place == len(self.tokens):
            return f"at the end of {self.text.strip()!r}"
        token = self.tokens[self.place]
        return f"before {token.text!r} in line {token.line}"
