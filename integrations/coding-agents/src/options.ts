import type { DecisionType } from '@countersign/contracts';
import type { GateMode, TransportOptions } from '@countersign/worker-sdk';

/** The ledger, and how the hook behaves. */
export interface HookOptions extends TransportOptions {
  /** A token with role agent. */
  readonly token: string;
  /** A token with role resolver: the hook claims the call for the agent. */
  readonly resolverToken: string;
  readonly agentId: string;
  /** Resolves the links of a path, as `realpath` of `node:fs/promises`. */
  readonly realpath: (path: string) => Promise<string>;
  /** Where people open the inbox, when it is not `url`. */
  readonly inboxUrl?: string;
  /** `writes`: every tool that is not known to be read-only. */
  readonly gate: GateMode;
  /** Narrows what people can decide; absent: as the policy says. */
  readonly allowedDecisions?: readonly DecisionType[];
  /** Globs of the tools that the operator takes for read-only, besides those that the agent itself has. */
  readonly readOnly: readonly string[];
  /** Globs of the tools that do not go to the ledger. */
  readonly ungated: readonly string[];
  /** How long the hook waits for people, in ms. */
  readonly holdMs: number;
  /** After the hold this long is left to claim and to answer, in ms (5000 unless set). */
  readonly graceMs?: number;
  /** A call without a report is `unknown` after this time, in ms. */
  readonly leaseMs: number;
  /** A call that waits ends the process of the agent, which is resumed later (Claude Code with `-p`). */
  readonly defer: boolean;
}
