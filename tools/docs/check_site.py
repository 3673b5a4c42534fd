"""Check that a built site asks nothing of other hosts: `python tools/docs/check_site.py DIRECTORY`.

A reader may follow a link to another host; no page, style or script may load anything from one. So every
`src`, and every `href` of a `link`, is a path, and so is every `url(...)` and `@import` of a style.
Exit status: 0 nothing is loaded from elsewhere, 1 something is.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

_ELSEWHERE = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
_IN_STYLES = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])([^"')]+)""")
_LOADING = {"src", "srcset", "poster", "data", "action", "formaction", "background", "manifest", "ping"}


class _Loads(HTMLParser):
    """The addresses that a page loads without being asked."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_style = tag == "style"
        values = {name: value or "" for name, value in attrs}
        self.addresses += [value for name, value in values.items() if name in _LOADING]
        self.addresses += _IN_STYLES.findall(values.get("style", ""))
        # A canonical address is a name, which nobody loads.
        if tag in ("link", "use", "image") and values.get("rel") != "canonical":
            self.addresses += [values[name] for name in ("href", "xlink:href") if name in values]

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.addresses += _IN_STYLES.findall(data)
            self._in_style = False


def addresses(path: Path) -> list[str]:
    """Return what a page or a style loads."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        return _IN_STYLES.findall(text)
    page = _Loads()
    page.feed(text)
    return page.addresses


def loads_from_elsewhere(site: Path) -> Iterator[str]:
    """Yield a sentence for each address of another host that a file of a site loads."""
    for path in sorted(file for file in site.rglob("*") if file.suffix in (".html", ".css")):
        for address in addresses(path):
            if _ELSEWHERE.match(address):
                yield f"{path.relative_to(site)} loads {address}"


def main() -> int:
    """Print what is loaded from elsewhere; return the exit status."""
    sentences = list(loads_from_elsewhere(Path(sys.argv[1])))
    for sentence in sentences:
        print(sentence)
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
