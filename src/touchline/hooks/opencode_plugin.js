// Touchline's plug-in for OpenCode. Put here by `touchline hook install opencode`; uninstall takes it away.
// It hands each event to Touchline and adds its answer. Whatever goes wrong, OpenCode goes on.
import { spawn } from "node:child_process"

const COMMAND = [/* command */]
const PATIENCE_MS = 15000

function ask(event) {
  return new Promise((answer) => {
    const done = (value) => { clearTimeout(timer); answer(value) }
    let child
    const timer = setTimeout(() => { child?.kill("SIGKILL"); done(null) }, PATIENCE_MS)
    try {
      child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"] })
      let told = ""
      child.on("error", () => done(null))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (part) => { told += part })
      child.on("close", () => { try { done(JSON.parse(told)) } catch { done(null) } })
      child.stdin.end(JSON.stringify(event))
    } catch { done(null) }
  })
}

export const Touchline = async ({ directory }) => {
  const event = (name, sessionID, fields) => ({ hook_event_name: name, session_id: sessionID, cwd: directory, ...fields })
  return {
    "chat.message": async (input, output) => {
      const prompt = (output.parts ?? []).filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text)
      await ask(event("prompt", input.sessionID, { prompt: prompt.join("\n") }))
    },
    "tool.execute.before": async (input, output) => {
      const answer = await ask(event("before", input.sessionID, { tool_name: input.tool, tool_input: output.args }))
      const decided = answer?.hookSpecificOutput
      if (decided?.permissionDecision === "deny") throw new Error(decided.permissionDecisionReason)
    },
    "tool.execute.after": async (input, output) => {
      const response = { output: String(output.output ?? ""), exit: output.metadata?.exit ?? null }
      const answer = await ask(event("after", input.sessionID, { tool_name: input.tool, tool_input: input.args, tool_response: response }))
      const words = answer?.hookSpecificOutput?.additionalContext
      if (words) output.output = `${output.output}\n\n${words}`
    },
  }
}
