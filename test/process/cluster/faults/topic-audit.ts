import { isDeepStrictEqual } from 'node:util';
import { deriveCallId } from '@countersign/contracts';
import type { Entry } from '../../audit/log.js';
import type { Produced } from './requests-topic.js';
import type { StoredMessage } from './topic-reader.js';

/** Every recorded event is on the events topic, and the first copies of a run's events are in the order of the log. */
export function eventsTopicComplaints(
  entries: readonly Entry[],
  messages: readonly StoredMessage[],
): readonly string[] {
  const byId = new Map(entries.map((entry) => [entry.eventId, entry]));
  const seen = new Set<string>();
  const last = new Map<string, number>();
  const complaints: string[] = [];
  for (const { key, headers } of messages) {
    const id = headers['ce_id'] ?? '';
    const entry = byId.get(id);
    // A forged event is in no log.
    if (entry === undefined || seen.has(id)) continue;
    seen.add(id);
    if (headers['ce_type'] !== entry.type) complaints.push(`${id} is ${entry.type} in the log and not on the topic`);
    // Without a run (the log of record) there is no order.
    if (key === null) continue;
    const before = last.get(key) ?? 0;
    if (entry.position < before) complaints.push(`${entry.position} of ${key} stands behind ${before}`);
    last.set(key, entry.position);
  }
  const missing = entries.filter(({ eventId }) => !seen.has(eventId));
  return [
    ...complaints,
    ...missing.map(({ type, position }) => `${type} at ${String(position)} never reached the events topic`),
  ];
}

/** Every message that the broker acknowledged is carried out and recorded, or refused and recorded. */
export function producedComplaints(entries: readonly Entry[], produced: readonly Produced[]): readonly string[] {
  const refused = new Set(
    entries.flatMap(({ type, data }) =>
      type === 'RequestRefused' ? [(data as { readonly requestId: string }).requestId] : [],
    ),
  );
  const byCall = Map.groupBy(entries, ({ callId }) => callId);
  return produced.flatMap((request) => {
    if (refused.has(request.requestId)) return [];
    return effectsOf(request).flatMap(({ callId, type, is }) => {
      const isThere = byCall.get(callId)?.some((entry) => entry.type === type && is(entry.data)) ?? false;
      return isThere
        ? []
        : [`${request.type} ${request.requestId} was acknowledged: no ${type} of ${callId}, no refusal`];
    });
  });
}

interface Effect {
  readonly callId: string;
  readonly type: string;
  readonly is: (data: unknown) => boolean;
}

interface Call {
  readonly toolCallId: string;
  readonly arguments: unknown;
}

function effectsOf({ type, runId, body }: Produced): readonly Effect[] {
  const idOf = (toolCallId: unknown): string => deriveCallId('default', runId, String(toolCallId));
  const any = (): boolean => true;
  switch (type) {
    case 'ToolCallRequested':
      return (body['calls'] as readonly Call[]).map(({ toolCallId, arguments: args }) => ({
        callId: idOf(toolCallId),
        type: 'ToolCallRequested',
        is: (data) => isDeepStrictEqual((data as { readonly arguments: unknown }).arguments, args),
      }));
    case 'ApprovalRequested':
      return [{ callId: idOf(body['toolCallId']), type: 'ApprovalRequested', is: any }];
    case 'ToolCallCancelled':
      return [{ callId: idOf(body['toolCallId']), type: 'ToolCallCancelled', is: any }];
    case 'ToolOutputSubmitted':
      return [{ callId: idOf(body['toolCallId']), type: 'ExecutionSucceeded', is: any }];
  }
}
