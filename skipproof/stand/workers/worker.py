"""Starts an adapter under the interpreter that runs this file: `python worker.py duckdb`."""

import importlib
import importlib.util
import sys
from pathlib import Path

# A name that no environment of an engine has; adapters import each other relatively.
ADAPTERS = "skipproof_adapters"

if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", False):
        # Python has put this file's folder first, where modules like `report` would hide the engine's.
        del sys.path[0]
    folder = Path(__file__).parents[1] / "adapters"
    spec = importlib.util.spec_from_file_location(
        ADAPTERS, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    sys.modules[ADAPTERS] = importlib.util.module_from_spec(spec)
    adapter = importlib.import_module(f"{ADAPTERS}.on_{sys.argv[1].replace('-', '_')}").ADAPTER
    importlib.import_module(f"{ADAPTERS}.serving").main(adapter())
