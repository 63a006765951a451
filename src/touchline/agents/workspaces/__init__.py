"""Where does an agent work, and how does its work come back? A clone per task; the user's stays as it is."""
