import type { EventType, RecordedEvent } from '@countersign/contracts';

/**
 * An event as the judge reads it: well-formed, lifted to today's schema, with its values as they are stored. `writtenAs`
 * is the schema version that it was recorded with.
 */
export interface JudgedEvent extends Pick<RecordedEvent, 'eventId' | 'stream' | 'revision' | 'type' | 'metadata'> {
  /** When it was first recorded. */
  readonly recordedAt: string;
  readonly data: unknown;
  readonly writtenAs: number;
  /** When the operator restored a backup of the log last, before this event. Absent: never. */
  readonly restoredAt?: string;
}

/** A rule that an event breaks. `rule` is a stable name; `detail` is a sentence. */
export interface Illegal {
  readonly rule: LegalityRule;
  readonly detail: string;
}

export type LegalityRule =
  | 'revision'
  | 'stream'
  | 'request'
  | 'digest'
  | 'verdict'
  | 'approval'
  | 'proposal'
  | 'vote'
  | 'four-eyes'
  | 'resolution'
  | 'deadline'
  | 'silence'
  | 'withdrawal'
  | 'claim'
  | 'lease'
  | 'outcome'
  | 'batch'
  | 'turn'
  | 'stop'
  | 'grant'
  | 'policy'
  | 'passkey'
  | 'signature'
  | 'rights'
  | 'time';

/** Why the judge could not prove something about an event that breaks no rule. */
export type Unproven =
  | 'sealed-values'
  | 'set-aside'
  | 'leans-on-set-aside'
  | 'argument-schema'
  | 'passkey-by-sign-in'
  | 'hidden-card'
  | 'ended-votes'
  | 'folded-names'
  | 'other-names'
  | 'grant-condition'
  | 'older-rules'
  | 'set-back'
  | 'outer-call'
  | 'silence-time'
  | 'early-silence'
  | 'late-silence'
  | 'late-start'
  | 'silent-people'
  | 'turn-order'
  | 'place-in-run'
  | 'step-apart'
  | 'run-over'
  | 'inside-cancelled'
  | 'known-loss'
  | 'off-time'
  | 'past-end'
  | 'earlier-votes'
  | 'batch-begin'
  | 'past-stop'
  | 'under-stop'
  | RightsUnproven
  | PolicyUnproven;

/** Why a verdict could not be compared with its policy, or not wholly. */
export type PolicyUnproven =
  | 'policy-condition'
  | 'unread-policy'
  | 'unplaced-policy'
  | 'earlier-policy'
  | 'wished'
  | 'older-edit'
  | 'asked-with-step';

/** Why the rights of a person or a program could not be compared with the log of record. */
export type RightsUnproven =
  | 'unrecorded-rights'
  | 'provider-rights'
  | 'notifier-rights'
  | 'ledger-rights'
  | 'no-credential'
  | 'late-record'
  | 'other-time';

/** The judge's word about one event. */
export interface Judgement {
  readonly illegal: readonly Illegal[];
  readonly unproven: readonly Unproven[];
}

/** Returns a broken rule. */
export function illegal(rule: LegalityRule, detail: string): Illegal {
  return { rule, detail };
}

/** Returns whether a rule is broken. */
export function isIllegal(next: object): next is Illegal {
  return 'rule' in next;
}

/** Events of schema version 1 were recorded under rules that knew no proposals, and no word of their own about a batch. */
export function isOfVersion1({ writtenAs }: JudgedEvent): boolean {
  return writtenAs < 2;
}

/** Returns whether a value at this JSON pointer, or inside of it, is sealed. */
export function isSealedAt({ metadata: { sealed } }: JudgedEvent, pointer: string): boolean {
  return sealed?.pointers.some((one) => one === pointer || one.startsWith(`${pointer}/`)) ?? false;
}

/** Returns whether the type is one of a tool call's own stream. */
export function isCallType(type: EventType): boolean {
  return /^(?:ToolCall|Approv|Execution|Response|Values)/.test(type);
}
