import type { GrantView } from './grants.js';
import type { StopView } from './stops.js';
import type { CredentialRights } from './system-events.js';
import type { ToolCallView } from './views.js';

/** How a tenant stood at a moment, by the log: the answer of `GET /v1/audit/state`. */
export interface StateAt {
  readonly asOf: string;
  /** The last event that counts. */
  readonly position: number;
  /** The policy in force; null: the built-in one, which no event names. */
  readonly policy: {
    readonly policyVersion: string;
    readonly activatedBy: string;
    readonly activatedAt: string;
  } | null;
  /** The calls that were not settled, with their approvals; hidden values masked. */
  readonly calls: readonly ToolCallView[];
  /** The grants that were proposed or in force. */
  readonly grants: readonly GrantView[];
  /** What each credential could do. */
  readonly rights: readonly RightsOfProcess[];
  /** The people that the policy in force names. Their groups count beside those of their credentials. */
  readonly people: readonly PersonAt[];
  /** The recorded stops that were in force, also those of the operator that cover the tenant. */
  readonly stops: readonly StopView[];
  /** The positions of events up to then that cannot be read. What they say is not counted. */
  readonly unreadable: readonly number[];
  /** False: there were more open calls, grants or unreadable events than are shown. */
  readonly complete: boolean;
}

/** A person of a policy file, with those who could answer in their place at the moment. */
export interface PersonAt {
  readonly principal: string;
  readonly groups: readonly string[];
  readonly delegates: readonly { readonly to: string; readonly from: string; readonly until: string }[];
}

/** The rights of one credential, as one process recorded them. */
export type RightsOfProcess = Omit<CredentialRights, 'rights'> & { readonly processId: string };
