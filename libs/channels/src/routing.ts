import type { NotificationKind } from '@countersign/contracts';
import type { Route } from './config/channels-file.js';
import { matchesPattern } from './config/glob.js';

/** What routes look at. */
export interface Routed {
  readonly toolName: string;
  readonly agentId: string;
  /** The groups that may answer; null: anybody may; undefined: nobody is asked. */
  readonly groups: readonly string[] | null | undefined;
}

/** What one channel gets of a question. */
export interface Asking {
  readonly channelId: string;
  /** Only if it is still pending after so long. */
  readonly afterMs: number;
  /** When to remind, in milliseconds after the request, ascending. */
  readonly remindersMs: readonly number[];
  /** Of the people who may answer only those of these groups; null: all of them. */
  readonly groups: readonly string[] | null;
}

/** The channels that a question goes to, each once, however many routes lead there. */
export function routeQuestion(routes: readonly Route[], routed: Routed): readonly Asking[] {
  const byChannel = new Map<string, Asking>();
  for (const route of matching(routes, routed, 'requested')) {
    for (const channelId of route.to) {
      const before = byChannel.get(channelId);
      byChannel.set(channelId, merged(before, route, channelId));
    }
  }
  return [...byChannel.values()];
}

function merged(before: Asking | undefined, route: Route, channelId: string): Asking {
  const { after: afterMs = 0, reminders = [], groups = null } = route;
  if (before === undefined) return { channelId, afterMs, remindersMs: ascending(reminders), groups };
  return {
    channelId,
    afterMs: Math.min(before.afterMs, afterMs),
    remindersMs: ascending([...before.remindersMs, ...reminders]),
    groups: before.groups === null || groups === null ? null : [...new Set([...before.groups, ...groups])],
  };
}

function ascending(times: readonly number[]): readonly number[] {
  return [...new Set(times)].toSorted((one, other) => one - other);
}

/** The channels that want to hear how something ended, each with the groups that its routes name. */
export function routeOutcome(
  routes: readonly Route[],
  routed: Routed,
  kind: NotificationKind,
): readonly Pick<Asking, 'channelId' | 'groups'>[] {
  const byChannel = new Map<string, Asking>();
  for (const route of matching(routes, routed, kind)) {
    for (const channelId of route.to) {
      byChannel.set(channelId, merged(byChannel.get(channelId), route, channelId));
    }
  }
  return [...byChannel.values()];
}

function matching(
  routes: readonly Route[],
  { toolName, agentId, groups }: Routed,
  kind: NotificationKind,
): readonly Route[] {
  return routes.filter(
    (route) =>
      (route.events as readonly string[]).includes(kind) &&
      route.tools.some((pattern) => matchesPattern(pattern, toolName)) &&
      route.agents.some((pattern) => matchesPattern(pattern, agentId)) &&
      concerns(route.groups, groups),
  );
}

/** A route's groups pick what one of them may answer, what is open to anybody included. */
function concerns(wanted: readonly string[] | undefined, groups: Routed['groups']): boolean {
  if (wanted === undefined) return true;
  if (groups === undefined) return false;
  return groups === null || groups.some((group) => wanted.includes(group));
}
