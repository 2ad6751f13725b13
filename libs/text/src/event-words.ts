/** Reads one member of an event's data as printable text, empty when it is not there. */
export type ReadMember = (...path: string[]) => string;

/** What an event says, from its data. */
export type SayEvent = (read: ReadMember, data: unknown) => string;

/** Words by the type of the event. */
export type EventWords = Readonly<Record<string, SayEvent>>;

/** An event as it is told; a newer server may have left out any member of its data, or made it something else. */
export interface ToldEvent {
  readonly type: string;
  readonly data: unknown;
}

const common: EventWords = {
  ToolCallAllowed: (read) => `allowed by rule ${read('verdict', 'ruleId')}`,
  ToolCallBlocked: (read) => withWhy(`blocked by rule ${read('verdict', 'ruleId')}`, read('reason')),
  ApprovalDescribed: (read) => withWhy(`${read('describedBy')} adds`, read('reason') || read('description')),
  ResponseWithdrawn: (read) => `${read('withdrawnBy')} withdrew the response`,
  ValuesRevealed: (read) => `${read('revealedBy')} looked at the hidden values via ${read('via')}: ${read('pointers')}`,
  ApprovalExpired: () => 'expired without an answer',
  ApprovalEscalated: (read) => `escalated to ${read('to')} (level ${read('level')})`,
  ApproversReminded: (read) => `reminder ${read('nth')} sent`,
  ApprovalLapsed: () => 'the approval expired before the tool ran',
  ToolCallCancelled: (read) => withWhy(`cancelled by ${read('cancelledBy')}`, read('reason')),
  ToolCallCommitted: () => 'its batch has started; the call can no longer be cancelled',
  BatchBegun: () => 'the all-or-nothing batch has started; its calls can no longer be cancelled',
  BatchBroken: (read) =>
    withWhy(`the all-or-nothing batch was cancelled, because one call is ${read('state')}`, read('reason')),
  ExecutionClaimed: (read) => `${read('resolverId')} runs it (attempt ${read('attempt')})`,
  ExecutionClaimRenewed: (read) => `attempt ${read('attempt')} is still running`,
  ExecutionLapsed: (read) => `attempt ${read('attempt')} reported nothing; it may be retried`,
  ExecutionOutcomeUnknown: (read) => withWhy('the outcome is unknown; a person must reconcile it', read('reason')),
  ExecutionReconciled: (read) => withWhy(`${read('reconciledBy')} says: ${read('status')}`, read('note')),
};

const lateWords: Readonly<Record<string, string>> = {
  'lease-over': 'reported after the lease',
  'outcome-unknown': 'reported after the outcome was recorded as unknown',
  'execute-by-over': 'submitted after the right to run had ended',
};

/** The words of an outcome, and that it came late, where the event says so. */
export function withLateness(words: string, read: ReadMember): string {
  const late = read('late');
  return late === '' ? words : `${words} (${lateWords[late] ?? late})`;
}

/**
 * What an event says, in words: `own` ones first, then those that are the same everywhere; undefined for an event of a
 * newer server. `show` makes any value of its data printable.
 */
export function eventWordsOf(event: ToldEvent, own: EventWords, show: (value: unknown) => string): string | undefined {
  const words = { ...common, ...own };
  const say = Object.hasOwn(words, event.type) ? words[event.type] : undefined;
  const read: ReadMember = (...path) => {
    const value = path.reduce<unknown>(memberOf, event.data);
    return value === undefined || value === null ? '' : show(value);
  };
  return say?.(read, event.data);
}

/** The member that a value has under a name, if it has members at all. */
export function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

/** Words, and why, where somebody said so. */
export function withWhy(words: string, why: string): string {
  return why === '' ? words : `${words}: ${why}`;
}
