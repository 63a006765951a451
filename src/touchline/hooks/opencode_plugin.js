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

// The words of the agent's last message, and whom the person last spoke to; null when the agent did not come to an end.
async function ended(client, sessionID) {
  const session = (await client.session.get({ path: { id: sessionID } })).data
  if (!session || session.parentID) return null // a helper: its caller goes on by itself
  const told = (await client.session.messages({ path: { id: sessionID } })).data ?? []
  const last = told.at(-1)
  if (last?.info.role !== "assistant" || last.info.error) return null
  const words = last.parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text)
  return { words: words.join("\n"), asked: told.findLast((one) => one.info.role === "user")?.info }
}

export const Touchline = async ({ client, directory }) => {
  const modes = new Map()
  const lessons = new Map()
  const event = (name, sessionID, fields) => ({
    hook_event_name: name,
    session_id: sessionID,
    cwd: directory,
    permission_mode: modes.get(sessionID) === "plan" ? "plan" : "default",
    ...fields,
  })
  return {
    "chat.message": async (input, output) => {
      modes.set(input.sessionID, input.agent)
      const prompt = (output.parts ?? []).filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text)
      await ask(event("prompt", input.sessionID, { prompt: prompt.join("\n") }))
    },
    "experimental.chat.system.transform": async (input, output) => {
      if (!input.sessionID) return
      if (!lessons.has(input.sessionID)) {
        const answer = await ask(event("start", input.sessionID, {}))
        lessons.set(input.sessionID, answer?.hookSpecificOutput?.additionalContext ?? "")
      }
      if (lessons.get(input.sessionID)) output.system.push(lessons.get(input.sessionID))
    },
    "tool.execute.before": async (input, output) => {
      const call = { tool_use_id: input.callID, tool_name: input.tool, tool_input: output.args }
      const decided = (await ask(event("before", input.sessionID, call)))?.hookSpecificOutput
      if (decided?.permissionDecision === "deny") throw new Error(decided.permissionDecisionReason)
    },
    "tool.execute.after": async (input, output) => {
      const response = { output: String(output.output ?? ""), exit: output.metadata?.exit ?? null }
      const call = { tool_use_id: input.callID, tool_name: input.tool, tool_input: input.args, tool_response: response }
      const words = (await ask(event("after", input.sessionID, call)))?.hookSpecificOutput?.additionalContext
      if (words) output.output = `${output.output}\n\n${words}`
    },
    event: async ({ event: happened }) => {
      if (happened.type !== "session.idle") return
      const id = happened.properties.sessionID
      try {
        const stop = await ended(client, id)
        if (!stop) return
        const answer = await ask(event("stop", id, { last_assistant_message: stop.words }))
        if (answer?.decision === "block") {
          const parts = [{ type: "text", text: answer.reason }]
          await client.session.promptAsync({ path: { id }, body: { agent: stop.asked?.agent, model: stop.asked?.model, parts } })
        } else if (answer?.systemMessage) {
          await client.tui.showToast({ body: { message: answer.systemMessage, variant: "warning" } })
        }
      } catch {}
    },
  }
}
