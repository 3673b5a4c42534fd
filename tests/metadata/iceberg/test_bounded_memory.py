"""The memory of files that never change is bounded, and keeps what was used last."""

from pruning.metadata.iceberg.remembered import BoundedMemory


def test_the_contents_that_were_used_last_are_kept() -> None:
    memory: BoundedMemory[str] = BoundedMemory(10)
    loads: list[str] = []

    def content(key: str, weight: int) -> str:
        return memory.content(key, weight, lambda: loads.append(key) or key)

    for key in ("a", "b", "a", "c", "a"):
        assert content(key, 4) == key
    assert loads == ["a", "b", "c"]
    content("b", 4)
    assert loads == ["a", "b", "c", "b"]
    # One that is too heavy is not kept, and drives no other out.
    content("heavy", 11)
    content("heavy", 11)
    content("a", 4)
    assert loads == ["a", "b", "c", "b", "heavy", "heavy"]
