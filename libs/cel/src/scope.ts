/** The names that an expression may use. */
export interface Scope {
  readonly variables: ReadonlySet<string>;
  /** The members of values with a fixed form, by path. Values that are not listed may have any members. */
  readonly members: ReadonlyMap<string, readonly string[]>;
}

/** Where an expression is written: in a rule of the policy file, or as the condition of a grant. */
export type ScopeName = 'rule' | 'grant';

const ofEveryCall = ['toolName', 'agentId', 'runId', 'labels', 'description'];
const hints = ['title', 'readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

/** A condition of a grant does not see `run` and the hints: the agent alone decides about them. */
export const scopes: Readonly<Record<ScopeName, Scope>> = {
  rule: {
    variables: new Set(['args', 'call', 'run', 'now']),
    members: new Map([
      ['call', [...ofEveryCall, 'hints']],
      ['call.hints', hints],
      ['run', ['calls', 'denied', 'startedAt']],
    ]),
  },
  grant: { variables: new Set(['args', 'call', 'now']), members: new Map([['call', ofEveryCall]]) },
};
