"""The text and attributes of a report's page, as a browser would show them."""

from html.parser import HTMLParser

_VOID = {"meta", "br", "img", "hr", "link", "input", "col"}


class Page(HTMLParser):
    """Elements, their attributes, and the text that is shown; every element that is opened must be closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.text += data

    def values_of(self, name: str) -> list[str]:
        """The values of all attributes of a name."""
        return [value or "" for key, value in self.attributes if key == name]
