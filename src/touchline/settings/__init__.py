"""What did the person choose? One typed model, read from flags, environment and files, and where each value came from.

`loading.settings_for` gives it to a door. Standard library alone.
"""
