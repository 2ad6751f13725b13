import { actorOfEvent } from './event-actor.js';
import { calledToolOf } from './event-view.js';
import type { CalledTool } from './called-tool.js';
import { comparedIdentity } from './compared-identity.js';
import type { JsonObject, JsonValue } from './json.js';
import { isReadable } from './log-event.js';
import type { LogEvent } from './log-event.js';

/**
 * What events are found by. No facet is a value that a view may hide: a search for one would tell whether it is there.
 */
export const eventFacets = ['type', 'actor', 'toolName', 'agentId', 'runId', 'callId', 'ruleId', 'via'] as const;
export type EventFacet = (typeof eventFacets)[number];

/** With this type a reader gets every event that this version cannot read. */
export const unreadableType = 'unreadable';

/** The values of each facet of an event. `actor`: who did it and who is represented, as {@link comparedIdentity} writes them. */
export type FacetValues = Readonly<Record<EventFacet, readonly string[]>>;

/** The facets of an event. The tool of one that an older version recorded without it is that of its call. */
export function facetsOf(
  event: LogEvent,
  tool: { readonly toolName: string; readonly agentId: string } | undefined = toolOf(event),
): FacetValues {
  const { runId, callId } = event.metadata;
  const ofCall = {
    ...{ toolName: given(tool?.toolName), agentId: given(tool?.agentId) },
    ...{ runId: given(runId), callId: given(callId) },
  };
  if (!isReadable(event)) return { type: [event.type, unreadableType], actor: [], ruleId: [], via: [], ...ofCall };
  const { id, onBehalfOf } = actorOfEvent(event);
  const data = event.data as JsonObject;
  const rules = [data['verdict'], memberOf(data['decision'], 'verdict'), data].flatMap((one) =>
    given(memberOf(one, 'ruleId')),
  );
  return {
    type: [event.type],
    actor: [...given(id), ...given(onBehalfOf)].map(comparedIdentity),
    ruleId: rules,
    via: given(data['via']),
    ...ofCall,
  };
}

/** The tool that an event names. */
export function toolOf(event: LogEvent): CalledTool | undefined {
  return isReadable(event) ? calledToolOf(event) : undefined;
}

function given(value: JsonValue | undefined): readonly string[] {
  return typeof value === 'string' ? [value] : [];
}

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return (value as JsonObject)[name];
}
