import { matchesGlob } from '@countersign/contracts';
import type { NotificationKind } from '@countersign/contracts';
import type { Route } from './config/channels-file.js';

/** The input of the routes. */
export interface Routed {
  readonly toolName: string;
  readonly agentId: string;
  /** The groups that may respond; null: every approver; undefined: no approval is needed. */
  readonly groups: readonly string[] | null | undefined;
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
}

/** The channels that hear of something, each once, however many routes lead there. */
export function channelsToTell(routes: readonly Route[], routed: Routed, kind: NotificationKind): readonly Told[] {
  const byChannel = new Map<string, Told>();
  for (const route of matching(routes, routed, kind)) {
    for (const channelId of route.to) {
      byChannel.set(channelId, merged(byChannel.get(channelId), route, channelId));
    }
  }
  return [...byChannel.values()];
}

function merged(before: Told | undefined, route: Route, channelId: string): Told {
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

function matching(
  routes: readonly Route[],
  { toolName, agentId, groups }: Routed,
  kind: NotificationKind,
): readonly Route[] {
  return routes.filter(
    (route) =>
      (route.events as readonly string[]).includes(kind) &&
      route.tools.some((pattern) => matchesGlob(pattern, toolName)) &&
      route.agents.some((pattern) => matchesGlob(pattern, agentId)) &&
      concerns(route.groups, groups),
  );
}

/** A route's groups match approvals that one of them may respond to, also when every approver may. */
function concerns(wanted: readonly string[] | undefined, groups: Routed['groups']): boolean {
  if (wanted === undefined) return true;
  if (groups === undefined) return false;
  return groups === null || groups.some((group) => wanted.includes(group));
}
