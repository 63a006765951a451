"""What an agent's hooks start. Compiled anew at every start, so that all else is elsewhere."""

import sys

# Last, so that nothing installed beside Touchline can stand in for the standard library.
sys.path.append(__file__[: -len("/touchline/hooks/entry.py")])
try:
    from touchline.kept_modules import use_kept

    keep = use_kept("hooks")
    from touchline.hooks.begin import run

    run(sys.argv[1:], keep)
except BaseException:  # of loading it; what happens then is caught there
    from touchline.hooks.memory import note_fault
    from touchline.plain_os import environment

    note_fault(environment(), sys.argv[1:])
