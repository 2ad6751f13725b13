import type { EventData, JsonObject, JsonValue, Requirement } from '@countersign/contracts';
import type { RequestFacts } from './call-state.js';
import { illegal, isSealedAt } from './judged-event.js';
import type { JudgedEvent, Judgement } from './judged-event.js';
import { isHiddenRequest } from './requests.js';
import { fitOf } from './schema-fit.js';
import type { KnownStreams, StreamState } from './streams.js';

/** The schemas that tools had when their calls were requested. */
export interface ToolSchemas {
  /** Judges a legal event that brings arguments, or asks about them. */
  readonly judge: (event: JudgedEvent, before: StreamState | undefined, after: StreamState) => Judgement;
}

/** A schema is kept once, by its hash. No event has a stream of that name. */
const schemaPrefix = '\u0000schema ';

/** Versions before it checked some edits and turns less. */
export const schemasSince = '2026-11-29T19:53:07.000Z';

const legal: Judgement = { illegal: [], unproven: [] };
const notCompared: Judgement = { illegal: [], unproven: ['argument-schema'] };

/**
 * No schema is known yet. Attack: a call runs with arguments that its tool's schema forbids, and that the server would have refused:
 * from the request, or by an edit.
 */
export function createToolSchemas(streams: KnownStreams): ToolSchemas {
  const keep = (hash: string, schema: JsonObject): void => {
    const name = schemaPrefix + hash;
    if (streams.get(name) === undefined) streams.set(name, { next: 0, state: { kind: 'schema', schema } });
  };
  const kept = (hash: string): JsonObject | undefined => {
    const state = streams.get(schemaPrefix + hash)?.state;
    return state?.kind === 'schema' ? state.schema : undefined;
  };
  const requested = (event: JudgedEvent): Judgement => {
    const { toolSchema, toolSchemaHash, schemaNotes, arguments: args } = event.data as EventData<'ToolCallRequested'>;
    if (toolSchemaHash === null) return legal;
    if (toolSchema === null || schemaNotes !== undefined) return notCompared;
    keep(toolSchemaHash, toolSchema);
    return isHiddenRequest(event) ? legal : compare(event, toolSchema, args);
  };
  const edited = (event: JudgedEvent, { toolSchemaHash, isSchemaWhole }: RequestFacts): Judgement => {
    const { decision } = event.data as EventData<'ApprovalResponded'>;
    const isHidden = isSealedAt(event, '/decision/arguments');
    if (decision.type !== 'edit' || toolSchemaHash === null || isHidden) return legal;
    const schema = isSchemaWhole ? kept(toolSchemaHash) : undefined;
    return schema === undefined ? notCompared : compare(event, schema, decision.arguments);
  };
  return {
    judge: (event, before, after) => {
      if (after.kind !== 'call') return legal;
      if (event.type === 'ToolCallRequested') return requested(event);
      const isUnchecked = !after.request.isSchemaWhole && requirementsIn(event).some(asksForWhole);
      if (isUnchecked) return found(event, 'its rule takes no call whose schema is not checked whole');
      return event.type === 'ApprovalResponded' && before?.kind === 'call' ? edited(event, before.request) : legal;
    },
  };
}

function compare(event: JudgedEvent, schema: JsonObject, args: JsonValue): Judgement {
  switch (fitOf(schema, args)) {
    case 'fits':
      return legal;
    case 'unsure':
      return notCompared;
    case 'unfit':
      return found(event, 'its arguments do not fit the schema of the tool');
  }
}

function found(event: JudgedEvent, detail: string): Judgement {
  return event.recordedAt < schemasSince ? notCompared : { illegal: [illegal('request', detail)], unproven: [] };
}

/** What a question or an edit asks. A place in a queue asks nothing yet. */
function requirementsIn({ type, data }: JudgedEvent): readonly (Requirement | null)[] {
  if (type === 'ApprovalRequested') return [(data as EventData<'ApprovalRequested'>).requirement];
  const { decision } = data as Partial<EventData<'ApprovalResponded'>>;
  return type === 'ApprovalResponded' && decision?.type === 'edit' ? [decision.requirement] : [];
}

function asksForWhole(requirement: Requirement | null): boolean {
  return requirement?.requireCheckedSchema === true;
}
