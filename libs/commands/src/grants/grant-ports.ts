import type { GrantEvent } from '@countersign/contracts';
import type { Grant, GrantState } from '@countersign/domain';
import type { Conditions } from '@countersign/policy';
import type { CommandHandler } from '../stream/handle-command.js';

/** Finds grants. It may lag: the stream of a grant decides. Times are epoch milliseconds. */
export interface GrantIndex {
  /** The grants of a tool that are neither revoked nor expired, the oldest first. Called for every requested call. */
  readonly live: (tenant: string, toolName: string, atMs: number) => readonly Grant[];
  /** The number of grants of a tenant that are neither revoked nor expired. */
  readonly liveCount: (tenant: string, atMs: number) => number;
}

/** The ports of a process that applies standing grants to calls. */
export interface GrantSources {
  readonly index: GrantIndex;
  /** Loads what evaluates expressions. Called only when a grant has one. */
  readonly conditions: () => Promise<Conditions>;
}

/** The same with the streams of grants. */
export interface GrantPorts extends GrantSources {
  readonly handler: CommandHandler<GrantState, GrantEvent>;
}
