import assert from 'node:assert/strict';
import type { Capabilities, ScriptedCall } from '../protocol.js';
import type { Script, Session } from '../session.js';

/** One thing that an adapter must do. */
export interface Scenario {
  readonly name: string;
  readonly script: Script;
  /** The capability that the agent must have. Default: none. */
  readonly needs?: keyof Capabilities;
  /** Rejects with what is wrong. */
  readonly run: (session: Session) => Promise<void>;
}

/** A call of the gated tool. */
export function refund(toolCallId: string, amount: number): ScriptedCall {
  return { toolCallId, toolName: 'refund', arguments: { amount } };
}

/** A call of the tool that is not behind the gate. */
export function lookup(toolCallId: string, id: string): ScriptedCall {
  return { toolCallId, toolName: 'lookup', arguments: { id } };
}

/** The script of most scenarios: one gated call. */
export const oneRefund: Script = { turns: [[refund('c1', 50)]] };

/**
 * Asserts that the model is told the output, that a person changed the arguments, and the new ones as JSON. The text may be
 * a JSON text itself, with escaped quotes. The output has no `amount`, so it does not pass for the arguments.
 */
export function assertToldEdit(text = '', amount: number): void {
  assert.match(text, new RegExp(`\\\\?"refunded\\\\?":\\s*${String(amount)}\\b`), 'the model is not told the output');
  assert.match(text, /changed the arguments/);
  const args = new RegExp(`\\{\\s*\\\\?"amount\\\\?":\\s*${String(amount)}\\s*\\}`);
  assert.match(text, args, `the model is not told the new arguments: ${text}`);
}
