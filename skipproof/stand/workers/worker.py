"""Starts an adapter under the interpreter that runs this file: `python worker.py duckdb`."""

import importlib
import importlib.util
import sys
from pathlib import Path

# A package name that no engine's environment has; adapters import each other relatively.
ADAPTERS = "skipproof_adapters"

if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", False):
        # Python has put this folder first on the path, where its modules could hide an engine's modules.
        del sys.path[0]
    folder = Path(__file__).parents[1] / "adapters"
    spec = importlib.util.spec_from_file_location(
        ADAPTERS, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    sys.modules[ADAPTERS] = importlib.util.module_from_spec(spec)
    adapter = importlib.import_module(f"{ADAPTERS}.on_{sys.argv[1].replace('-', '_')}").ADAPTER
    importlib.import_module(f"{ADAPTERS}.serving").main(adapter())
