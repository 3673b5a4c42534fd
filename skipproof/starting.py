"""The entry point: it checks that no folder hides a package of skipproof, then runs the command line."""

import sys

from skipproof.installation import hidden_package


def main() -> None:
    """Run the command line; exit with status 2 where a package of skipproof is hidden."""
    sentence = hidden_package()
    if sentence is not None:
        print(f"skipproof: {sentence}", file=sys.stderr)
        sys.exit(2)
    from skipproof.commands.cli import main as run

    run()
