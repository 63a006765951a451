"""Where are the sample sessions? Logs that real agents wrote, for the demo and for a first look."""

from __future__ import annotations

from pathlib import Path

SAMPLES = Path(__file__).parent
