"""Which agents of the Agent Client Protocol come with Touchline?"""

from __future__ import annotations

from touchline.agents.acp import AcpDriver
from touchline.agents.acp_gemini import GEMINI
from touchline.agents.acp_opencode import OPENCODE

gemini = AcpDriver(GEMINI)
opencode = AcpDriver(OPENCODE)
