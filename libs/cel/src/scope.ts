/** A kind of values, as an author knows it. The three types of numbers are one, because they can be compared. */
export type KnownKind =
  'a bool' | 'a duration' | 'a list' | 'a map' | 'a number' | 'a text' | 'a timestamp' | 'a type' | 'bytes' | 'null';

/** The names that an expression may use. */
export interface Scope {
  readonly variables: ReadonlySet<string>;
  /** The members of values with a fixed form, by path. Values that are not listed may have any members. */
  readonly members: ReadonlyMap<string, readonly string[]>;
  /** The kinds of values, by path; `*` is any member. Values that are not listed may have any kind. */
  readonly kinds: ReadonlyMap<string, KnownKind>;
}

/** Where an expression is written: in a rule of the policy file, or as the condition of a grant. */
export type ScopeName = 'rule' | 'grant';

const ofEveryCall = ['toolName', 'agentId', 'runId', 'labels', 'description'];
const hints = ['title', 'readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

const kindsOfCall = [
  ...(['args', 'call', 'call.labels'] as const).map((path) => [path, 'a map'] as const),
  ...(['call.toolName', 'call.agentId', 'call.runId', 'call.labels.*'] as const).map(
    (path) => [path, 'a text'] as const,
  ),
  ['now', 'a timestamp'],
] as const;

/** A condition of a grant does not see `run` and the hints: the agent alone decides about them. */
export const scopes: Readonly<Record<ScopeName, Scope>> = {
  rule: {
    variables: new Set(['args', 'call', 'run', 'now']),
    members: new Map([
      ['call', [...ofEveryCall, 'hints']],
      ['call.hints', hints],
      ['run', ['calls', 'denied', 'startedAt']],
    ]),
    kinds: new Map<string, KnownKind>([
      ...kindsOfCall,
      ...hints.map((hint) => [`call.hints.${hint}`, hint === 'title' ? 'a text' : 'a bool'] as const),
      ...[['run', 'a map'] as const, ['run.calls', 'a number'] as const, ['run.denied', 'a number'] as const],
      ['run.startedAt', 'a timestamp'],
    ]),
  },
  grant: {
    variables: new Set(['args', 'call', 'now']),
    members: new Map([['call', ofEveryCall]]),
    kinds: new Map(kindsOfCall),
  },
};
