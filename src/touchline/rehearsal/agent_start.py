"""How does the scripted agent start fast? Run by its path with `python -I -S`: no site, only the standard library."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
# Else `turns.py` and its neighbours could be taken for modules of those names.
sys.path[:] = [entry for entry in sys.path if entry != os.path.dirname(os.path.abspath(__file__))]

if __name__ == "__main__":
    from touchline.rehearsal.agent import main

    main()
