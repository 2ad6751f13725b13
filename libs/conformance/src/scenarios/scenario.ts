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
