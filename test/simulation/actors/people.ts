import type { Actor, Role } from '@countersign/commands';

/** The people of the group `ops`. */
export const operations: readonly string[] = ['carla', 'dora'];

/** A principal of the default tenant. */
export function person(principal: string, ...roles: readonly Role[]): Actor {
  return {
    tenant: 'default',
    principal,
    roles: new Set(roles),
    groups: operations.includes(principal) ? ['ops'] : [],
    agentIds: [],
    via: 'api',
    credential: `token:${principal}`,
    assurance: 'medium',
  };
}

/** The approvers. The agent is one of them: it tries to approve its own calls. */
export const approvers = ['alice', 'bob', 'carla', 'dora'].map((name) => person(name, 'approver'));
export const agent = person('agent', 'agent', 'approver', 'resolver');
/** Another agent of the same tenant, which owns none of the calls. */
export const intruder = person('intruder', 'agent', 'resolver');
export const admin = person('admin', 'admin', 'auditor');
