"""Prints where a data folder's campaigns were published on this machine, for a shell to read.

Nothing where the folder knows of no such place, or the variable is set.
"""

import json
import os
import sys
from pathlib import Path

VARIABLE = "AWS_ENDPOINT_URL_MTURK"


def main(folder: Path) -> None:
    ports = folder / "ports.json"
    if VARIABLE not in os.environ and ports.is_file():
        print(f"export {VARIABLE}=http://127.0.0.1:{json.loads(ports.read_text())['emulator']}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
