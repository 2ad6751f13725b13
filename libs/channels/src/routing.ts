import { matchesGlob } from '@countersign/contracts';
import type { NotificationKind, Risk } from '@countersign/contracts';
import type { Route } from './config/channels-file.js';
import { moreOften } from './config/digest-schema.js';
import type { Digest } from './config/digest-schema.js';

/** The input of the routes. */
export interface Routed {
  readonly toolName: string;
  readonly agentId: string;
  readonly runId: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The groups that may respond; null: every approver; undefined: no approval is needed. */
  readonly groups: readonly string[] | null | undefined;
  /** The risk that the rule names; null: none. */
  readonly risk: Risk | null;
}

/** One channel's share of a message. */
export interface Told {
  readonly channelId: string;
  /** A request: only if it is still pending after this time. */
  readonly afterMs: number;
  /** A question: when to remind, in milliseconds after the request, ascending. */
  readonly remindersMs: readonly number[];
  /** Only the people of these groups among those who may respond; null: all of them. */
  readonly groups: readonly string[] | null;
  /** For requests: the times of the digest that lists them; null: each request is a message of its own. */
  readonly digest: Digest | null;
  /** The recipients of the message in a personal channel. */
  readonly audience: Audience;
}

/** Those who may respond, or the person behind the request. */
export type Audience = 'approvers' | 'requester';

/** The channels that hear of something, each once for each audience, however many routes lead there. */
export function channelsToTell(routes: readonly Route[], routed: Routed, kind: NotificationKind): readonly Told[] {
  const told = new Map<string, Told>();
  for (const route of matching(routes, routed, kind)) {
    for (const channelId of route.to) {
      const id = JSON.stringify([channelId, route.tell]);
      told.set(id, merged(told.get(id), route, channelId));
    }
  }
  return [...told.values()];
}

function merged(before: Told | undefined, route: Route, channelId: string): Told {
  const { after: afterMs = 0, reminders = [], groups = null, tell = 'approvers', digest = null } = route;
  const told: Told = { channelId, afterMs, remindersMs: ascending(reminders), groups, digest, audience: tell };
  return before === undefined ? told : both(before, told);
}

function both(before: Told, told: Told): Told {
  const { groups, digest } = told;
  return {
    ...told,
    afterMs: Math.min(before.afterMs, told.afterMs),
    remindersMs: ascending([...before.remindersMs, ...told.remindersMs]),
    groups: before.groups === null || groups === null ? null : [...new Set([...before.groups, ...groups])],
    digest: before.digest === null || digest === null ? null : moreOften(before.digest, digest),
  };
}

function ascending(times: readonly number[]): readonly number[] {
  return [...new Set(times)].toSorted((one, other) => one - other);
}

function matching(routes: readonly Route[], routed: Routed, kind: NotificationKind): readonly Route[] {
  return routes.filter(
    (route) =>
      (route.events as readonly string[]).includes(kind) &&
      isNamed(route, routed) &&
      hasLabels(route.labels ?? {}, routed.labels) &&
      concerns(route.groups, routed.groups) &&
      (route.risk === undefined || (routed.risk !== null && route.risk.includes(routed.risk))),
  );
}

function isNamed({ tools, agents, runs = ['*'] }: Route, { toolName, agentId, runId }: Routed): boolean {
  const named = [
    [tools, toolName],
    [agents, agentId],
    [runs, runId],
  ] as const;
  return named.every(([patterns, name]) => patterns.some((pattern) => matchesGlob(pattern, name)));
}

/** A call without the label matches no pattern of it, not even `*`. */
function hasLabels(wanted: Readonly<Record<string, string>>, labels: Routed['labels']): boolean {
  return Object.entries(wanted).every(
    ([name, pattern]) => Object.hasOwn(labels, name) && matchesGlob(pattern, labels[name] ?? ''),
  );
}

/** A route's groups match approvals that one of them may respond to, also when every approver may. */
function concerns(wanted: readonly string[] | undefined, groups: Routed['groups']): boolean {
  if (wanted === undefined) return true;
  if (groups === undefined) return false;
  return groups === null || groups.some((group) => wanted.includes(group));
}
