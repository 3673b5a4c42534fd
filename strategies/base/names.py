"""Names of columns that look like something else: paths, quotes, numbers, nothing, or another column's name.

Sources: R's broom, which writes `.pred` and `.resid`; pandas, which writes `__index_level_0__`; flattened
JSON (`a.b`, `a[0]`); and the characters that some layer between a name and a bound reads as its own.
"""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

# Arrow takes a string that begins so for a path in some calls, and for a name in others.
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
# Two columns of such names are two columns only where Spark tells upper case from lower.
CASES = ("A", "B`", ".A", "A.b")
# Block metadata keeps names that begin so for fields of structs: nothing is known of such a column.
LIKE_FIELDS = ("`", "`a`.`b`", "`a`")


def hostile_names(
    count: int, *, case_sensitive: bool = False, like_fields: bool = False
) -> SearchStrategy[tuple[str, ...]]:
    """`count` different names, "a" among them often: most look like something else, many like a path to it.

    Args:
        count: How many, at least 1.
        case_sensitive: Whether names may differ in case alone.
        like_fields: Whether names may look like those that block metadata has for fields of structs.

    Shrinks to: names that Arrow may take for paths.
    """
    plain = ("a", "b")
    pool = [*PATHS, *plain, *QUOTES, *BLANKS, *WORDS]
    pool += [*CASES] if case_sensitive else []
    pool += [*LIKE_FIELDS] if like_fields else []
    # Names like paths are half of what is drawn, because two of them may mean each other.
    name = st.sampled_from((*PATHS, *plain)) | st.sampled_from(pool)
    return st.lists(name, min_size=count, max_size=count, unique=True).map(tuple)
