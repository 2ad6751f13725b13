import type { RecordedEvent } from '@countersign/contracts';
import { readable } from '@countersign/event-store/testing';
import { at } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/**
 * Recorded events stay unchanged, each stream numbered from 0 without gaps; and the log agrees with the responses:
 * acknowledged commands are in the log, refused ones are not.
 */
export const logOnlyGrows: CreateChecker = ({ world }, fail) => {
  const seen: string[] = [];
  const revisions = new Map<string, number>();
  const requests = new Set<unknown>();
  const byCommand = new Map<string, RecordedEvent[]>();
  return {
    onRecorded: (event) => {
      seen.push(JSON.stringify(event));
      if (event.position !== seen.length) fail(`position ${event.position} follows ${seen.length - 1}`);
      const expected = (revisions.get(event.stream) ?? -1) + 1;
      if (event.revision !== expected)
        fail(`${event.stream} has revision ${event.revision} where ${expected} was next`);
      revisions.set(event.stream, event.revision);
      if (event.type === 'RequestRefused' && requests.has(at(event, 'requestId'))) {
        fail(`the request ${String(at(event, 'requestId'))} is refused twice`);
      }
      if (event.type === 'RequestRefused') requests.add(at(event, 'requestId'));
      const { commandId } = event.metadata;
      byCommand.set(commandId, [...(byCommand.get(commandId) ?? []), event]);
    },
    onAcknowledged: ({ request, commandId, reply }) => {
      if (commandId === '') return;
      const recorded = byCommand.get(commandId) ?? [];
      const isDone = reply.status < 300;
      if (isDone && mustAppend.has(request.kind) && recorded.length === 0) {
        fail(`${request.kind} ${request.target} was acknowledged and is not in the log`);
      }
      // A response that its person took back since: a repeat of it is refused.
      const isTakenBack = reply.code === 'idempotency-key-reused' && recorded.every(wasWithdrawn);
      if (!isDone && !isTakenBack && request.kind === 'respond' && recorded.length > 0) {
        fail(`${request.kind} ${request.target} was refused with ${String(reply.code)}, and is in the log`);
      }
      const claim = recorded.find(({ type }) => type === 'ExecutionClaimed');
      // What was recorded just before a stop is not handed out: nobody runs it, and its lease ends.
      const isHeld = reply.code === 'stopped';
      if (!isDone && !isHeld && claim !== undefined && isCurrent(claim)) {
        fail(`${request.target} was refused with ${String(reply.code)}, and has the claim`);
      }
    },
    atEnd: () => {
      const changed = world.log.events.findIndex((event, index) => JSON.stringify(event) !== seen[index]);
      if (changed !== -1 || seen.length !== world.log.events.length) fail(`the log was altered at ${changed + 1}`);
    },
  };

  function after({ stream, revision }: RecordedEvent) {
    return (world.log.streams.get(stream) ?? []).slice(revision + 1);
  }

  /** Its person ended this response. */
  function wasWithdrawn(response: RecordedEvent): boolean {
    const by = at(response, 'respondedBy');
    return readable(after(response)).some(
      (event) => event.type === 'ResponseWithdrawn' && at(event, 'withdrawnBy') === by,
    );
  }

  /** Nothing has happened to the execution since this claim. */
  function isCurrent(claim: RecordedEvent): boolean {
    const later = after(claim);
    return !later.some(({ type }) => type.startsWith('Execution')) && at(claim, 'attempt') !== undefined;
  }
};

/** Commands that are acknowledged only after recording an event, now or at their first try. */
const mustAppend = new Set(['respond', 'claim']);
