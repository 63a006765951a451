"""How does a set-up behave when the model does as a script says? A model server for real CLIs, and a scripted agent.

Nothing here is imported by the rest of Touchline but the command line; a script costs no money and needs no network.
"""
