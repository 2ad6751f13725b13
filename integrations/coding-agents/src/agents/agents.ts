import type { CodingAgent } from '../agent.js';
import { claudeCode } from './claude-code.js';
import { codex } from './codex.js';
import { copilot } from './copilot.js';
import { cursor } from './cursor.js';
import { gemini } from './gemini.js';
import { opencode } from './opencode.js';

/** The coding agents with hooks that Countersign knows, by the name on the command line. */
export const codingAgents = {
  'claude-code': claudeCode,
  codex,
  gemini,
  opencode,
  cursor,
  copilot,
} as const satisfies Record<string, CodingAgent>;

/** The name of a coding agent on the command line. */
export type AgentName = keyof typeof codingAgents;

/** The names of all coding agents. */
export const agentNames = Object.keys(codingAgents) as readonly AgentName[];
