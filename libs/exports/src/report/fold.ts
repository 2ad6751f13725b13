import type { JsonValue, LogEventView } from '@countersign/contracts';
import { memberOf, placeOf, textIn } from './rows.js';
import type { ReportList, ReportRow } from './rows.js';

/** What a report is told of each event. */
export type OnRow = (list: ReportList, row: ReportRow) => void;

/** Reads 100 characters a second at most, as the figures of oversight do. */
const [fastMs, fastMsPerCharacter, fastMsMax] = [2_000, 10, 60_000];

/** What people were asked about a call, while it waits for them. */
interface Asked {
  /** The text of the arguments of each proposal; null: requested before the period. */
  readonly requested: string | null;
  readonly edits: Map<number, { readonly arguments: string; readonly by: string | null }>;
  /** Since when people could decide, in milliseconds since the epoch. */
  sinceMs: number | null;
  ruleId: string | null;
}

/** Takes events in the order of the log, and tells the rows of a report. Memory: the calls that wait for people. */
export function createReportFold(onRow: OnRow): (event: LogEventView) => void {
  const calls = new Map<string, Asked>();
  let decisionsSinceChange = 0;
  const askedOf = ({ callId }: LogEventView): Asked | undefined => (callId === null ? undefined : calls.get(callId));

  const responded = (event: LogEventView): void => {
    const asked = askedOf(event);
    const row = answerRow(event, asked);
    if (memberOf(event, 'automatic') === true) onRow('silence', row);
    else {
      decisionsSinceChange += 1;
      onRow('decisions', row);
      for (const list of exceptionsOf(event, asked, row)) onRow(list, row);
    }
    noteEdit(event, asked);
  };

  const askedAgain = (event: LogEventView): void => {
    const asked = askedOf(event);
    if (asked === undefined) return;
    asked.edits.clear();
    asked.sinceMs = Date.parse(event.recordedAt);
    asked.ruleId = textOf(memberOf(event, 'verdict', 'ruleId'));
  };

  return (event) => {
    const { type, callId } = event;
    if (type === 'ToolCallRequested' && callId !== null) calls.set(callId, newlyAsked(event));
    if (type === 'ApprovalRequested') askedAgain(event);
    if (type === 'ApprovalResponded') responded(event);
    const other = otherRow(event);
    if (other !== undefined) {
      const isChange = other.list === 'changes';
      onRow(other.list, isChange ? { ...other.row, decisionsBefore: decisionsSinceChange } : other.row);
      if (isChange) decisionsSinceChange = 0;
    }
    if (callId !== null && lastOfCall.has(type)) calls.delete(callId);
  };
}

/** No person is asked about a call after these. */
const lastOfCall: ReadonlySet<string> = new Set([
  'ToolCallCancelled',
  'ExecutionSucceeded',
  'ExecutionFailed',
  'ExecutionReconciled',
]);

/** Who may do what, by which rules, and where the log goes on. */
const changes: ReadonlySet<string> = new Set([
  ...['ConfigurationChanged', 'ConfigurationRefused', 'PolicyActivated', 'ShadowPolicyActivated'],
  ...['GrantProposed', 'GrantCreated', 'GrantConfirmed', 'GrantRevoked'],
  ...['PasskeyRegistered', 'PasskeyConfirmed', 'PasskeyRemoved', 'KeysRotated', 'LogKeyChanged'],
  ...['StopDeclared', 'StopLifted', 'LogEndAccepted', 'LogRestored'],
]);

interface ListedRow {
  readonly list: ReportList;
  readonly row: ReportRow;
}

/** The row of an event that is no answer; undefined where no list has it. */
function otherRow(event: LogEventView): ListedRow | undefined {
  switch (event.type) {
    case 'ResponseWithdrawn':
      return { list: 'withdrawn', row: placeOf(event) };
    case 'ValuesRevealed': {
      const places = ['pointers', 'outputPointers'].map((name) => jsonOf(memberOf(event, name)));
      const reason = places.filter((one) => one !== null).join(' and in the answer ');
      return { list: 'reveals', row: { ...placeOf(event), via: textIn(event, 'via'), reason } };
    }
    case 'ExecutionOutcomeUnknown':
    case 'ExecutionReconciled': {
      const reason = textIn(event, 'reason') ?? textIn(event, 'note');
      return { list: 'unknown', row: { ...placeOf(event), reason } };
    }
    default:
      return changes.has(event.type) ? { list: 'changes', row: changeRow(event) } : undefined;
  }
}

function newlyAsked(event: LogEventView): Asked {
  return { requested: jsonOf(memberOf(event, 'arguments')), edits: new Map(), sinceMs: null, ruleId: null };
}

function answerRow(event: LogEventView, asked: Asked | undefined): ReportRow {
  const sinceMs = asked?.sinceMs ?? null;
  return {
    ...placeOf(event),
    decision: textOf(memberOf(event, 'decision', 'type')),
    resolution: textIn(event, 'resolution'),
    arguments: argumentsOf(event, asked),
    seconds: sinceMs === null ? null : Math.round((Date.parse(event.recordedAt) - sinceMs) / 100) / 10,
    ruleId: asked?.ruleId ?? null,
    via: textIn(event, 'via'),
    assurance: textIn(event, 'assurance'),
    credential: textIn(event, 'credential'),
    shown: textIn(event, 'shown'),
    reason: textIn(event, 'reason'),
  };
}

/** An edit is about its own arguments, every other answer about those of its proposal. */
function argumentsOf(event: LogEventView, asked: Asked | undefined): string | null {
  const edited = memberOf(event, 'decision', 'arguments');
  if (edited !== undefined) return jsonOf(edited);
  return asked?.edits.get(Number(memberOf(event, 'proposal')))?.arguments ?? asked?.requested ?? null;
}

function exceptionsOf(event: LogEventView, asked: Asked | undefined, row: ReportRow): readonly ReportList[] {
  const isApproval = row.decision === 'approve';
  const edit = asked?.edits.get(Number(memberOf(event, 'proposal')));
  const tookMs = typeof row.seconds === 'number' ? row.seconds * 1_000 : Infinity;
  const readMs = Math.min(fastMsMax, fastMs + fastMsPerCharacter * String(row.arguments ?? '').length);
  const found: Readonly<Partial<Record<ReportList, boolean>>> = {
    fast: isApproval && tookMs < readMs,
    bulk: textIn(event, 'bulkId') !== null,
    edited: isApproval && edit !== undefined && edit.by !== row.person,
    unshown: row.shown === null,
    delegated: row.onBehalfOf !== null,
  };
  return Object.entries(found).flatMap(([list, isIn]) => (isIn ? [list as ReportList] : []));
}

function noteEdit(event: LogEventView, asked: Asked | undefined): void {
  const edited = memberOf(event, 'decision', 'arguments');
  const number = Number(memberOf(event, 'proposal'));
  // An edit that changes nothing is a vote for the request.
  if (asked === undefined || edited === undefined || number === 1) return;
  asked.edits.set(number, {
    arguments: jsonOf(edited) ?? '',
    by: event.actor?.id ?? null,
  });
  asked.sinceMs = Date.parse(event.recordedAt);
}

/** What changed, in the words of the event. */
function changeRow(event: LogEventView): ReportRow {
  const kind = textIn(event, 'configures') ?? textIn(event, 'grantId') ?? textIn(event, 'policyVersion');
  const { arguments: _arguments, ...data } = event.data ?? {};
  const text = JSON.stringify(data);
  const reason =
    text.length > changeTextMax ? `${text.slice(0, changeTextMax)} … (${String(text.length)} characters)` : text;
  return { ...placeOf(event), what: kind === null ? event.type : `${event.type}: ${kind}`, reason };
}

const changeTextMax = 2_000;

function textOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function jsonOf(value: JsonValue | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
