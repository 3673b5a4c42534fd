import pyarrow as pa, pyarrow.compute as pc
print("pyarrow", pa.__version__)
for text, pattern in ("a\\b", r"a\\b%"), ("a\\b", r"a\\b"), ("a\\b", r"a\\b_%"), ("a\\bc", r"a\\b_%"), ("a\\b", r"%a\\b"), \
        ("a\\b", r"%a\\b%"), ("a\\b", r"a\\_"), ("\\", r"\\%"), ("a\\\\b", r"a\\b%"):
    print(f"{text:5} LIKE {pattern:7} {pc.match_like(pa.array([text]), pattern)[0].as_py()!s:5}",
          "ignore_case:", pc.match_like(pa.array([text]), pattern, ignore_case=True)[0].as_py())
