"""Write the reference page of the command line, from the commands themselves; `mkdocs` runs this."""

import subprocess
import sys

import mkdocs_gen_files

PAGE = "reference/command-line.md"
TYPER = (sys.executable, "-m", "typer", "skipproof.commands.cli", "utils", "docs", "--name", "skipproof")


def main() -> None:
    """Run Typer's own generator, whose first heading becomes the page's title."""
    shown = subprocess.run(TYPER, capture_output=True, text=True, check=True).stdout
    _, _, text = shown.partition("\n")
    with mkdocs_gen_files.open(PAGE, "w") as page:
        page.write(f"# Command line\n{text}")


main()
