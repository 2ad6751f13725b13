import { randomUUID } from 'node:crypto';
import type { LogEvent, NewEvent, RecordedEvent, ToolCallEvent } from '@countersign/contracts';
import { currentSchemaVersion, isReadable } from '@countersign/contracts';

/** A valid event for tests. `reason` distinguishes events. */
export function sampleEvent(reason = 'a test', eventId: string = randomUUID()): NewEvent<ToolCallEvent> {
  return {
    eventId,
    type: 'ToolCallCancelled',
    data: { approvalId: null, reason, cancelledBy: 'tester', cancelledAt: '2030-01-01T00:00:00.000Z' },
    metadata: {
      tenant: 'default',
      callId: null,
      runId: 'run-1',
      schemaVersion: currentSchemaVersion,
      commandId: `command-${eventId}`,
    },
  };
}

/** Several of them. */
export function sampleEvents(count: number): readonly NewEvent<ToolCallEvent>[] {
  return Array.from({ length: count }, (_, index) => sampleEvent(`event ${index}`));
}

/** A stream that no other test uses. */
export function sampleStream(): string {
  return `toolCall-test-${randomUUID()}`;
}

/** The same events, all of which can be read. @throws for one that cannot. */
export function readable(events: readonly LogEvent[]): readonly RecordedEvent[] {
  return events.map((event) => {
    if (isReadable(event)) return event;
    throw new Error(`${event.stream} has an event that cannot be read: ${event.unreadable}`);
  });
}
