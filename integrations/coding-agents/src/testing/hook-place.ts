import { realpath } from 'node:fs/promises';
import type { RequestToolCalls } from '@countersign/contracts';
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import type { HookAnswer } from '../agent.js';
import { codingAgents, type AgentName } from '../agents/agents.js';
import { afterTool, beforeTool } from '../hook.js';
import type { HookOptions } from '../options.js';

/** The hooks of one agent, and their Countersign. */
export interface Place {
  readonly countersign: FakeCountersign;
  readonly before: (input: object, more?: Partial<HookOptions>, interrupted?: AbortSignal) => Promise<HookAnswer>;
  readonly after: (input: object, more?: Partial<HookOptions>) => Promise<HookAnswer>;
  /** The ids of the calls that were asked for. */
  readonly asked: string[];
}

/** A hook of an agent with a Countersign in memory. */
export function open(name: AgentName = 'claude-code'): Place {
  const countersign = createFakeCountersign();
  const asked: string[] = [];
  const marks = new Map<string, string>();
  const options: HookOptions = {
    url: 'http://countersign.test',
    token: 'agent',
    resolverToken: 'worker',
    fetch: (input, init) => {
      const body = typeof init?.body === 'string' ? (JSON.parse(init.body) as RequestToolCalls) : undefined;
      asked.push(...(body?.calls ?? []).map(({ toolCallId }) => toolCallId));
      return countersign.fetch(input, init);
    },
    random: () => 0,
    realpath,
    agentId: name,
    gate: 'writes',
    readOnly: [],
    ungated: [],
    holdMs: 0,
    leaseMs: 60_000,
    defer: false,
  };
  const run = (input: object) => ({
    agent: codingAgents[name],
    input: Promise.resolve(input instanceof Uint8Array ? input : Buffer.from(JSON.stringify(input))),
    marks,
  });
  return {
    countersign,
    asked,
    before: (input, more = {}, interrupted = new AbortController().signal) =>
      beforeTool({ ...run(input), interrupted }, () => ({ ...options, ...more })),
    after: (input, more = {}) => afterTool(run(input), () => ({ ...options, ...more })),
  };
}

/** The input of a hook of Claude Code or Codex before the shell tool. */
export const bash = (id: string, command = 'make deploy', more: object = {}): object => ({
  session_id: 's1',
  cwd: '/work',
  permission_mode: 'default',
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_input: { command },
  tool_use_id: id,
  ...more,
});

/** Its input after the tool. */
export const post = (id: string, more: object): object => ({ ...bash(id), hook_event_name: 'PostToolUse', ...more });

/** The decision in the form of Claude Code. */
export const decided = ({ stdout }: HookAnswer): Record<string, unknown> =>
  (JSON.parse(stdout) as { hookSpecificOutput: Record<string, unknown> }).hookSpecificOutput;
