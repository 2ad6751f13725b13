import { matchesGlob } from '@countersign/contracts';
import type { Assurance } from '@countersign/contracts';
import type { Reach } from '@countersign/domain';

export const roles = ['agent', 'approver', 'resolver', 'auditor', 'admin', 'stopper', 'tool', 'front-end'] as const;

/** The rights of a principal. Deny by default: no role, no rights. */
export type Role = (typeof roles)[number];

/** The authenticated caller; never taken from a message. */
export interface Actor {
  readonly tenant: string;
  readonly principal: string;
  readonly roles: ReadonlySet<Role>;
  readonly groups: readonly string[];
  /** Globs of the agentIds that it may request for, in addition to its own principal. */
  readonly agentIds: readonly string[];
  /** The person who is responsible for an agent. */
  readonly owner?: string;
  /** The channel of the response: `inbox`, `api`, `cli`, a channel's id, or the front end that vouches for the person. */
  readonly via: string;
  readonly assurance: Assurance;
  /** The id of the credential that proved the caller, such as `token:6ca13d52ca70c883`. Absent: the channel has none. */
  readonly credential?: string;
  /** The SHA-256 of the id of the session, `sha256:` and hex. Absent: the request has no session. */
  readonly session?: string;
  /** The client as it names itself. Absent: it does not. */
  readonly client?: string;
  /** The IP address of the connection. Absent: addresses are not recorded. */
  readonly address?: string;
  /** One for all answers of one click. Absent: the click is about one thing. */
  readonly bulkId?: string;
  /** The front end that vouches for this person, whose credential it is. Absent: the caller proved themselves. */
  readonly vouchedBy?: string;
  /** What the front end calls the person: shown, and never compared. Absent: it does not say. */
  readonly name?: string;
  /** The groups that the person may have at most, whatever gives them. Absent: any. */
  readonly groupsWithin?: readonly string[];
  /** For whom a front end may speak. Absent: the caller is none, or is the person already. */
  readonly people?: PeopleOfFrontEnd;
  /** When the credential ends, as RFC 3339. Absent: it has no end of its own. */
  readonly expiresAt?: string;
}

/** The people for whom a front end may speak. */
export interface PeopleOfFrontEnd {
  /** The groups that they may have. */
  readonly groups: readonly string[];
  readonly maxAssurance: Assurance;
}

/** A key for one principal of a tenant. Ids contain no control characters. */
export function principalKey({ tenant, principal }: Pick<Actor, 'tenant' | 'principal'>): string {
  return `${tenant}\n${principal}`;
}

/**
 * A key for the principal whose credential was proved. Attack: a front end names a new person in each request, so that it
 * has the room of thousands.
 */
export function provenKey({ tenant, principal, vouchedBy = principal }: Actor): string {
  return principalKey({ tenant, principal: vouchedBy });
}

/**
 * Returns whether the actor is a front end that names no person: it reads what its own principal requested, also where its token
 * has the role agent too.
 */
export function isFrontEnd({ roles: given }: Actor): boolean {
  return given.has('front-end');
}

/** Returns whether the actor may request calls for this agent: its own principal, or a match of its globs. */
export function speaksFor(actor: Actor, agentId: string): boolean {
  return agentId === actor.principal || actor.agentIds.some((glob) => matchesGlob(glob, agentId));
}

/**
 * Returns whether the actor chose the agent's name freely: only a glob lets it speak for this agent, and neither its own
 * principal nor a name that is listed in full.
 */
export function namesFreely({ principal, agentIds }: Actor, agentId: string): boolean {
  return agentId !== principal && !agentIds.includes(agentId);
}

/** The reach of the actor: the calls that it may ask about, describe, cancel and submit the output of. */
export function reachOf(actor: Actor): Reach {
  return actor.roles.has('admin') ? 'any' : 'own';
}
