"""Started by a coding agent at each of its hooks. Whatever goes wrong here, the agent goes on: the exit code is 0.

Kept as small as can be: a program's first file is compiled anew at every start.
"""

import gc
import os
import sys

gc.disable()
# Last, so that nothing installed beside Touchline can stand in for the standard library.
sys.path.append(__file__.rsplit(os.sep, 3)[0])
try:
    from touchline.hooks.quick import main

    main(sys.argv[1:])
except BaseException:  # a person's session ranks above our fault
    from touchline.hooks.memory import note_fault

    note_fault(os.environ, sys.argv[1:])
finally:
    # On every path, the fault of a fault too. Skips tidying up: nothing is left to write, and somebody waits.
    os._exit(0)
