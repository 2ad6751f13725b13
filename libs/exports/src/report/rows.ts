import type { JsonValue, LogEventView } from '@countersign/contracts';
import type { Cell } from '../columns.js';

/** The lists of a report: all decisions, and the exceptions among what happened. */
export const reportLists = {
  decisions: 'Decisions of people, and what they were shown',
  fast: 'Fast approvals: sooner than the arguments can be read',
  bulk: 'Answers given with one click for several calls',
  edited: 'Approvals of arguments that another person had edited',
  unshown: 'Answers of a client that did not say what it had shown',
  delegated: 'Answers in the place of another person',
  silence: 'Approvals because nobody answered in time',
  withdrawn: 'Answers that were taken back',
  reveals: 'Looks at hidden values',
  unknown: 'Runs whose outcome was unknown, and who reconciled them',
  changes: 'Changes of rights, rules and other configuration',
} as const;

export type ReportList = keyof typeof reportLists;

/** The columns of every list. */
export const reportColumns = {
  recordedAt: 'when it was recorded',
  what: 'what happened',
  person: 'the person; for changes who made them',
  onBehalfOf: 'the person who was represented',
  decision: 'approve, edit, deny or answer',
  resolution: 'how the question stood afterwards',
  toolName: 'the tool',
  arguments: 'the arguments that the decision was about, with hidden values masked',
  seconds: 'seconds since the person could decide: since the question, the earlier stage, the escalation or the edit',
  ruleId: 'the rule that asked',
  via: 'the channel',
  assurance: 'how well the person was known',
  credential: 'the credential that the person used',
  shown: 'the digest of what was shown, as the client said',
  reason: 'the reason, in the words of the person',
  agentId: 'the agent',
  runId: 'the run',
  callId: 'the call',
  position: 'the place of the event in the log',
  decisionsBefore: 'for changes: decisions since the change before',
} as const;

export type ReportRow = Readonly<Partial<Record<keyof typeof reportColumns, Cell>>>;

/** The part of a row that every event has. */
export function placeOf({
  recordedAt,
  position,
  toolName,
  agentId,
  runId,
  callId,
  type,
  actor,
}: LogEventView): ReportRow {
  const person = actor?.id ?? null;
  return {
    recordedAt,
    position,
    toolName,
    agentId,
    runId,
    callId,
    what: type,
    person,
    onBehalfOf: actor?.onBehalfOf ?? null,
  };
}

/** A member of the data of an event as a text; null where it has none. */
export function textIn(event: LogEventView, name: string): string | null {
  const value = event.data?.[name];
  return typeof value === 'string' ? value : null;
}

/** A member of the data of an event. */
export function memberOf(event: LogEventView, ...path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = event.data ?? undefined;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    value = (value as Readonly<Record<string, JsonValue>>)[name];
  }
  return value;
}
