"""Write the reference pages of the public Python packages; `mkdocs` runs this.

What is public is what `__all__` of a package names; of a module without one, its own functions and classes.
The sources are read and not imported, since some import Spark.
"""

from pathlib import Path

import griffe
import mkdocs_gen_files

ROOT = Path(__file__).parents[2]
PUBLIC = (
    "pruning",
    "pruning.dml",
    "pruning.geography",
    "oracles",
    "oracles.isolation",
    "dynamic_tables",
)


def public_names(module: griffe.Module) -> list[str]:
    """Return the names that a module offers, in alphabetical order."""
    if module.exports is not None:
        return sorted(map(str, module.exports))
    return sorted(
        name
        for name, member in module.members.items()
        if not member.is_alias and not name.startswith("_") and (member.is_function or member.is_class)
    )


def page_text(name: str) -> str:
    """Return the page of a package: its docstring, then each public name."""
    module = griffe.load(name, search_paths=[ROOT], resolve_aliases=False)
    docstring = "" if module.docstring is None else module.docstring.value
    members = [f"::: {name}.{member}\n" for member in public_names(module)]
    return "\n".join([f"# `{name}`\n", docstring, "", *members])


def main() -> None:
    """Write a page for each public package."""
    for name in PUBLIC:
        with mkdocs_gen_files.open(
            f"reference/api/{name.replace('.', '-').replace('_', '-')}.md", "w"
        ) as page:
            page.write(page_text(name))


main()
