import { withoutHashes } from '@countersign/contracts';
import type { JsonValue, LogEventView } from '@countersign/contracts';
import { Attention } from './attention.js';
import type { Took } from './attention.js';
import { memberOf, placeOf, textIn } from './rows.js';
import type { ReportList, ReportRow } from './rows.js';

/** What a report is told of each event. */
export type OnRow = (list: ReportList, row: ReportRow) => void;

/** What people were asked about a call, while it waits for them. */
interface Asked {
  /** The text of the arguments of each proposal; null: requested before the period. */
  readonly requested: string | null;
  readonly edits: Map<number, { readonly arguments: string; readonly by: string | null }>;
  readonly attention: Attention;
  ruleId: string | null;
}

/** A report in the making. Memory: the calls that wait for people. */
export interface ReportFold {
  /** True for an event that means nothing without the earlier ones about its call: give these to `recall` first. */
  readonly isLost: (event: LogEventView) => boolean;
  /** Takes the earlier events about a call, and tells no row. */
  readonly recall: (events: readonly LogEventView[]) => void;
  /** Takes the next event in the order of the log. */
  readonly take: (event: LogEventView) => void;
}

/** Begins a report, which tells its rows. */
export function createReportFold(onRow: OnRow): ReportFold {
  const calls = new Map<string, Asked>();
  /** The calls with an event that cannot be read: what follows in them is listed without what it is about. */
  const aside = new Set<string>();
  let decisionsSinceChange = 0;
  const askedOf = ({ callId }: LogEventView): Asked | undefined => (callId === null ? undefined : calls.get(callId));

  const responded = (event: LogEventView): void => {
    const asked = askedOf(event);
    const text = argumentsOf(event, asked);
    const took = asked?.attention.lastResponse(withoutHashes(text ?? '').length);
    const row = answerRow(event, { text, took, ruleId: asked?.ruleId ?? null });
    if (memberOf(event, 'automatic') === true) onRow('silence', row);
    else {
      decisionsSinceChange += 1;
      onRow('decisions', row);
      for (const list of exceptionsOf(event, asked, row, took?.fast === true)) onRow(list, row);
    }
    noteEdit(event, asked);
  };

  const askedAgain = (event: LogEventView): void => {
    const asked = askedOf(event);
    if (asked === undefined) return;
    asked.edits.clear();
    asked.ruleId = textOf(memberOf(event, 'verdict', 'ruleId'));
  };

  const listed = (event: LogEventView): void => {
    const other = otherRow(event);
    if (other === undefined) return;
    const isChange = other.list === 'changes';
    onRow(other.list, isChange ? { ...other.row, decisionsBefore: decisionsSinceChange } : other.row);
    if (isChange) decisionsSinceChange = 0;
  };

  const setAside = (callId: string): void => {
    aside.add(callId);
    calls.delete(callId);
  };

  const follow = (event: LogEventView): void => {
    const { type, callId } = event;
    if (callId !== null && event.data === null) setAside(callId);
    if (callId !== null && type === 'ToolCallRequested') calls.set(callId, newlyAsked(event));
    askedOf(event)?.attention.take(event);
    if (type === 'ApprovalRequested') askedAgain(event);
  };

  return {
    isLost: ({ type, callId }) => callId !== null && asking.has(type) && !calls.has(callId) && !aside.has(callId),
    recall: (events) => {
      for (const event of events) {
        follow(event);
        if (event.type === 'ApprovalResponded') noteEdit(event, askedOf(event));
      }
    },
    take: (event) => {
      follow(event);
      if (event.type === 'ApprovalResponded') responded(event);
      listed(event);
      if (event.callId !== null && askedOf(event)?.attention.isOver() === true) calls.delete(event.callId);
    },
  };
}

/** The events of a question. After one of them it is over, or people are asked on. */
const asking: ReadonlySet<string> = new Set([
  ...['ApprovalRequested', 'ApprovalResponded', 'ResponseWithdrawn', 'ValuesRevealed'],
  ...['ApprovalEscalated', 'ApproversReminded'],
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
  return {
    requested: jsonOf(memberOf(event, 'arguments')),
    edits: new Map(),
    attention: new Attention(),
    ruleId: null,
  };
}

interface Answered {
  /** The arguments that it is about; null: they are not known. */
  readonly text: string | null;
  readonly took: Took | undefined;
  readonly ruleId: string | null;
}

function answerRow(event: LogEventView, { text, took, ruleId }: Answered): ReportRow {
  return {
    ...placeOf(event),
    decision: textOf(memberOf(event, 'decision', 'type')),
    resolution: textIn(event, 'resolution'),
    arguments: text,
    seconds: took === undefined ? null : Math.round(took.tookMs / 100) / 10,
    ruleId,
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

function exceptionsOf(
  event: LogEventView,
  asked: Asked | undefined,
  row: ReportRow,
  fast: boolean,
): readonly ReportList[] {
  const isApproval = row.decision === 'approve';
  const edit = asked?.edits.get(Number(memberOf(event, 'proposal')));
  const found: Readonly<Partial<Record<ReportList, boolean>>> = {
    fast,
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
