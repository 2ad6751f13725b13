import { encodeTenant, formatCheckpoint, isSameHash, parseCheckpoint, parseOrigin } from '@countersign/audit';
import type { Checkpoint, Verification } from '@countersign/audit';

/** The time stamp of a checkpoint that is kept with a log. */
export interface KeptStamp {
  readonly epoch: number;
  readonly size: number;
  /** Undefined where it cannot be read. */
  readonly read: () => ReadStamp | undefined;
}

/** A time stamp that was read: the stamped text, and the answer of the authority. */
export interface ReadStamp {
  readonly text: string;
  readonly reply: Uint8Array;
}

/** The word of a judge about a time stamp. `unchecked`: it is of this text, and the rest was not looked at. */
export type JudgedStamp =
  | { readonly status: 'trusted' | 'untrusted'; readonly time: Date; readonly signer: string }
  | { readonly status: 'unchecked' }
  | { readonly status: 'refused'; readonly why: string };

export type JudgeStamp = (stamp: ReadStamp) => JudgedStamp;

/** Loads a judge. It is called where a source has time stamps. */
export type OpenJudge = () => JudgeStamp | Promise<JudgeStamp>;

/** An authority that is trusted says that these events existed before a time. */
export interface StampedEvents {
  readonly size: number;
  readonly time: string;
  readonly signer: string;
}

/** The time stamps of a log, and what they are compared with. */
export interface StampsRun {
  readonly stamps: readonly KeptStamp[];
  readonly tenant: string;
  /** The epoch that the log is in; undefined: no checkpoint says it. */
  readonly epoch: number | undefined;
  readonly verification: Pick<Verification, 'note' | 'rootAt' | 'size'>;
  /** Absent: the time stamps are not looked at. */
  readonly judge?: JudgeStamp | undefined;
  /** A log without a time stamp that is trusted is a finding. */
  readonly isRequired?: boolean | undefined;
}

/** The result of comparing all time stamps of a log. */
export interface ComparedStamps {
  readonly proven: readonly StampedEvents[];
  readonly unproven: readonly string[];
}

/** Judges the time stamps of a log whose events were all read. */
export function compareStamps(run: StampsRun): ComparedStamps {
  const proven: StampedEvents[] = [];
  const counts = { untrusted: 0, unchecked: 0, earlier: 0 };
  for (const stamp of run.stamps) {
    const found = compareStamp(run, stamp);
    if (typeof found === 'string') counts[found] += 1;
    else if ('wrong' in found) note(run, stamp.size, found.wrong);
    else proven.push(found);
  }
  if (run.isRequired === true && proven.length === 0) {
    note(run, 0, 'no checkpoint of the log has a time stamp of an authority that you trust');
  }
  return { proven, unproven: sentences(counts) };
}

type Counted = 'untrusted' | 'unchecked' | 'earlier';

const looksAtNone: JudgeStamp = () => ({ status: 'unchecked' });

/** A time stamp that is not valid, with the reason. */
interface Wrong {
  readonly wrong: string;
}

function compareStamp(run: StampsRun, stamp: KeptStamp): StampedEvents | Counted | Wrong {
  const { size } = stamp;
  const read = stamp.read();
  const checkpoint = read === undefined ? undefined : checkpointOf(run, stamp, read);
  if (read === undefined || checkpoint === undefined) {
    return { wrong: `${nameOf(stamp)} is of another checkpoint, or cannot be read` };
  }
  const judged = (run.judge ?? looksAtNone)(read);
  if (judged.status === 'refused') return { wrong: `${nameOf(stamp)} does not count: ${judged.why}` };
  const contradiction = contradictionOf(run, stamp, checkpoint);
  if (contradiction !== undefined) return contradiction;
  if (judged.status !== 'trusted') return judged.status;
  return { size, time: judged.time.toISOString(), signer: judged.signer };
}

function contradictionOf(
  { verification, epoch: present }: StampsRun,
  stamp: KeptStamp,
  { root, size }: Checkpoint,
): 'earlier' | Wrong | undefined {
  const reached = verification.rootAt(size);
  if (reached !== undefined && isSameHash(reached, root)) return undefined;
  // The log went on after something that contradicts what was signed in an earlier epoch.
  if (present !== undefined && stamp.epoch < present) return 'earlier';
  if (reached !== undefined) return { wrong: `the first ${String(size)} events are not those of ${nameOf(stamp)}` };
  return { wrong: `the log ends after ${String(verification.size())} events, and ${nameOf(stamp)} is of more` };
}

/** Attack: a time stamp of another log, or of a text that says something else than the name of its file, or more than a checkpoint. */
function checkpointOf({ tenant }: StampsRun, { epoch, size }: KeptStamp, { text }: ReadStamp): Checkpoint | undefined {
  const checkpoint = parseCheckpoint(text);
  const origin = parseOrigin(checkpoint?.origin ?? '');
  const isOfLog = origin?.encodedTenant === encodeTenant(tenant) && origin.epoch === epoch;
  if (checkpoint === undefined || !isOfLog || checkpoint.size !== size) return undefined;
  return formatCheckpoint({ ...checkpoint, extensions: [] }) === text ? checkpoint : undefined;
}

function nameOf({ epoch, size }: KeptStamp): string {
  return `the time stamp of the first ${String(size)} events in epoch ${String(epoch)}`;
}

function note({ verification }: StampsRun, size: number, detail: string): void {
  verification.note({ check: 'time', index: Math.max(0, size - 1), detail });
}

function sentences({ untrusted, unchecked, earlier }: Readonly<Record<Counted, number>>): readonly string[] {
  return [
    ...(untrusted === 0
      ? []
      : [`the times of ${stampsOf(untrusted)}: no authority was named that you trust (--tsa-ca)`]),
    ...(unchecked === 0
      ? []
      : [
          `the times of ${stampsOf(unchecked)}: signatures of authorities are not checked here. Use openssl ts -verify, or countersign audit verify --tsa-ca`,
        ]),
    ...(earlier === 0 ? [] : [`${stampsOf(earlier)} of earlier epochs, whose checkpoints this log contradicts`]),
  ];
}

function stampsOf(count: number): string {
  return count === 1 ? '1 time stamp' : `${String(count)} time stamps`;
}
