"""Column names that look like something else: paths, quotes, numbers, blanks, or another column's name.

Sources: R's broom, which writes `.pred` and `.resid`; pandas, which writes `__index_level_0__`; flattened
JSON (`a.b`, `a[0]`); and the characters that some layer between a name and a bound interprets.
"""

import functools

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

# Some Arrow calls take a string that begins like this for a path, and others for a name.
PATHS = (".a", "[0]", ".pred", "[a]", ".", "[", "..", ".a.b", "[0].a", ".[0]", "a.b", "a[0]", ".a[]")
QUOTES = ("b`", "a``b", "'a'", '"a"', "\\", "\\.a", ".a\\", "$a", "#1", "--", "/*", "?", "%", "*")
BLANKS = (" a", "a ", " ", "\t", "a\nb", "a b", "\u00a0")
WORDS = (
    "select",
    "null",
    "1",
    "columns",
    "min",
    "list",
    "element",
    "_c0",
    "__index_level_0__",
    "é",
    "x" * 300,
)
# Two columns with such names are different only if Spark's analysis is case-sensitive.
CASES = ("A", "B`", ".A", "A.b")
# Block metadata uses such names for fields of structs, so it holds nothing about such a column.
LIKE_FIELDS = ("`", "`a`.`b`", "`a`")


@functools.cache
def hostile_names(
    count: int, *, case_sensitive: bool = False, like_fields: bool = False
) -> SearchStrategy[tuple[str, ...]]:
    """`count` different names, often with "a": most look like something else, many like a path to it.

    Args:
        count: The number of names, at least 1.
        case_sensitive: True if names may differ in case alone.
        like_fields: True if names may look like the names of fields of structs in block metadata.

    Shrinks to: names that Arrow may take for paths.
    """
    plain = ("a", "b")
    pool = [*PATHS, *plain, *QUOTES, *BLANKS, *WORDS]
    pool += [*CASES] if case_sensitive else []
    pool += [*LIKE_FIELDS] if like_fields else []
    # Names like paths are half of the draws, because two of them may mean each other.
    name = st.sampled_from((*PATHS, *plain)) | st.sampled_from(pool)
    return st.lists(name, min_size=count, max_size=count, unique=True).map(tuple)
