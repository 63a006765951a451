"""How large is what `make dist` made, and what does the wheel need? Prints both: python scripts/wheel.py dist"""

from __future__ import annotations

import sys
import zipfile
from email import message_from_bytes
from pathlib import Path


def main(folder: Path) -> None:
    for file in sorted(folder.iterdir()):
        print(f"{file.stat().st_size / 1000:,.0f} kB  {file}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (each for each in packed.namelist() if each.endswith(".dist-info/METADATA"))
        lines = message_from_bytes(packed.read(name)).get_all("Requires-Dist", [])
    print("needs:")
    # `dev` is for work on Touchline itself, `all` names the other extras again.
    print("\n".join(f"  {line}" for line in lines if "'dev'" not in line and "'all'" not in line))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
