"""Who may touch what? Leases, waits, ownership and heartbeats."""
