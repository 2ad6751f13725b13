import { principalKey, proofOf } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import type { SystemEventData } from '@countersign/contracts';
import type { Clock } from '@countersign/runtime';
import { processTenant } from '@countersign/shell';
import type { SystemLog } from '@countersign/shell';

type AuditedRead = Omit<SystemEventData<'AuditRead'>['reads'][number], 'at'>;

/** Why a sign-in or a token was refused. */
export type RefusedSignIn = 'unknown token' | 'provider';

/** What the log of record says of those who use the gateway. Nothing waits for it. */
export interface RecordOfUse {
  /** A person signed in at the inbox. */
  readonly signedIn: (actor: Actor, proof: 'token' | 'oidc') => void;
  readonly signInRefused: (why: RefusedSignIn) => void;
  /** A person read the log as auditor. */
  readonly auditRead: (actor: Actor, read: AuditedRead) => void;
  /** A person goes on with a log that contradicts what was signed. Resolves when it is recorded. @throws as the store */
  readonly logRestored: (actor: Actor, restored: RestoredLog) => Promise<void>;
  /** A person knows that the log has lost its end. Resolves when it is recorded, or when nothing is lost. @throws as the store */
  readonly lossKnown: (actor: Actor, reason: string) => Promise<void>;
  /** Records the sums that are still open. */
  readonly close: () => void;
}

/** A log that goes on as the next epoch. */
export type RestoredLog = Pick<SystemEventData<'LogRestored'>, 'reason' | 'checkpoint' | 'why'>;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const readsMax = 20;

/** The record of the use of one gateway. The first of a person is recorded at once, and the rest of the time as a sum. */
export function createRecordOfUse(system: Pick<SystemLog, 'note' | 'record' | 'recorded'>, clock: Clock): RecordOfUse {
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
    auditRead: (actor, read) => {
      const one = { actor, count: 1, reads: [{ ...read, at: time() }] };
      // A clear read is recorded at once after masked ones too, and they do not push it out of the sum.
      const key = JSON.stringify([principalKey(actor), read.values === 'clear']);
      const hour = reads.in(key, { actor, count: 0, reads: [] }, (all) => {
        if (all.count > 0) noteReads(system, all);
      });
      if (hour.isNew) noteReads(system, one);
      else {
        const { sum } = hour;
        Object.assign(sum, { actor, count: sum.count + 1, reads: [...sum.reads, ...one.reads].slice(-readsMax) });
      }
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
    close: () => {
      for (const windows of [signIns, refusals, reads]) windows.close();
    },
  };
}

type Refusals = { -readonly [Name in 'count' | 'firstAt' | 'lastAt']: SystemEventData<'SignInRefused'>[Name] } & {
  readonly reasons: Record<string, number>;
};

interface Reads {
  readonly actor: Actor;
  readonly count: number;
  readonly reads: SystemEventData<'AuditRead'>['reads'];
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

function noteReads(system: Pick<SystemLog, 'note'>, { actor, count, reads }: Reads): void {
  const { tenant, principal } = actor;
  const [firstAt = '', lastAt = ''] = [reads[0]?.at, reads.at(-1)?.at];
  system.note(tenant, () => ({
    type: 'AuditRead',
    data: { principal, count, reads, firstAt, lastAt, ...proofOf(actor) },
  }));
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
