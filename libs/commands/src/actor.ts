import type { Assurance } from '@countersign/contracts';
import { matchesGlob } from '@countersign/policy';

export const roles = ['agent', 'approver', 'resolver', 'auditor', 'admin'] as const;

/** What a principal may do. Deny by default: no role, no rights. */
export type Role = (typeof roles)[number];

/** Who acts, as the edge proved them; never taken from a message. */
export interface Actor {
  readonly tenant: string;
  readonly principal: string;
  readonly roles: ReadonlySet<Role>;
  readonly groups: readonly string[];
  /** Globs of the agentIds that it may speak for; null: only its own principal's name is assumed, any may be given. */
  readonly agentIds: readonly string[] | null;
  /** How the answer came: `inbox`, `api`, `cli`, or a channel's id. */
  readonly via: string;
  readonly assurance: Assurance;
}

/** Whether the actor may request calls in the name of this agent. */
export function speaksFor(actor: Actor, agentId: string): boolean {
  return actor.agentIds === null || actor.agentIds.some((glob) => matchesGlob(glob, agentId));
}
