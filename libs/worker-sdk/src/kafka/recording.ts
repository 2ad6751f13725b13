import { toolCallViewSchema, type RequestToolCalls, type ToolCallView } from '@countersign/contracts';
import { isRecordedAs } from './recorded.js';
import type { HeardEvent } from './heard-event.js';

/** The recording of a request, as the events topic tells it. */
export interface Recording {
  readonly hear: (event: HeardEvent) => void;
  /** Returns whether the verdict about each call was heard, so that a look at the ledger finds them all. */
  readonly isComplete: () => boolean;
  /**
   * Returns the recorded calls in order, if all are allowed: their claims decide. Otherwise undefined: the ledger is
   * asked. An approval is shown to people, and a call that the client runs has no claim.
   */
  readonly allowedCalls: () => readonly ToolCallView[] | undefined;
}

const verdictTypes = new Set(['ToolCallAllowed', 'ToolCallBlocked', 'ApprovalRequested']);

/** Collects the events about the calls of one request. */
export function createRecording(body: RequestToolCalls): Recording {
  const heard = new Map(body.calls.map(({ toolCallId }) => [toolCallId, [] as HeardEvent[]]));
  return {
    hear: (event) => {
      const events = heard.get(event.toolCallId);
      if (events?.every(({ eventId }) => eventId !== event.eventId) === true) events.push(event);
    },
    isComplete: () => [...heard.values()].every((events) => events.some(({ type }) => verdictTypes.has(type))),
    allowedCalls: () => {
      const views = body.calls.map((call) => {
        const view = allowedCall(heard.get(call.toolCallId) ?? []);
        if (view === undefined || !isRecordedAs(body, call, view)) return undefined;
        // On the topic they are masked.
        return { ...view, arguments: call.arguments };
      });
      return views.includes(undefined) ? undefined : views.filter((view) => view !== undefined);
    },
  };
}

/** Returns the call that two events tell of; undefined when there are others, or one of them contradicts. */
function allowedCall(events: readonly HeardEvent[]): ToolCallView | undefined {
  const relevant = events.filter(({ type }) => type !== 'ToolCallShadowJudged');
  const [requested, allowed] = relevant.toSorted((one, other) => one.revision - other.revision);
  if (relevant.length !== 2 || requested === undefined || allowed === undefined) return undefined;
  if (requested.type !== 'ToolCallRequested' || allowed.type !== 'ToolCallAllowed') return undefined;
  if (requested.callId !== allowed.callId || requested.data['clientExecuted'] !== false) return undefined;
  const { batchId, arguments: args, actionDigest, requestedAt } = requested.data;
  const parsed = toolCallViewSchema.safeParse({
    callId: requested.callId,
    runId: requested.runId,
    agentId: requested.agentId,
    batchId,
    toolCallId: requested.toolCallId,
    toolName: requested.toolName,
    arguments: args,
    actionDigest,
    state: 'allowed',
    verdict: allowed.data['verdict'],
    approval: null,
    output: null,
    error: null,
    instruction: null,
    requestedAt,
    settledAt: null,
    revision: allowed.revision,
  });
  return parsed.data;
}
