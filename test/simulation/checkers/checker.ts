import type { ClaimView, EventData, NewEvent, RecordedEvent } from '@countersign/contracts';
import type { Acknowledged } from '../actors/http.ts';
import type { Site } from '../world/cluster.ts';
import type { Machine } from '../world/machine.ts';
import type { ToolRunRecord } from '../world/outside.ts';
import type { Question } from '../world/questions.ts';

/** One promise, checked while the world runs and again when it is at rest. */
export interface Checker {
  readonly name: string;
  /** An event was recorded; those before it are in the log. */
  readonly onRecorded?: (event: RecordedEvent) => void;
  /** A process is about to record a question to people. */
  readonly onQuestion?: (question: Question) => void;
  /** A process is about to fire a deadline. */
  readonly onDeadline?: (machine: Machine) => void;
  /** A tool begins to run, or has changed the world. */
  readonly onToolBegins?: (run: ToolRunRecord) => void;
  readonly onToolEffect?: (run: ToolRunRecord) => void;
  /** A client got a response. */
  readonly onAcknowledged?: (acknowledged: Acknowledged) => void;
  /** A process hands out a claim. */
  readonly onClaim?: (claim: ClaimView, by: string) => void;
  /** Everything is healed and at rest. */
  readonly atEnd?: () => void | Promise<void>;
}

/** Describes the violation. */
export type Fail = (what: string) => void;

export type CreateChecker = (site: Site, fail: Fail) => Omit<Checker, 'name'>;

/** The events of one call so far. */
export function eventsOf({ world }: Site, callId: string): readonly RecordedEvent[] {
  return world.log.streams.get(`toolCall-${callId}`) ?? [];
}

/** The request of a call, of which these are the events. */
export function requestOf([first]: readonly NewEvent[]): EventData<'ToolCallRequested'> | undefined {
  return first?.type === 'ToolCallRequested' ? (first.data as EventData<'ToolCallRequested'>) : undefined;
}

/** The data of an event, one member at a time. */
export function at(event: RecordedEvent, name: string): unknown {
  return (event.data as Readonly<Record<string, unknown>>)[name];
}
