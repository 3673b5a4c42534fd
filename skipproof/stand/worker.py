"""Starts an adapter under the interpreter that runs this file: `python worker.py duckdb`."""

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    # At the end, so that nothing beside this file hides a module of the engine.
    sys.path.append(str(Path(__file__).parent))
    adapter = importlib.import_module(f"adapters.on_{sys.argv[1].replace('-', '_')}").ADAPTER
    importlib.import_module("adapters.serving").main(adapter())
