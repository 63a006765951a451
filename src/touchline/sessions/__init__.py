"""A supervised conversation with a coding agent: turn, decision, act, until its result is delivered."""
