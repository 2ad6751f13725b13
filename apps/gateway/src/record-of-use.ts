import { hash } from 'node:crypto';
import { principalKey, proofOf } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import type { SystemEventData } from '@countersign/contracts';
import type { Clock } from '@countersign/runtime';
import { processTenant } from '@countersign/shell';
import type { SystemEventBody, SystemLog } from '@countersign/shell';

type AuditedRead = Omit<SystemEventData<'AuditRead'>['reads'][number], 'at'>;

/** Why a sign-in or a token was refused. */
export type RefusedSignIn = 'unknown token' | 'provider';

/** What the log of record says of those who use the gateway. */
export interface RecordOfUse {
  /** A person signed in at the inbox. */
  readonly signedIn: (actor: Actor, proof: 'token' | 'oidc') => void;
  readonly signInRefused: (why: RefusedSignIn) => void;
  /**
   * A person reads the log as auditor. Of clear and stored values it resolves when the read is recorded, unless the
   * person asked the same within the hour.
   * @param asked what tells the question from others of the same range.
   * @throws as the store, only of clear and stored values.
   */
  readonly auditRead: (actor: Actor, read: AuditedRead, asked?: string) => Promise<void>;
  /** A person goes on with a log that contradicts what was signed. Resolves when it is recorded. @throws as the store */
  readonly logRestored: (actor: Actor, restored: RestoredLog) => Promise<void>;
  /** A person knows that the log has lost its end. Resolves when it is recorded, or when nothing is lost. @throws as the store */
  readonly lossKnown: (actor: Actor, reason: string) => Promise<void>;
  /** Records the sums that are still open, if the store can be written now. */
  readonly close: () => Promise<void>;
}

/** A log that goes on as the next epoch. */
export type RestoredLog = Pick<SystemEventData<'LogRestored'>, 'reason' | 'checkpoint' | 'why'>;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const readsMax = 20;
const questionsMax = 1000;

type RecordedIn = Pick<SystemLog, 'note' | 'record' | 'recorded' | 'close'>;

/** The record of the use of one gateway. The first of a person is recorded at once, and the rest of the time as a sum. */
export function createRecordOfUse(system: RecordedIn, clock: Clock): RecordOfUse {
  const signIns = createWindows<{ actor: Actor; proof: 'token' | 'oidc'; count: number }>(clock, minuteMs);
  const refusals = createWindows<Refusals>(clock, minuteMs);
  const reads = createWindows<Reads>(clock, hourMs);
  const time = (): string => new Date(clock.now()).toISOString();
  return {
    signedIn: (actor, proof) => {
      const end = signIns.in(principalKey(actor), { actor, proof, count: 0 }, (last) => {
        if (last.count > 0) noteSignIn(system, last.actor, last.proof, last.count - 1, time());
      });
      if (end.isNew) noteSignIn(system, actor, proof, 0, time());
      else Object.assign(end.sum, { actor, proof, count: end.sum.count + 1 });
    },
    signInRefused: (why) => {
      const at = time();
      const { sum } = refusals.in('', { count: 0, reasons: {}, firstAt: at, lastAt: at }, (all) => {
        system.note(processTenant, () => ({ type: 'SignInRefused', data: all }));
      });
      sum.count += 1;
      sum.reasons[why] = (sum.reasons[why] ?? 0) + 1;
      sum.lastAt = at;
    },
    auditRead: async (actor, read, asked = '') => {
      const one = { ...read, at: time() };
      const isMasked = read.values === 'masked';
      const first: Reads = { actor, reads: [], questions: new Set() };
      const { sum } = reads.in(JSON.stringify([principalKey(actor), isMasked]), first, (all) => {
        if (all.reads.length > 0) noteSum(system, all);
      });
      const question = isMasked ? '' : hash('sha256', JSON.stringify([read, asked]), 'hex');
      if (sum.questions.has(question)) {
        Object.assign(sum, { actor, reads: [...sum.reads, one] });
        // Attack: an export between many small reads. So a sum that is full is recorded, and none is dropped.
        if (sum.reads.length === readsMax) noteSum(system, sum);
        return;
      }
      const event = toAuditRead(actor, [one]);
      if (isMasked) system.note(actor.tenant, () => event);
      // Attack: an export in clear, and then the process is killed.
      else await system.record(actor.tenant, event);
      if (sum.questions.size < questionsMax) sum.questions.add(question);
    },
    logRestored: (actor, restored) => {
      const { tenant, principal } = actor;
      const data = { principal, ...restored, restoredAt: time(), ...proofOf(actor) };
      return system.record(tenant, { type: 'LogRestored', data });
    },
    lossKnown: async (actor, reason) => {
      const { tenant, principal } = actor;
      // It is a loss of the whole log, which the first tenant's admins answer for.
      if (tenant !== processTenant) return;
      const { lostEnd } = await system.recorded(tenant);
      if (lostEnd === undefined) return;
      const { from, to } = lostEnd;
      const data = { from, to, by: principal, reason, acceptedAt: time(), ...proofOf(actor) };
      await system.record(tenant, { type: 'LogEndAccepted', data });
    },
    close: async () => {
      for (const windows of [signIns, refusals, reads]) windows.close();
      await system.close();
    },
  };
}

type Refusals = { -readonly [Name in 'count' | 'firstAt' | 'lastAt']: SystemEventData<'SignInRefused'>[Name] } & {
  readonly reasons: Record<string, number>;
};

interface Reads {
  readonly actor: Actor;
  readonly reads: SystemEventData<'AuditRead'>['reads'];
  /** What was recorded before the answer, and is summed when it is asked again. */
  readonly questions: Set<string>;
}

function noteSignIn(
  system: Pick<SystemLog, 'note'>,
  actor: Actor,
  proof: 'token' | 'oidc',
  more: number,
  signedInAt: string,
): void {
  const { tenant, principal } = actor;
  system.note(tenant, () => ({
    type: 'SignedIn',
    data: { principal, with: proof, ...(more > 0 && { more }), signedInAt, ...proofOf(actor) },
  }));
}

/** Records a sum, and begins the next one. */
function noteSum(system: Pick<SystemLog, 'note'>, sum: Reads): void {
  const event = toAuditRead(sum.actor, sum.reads);
  Object.assign(sum, { reads: [] });
  system.note(sum.actor.tenant, () => event);
}

function toAuditRead(actor: Actor, reads: Reads['reads']): SystemEventBody {
  const [firstAt = '', lastAt = ''] = [reads[0]?.at, reads.at(-1)?.at];
  const data = { principal: actor.principal, count: reads.length, reads, firstAt, lastAt, ...proofOf(actor) };
  return { type: 'AuditRead', data };
}

/** The sums of windows of time, one window per key at a time. */
interface Windows<Sum> {
  /** The sum of the window of a key. A new window begins with `first`, and ends with a call of `onEnd`. */
  readonly in: (key: string, first: Sum, onEnd: (sum: Sum) => void) => { readonly sum: Sum; readonly isNew: boolean };
  /** Ends all windows now. */
  readonly close: () => void;
}

function createWindows<Sum>(clock: Clock, lengthMs: number): Windows<Sum> {
  const open = new Map<string, { readonly sum: Sum; readonly end: () => void; readonly cancel: () => void }>();
  return {
    in: (key, first, onEnd) => {
      const known = open.get(key);
      if (known !== undefined) return { sum: known.sum, isNew: false };
      const end = (): void => {
        if (open.delete(key)) onEnd(first);
      };
      open.set(key, { sum: first, end, cancel: clock.setTimer(lengthMs, end) });
      return { sum: first, isNew: true };
    },
    close: () => {
      for (const { end, cancel } of [...open.values()]) {
        cancel();
        end();
      }
    },
  };
}
