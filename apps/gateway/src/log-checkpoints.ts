import { keyTypes, parseVkey } from '@countersign/audit';
import type { Actor } from '@countersign/commands';
import type { TimestampsQuery } from '@countersign/contracts';
import { ProblemError } from '@countersign/shell';
import { ok, refused } from './answer.js';
import type { Answer } from './answer.js';
import type { RecordOfUse } from './record-of-use.js';

/** The result of a request for a checkpoint. */
export type CheckpointSigning =
  | { readonly status: 'signed'; readonly note: string }
  | { readonly status: 'empty' }
  | { readonly status: 'rewound' | 'unavailable'; readonly why: string };

/** A log that contradicts what was signed. */
export interface RewoundLog {
  readonly why: string;
  readonly checkpoint: string | null;
}

/** A checkpoint that has a time stamp of RFC 3161. */
export interface StampedCheckpoint {
  readonly epoch: number;
  readonly size: number;
  /** What is stamped: the text of the checkpoint, without its signatures. */
  readonly text: string;
  /** The answer of the authority, in DER. */
  readonly reply: Uint8Array;
  readonly time: string;
}

/** The signed checkpoints of the log of each tenant. @throws ProblemError `unavailable` where the notary is away */
export interface LogCheckpoints {
  /** The newest one that has the quorum of the witnesses, a signed note. `isPending`: the newest one of all. */
  readonly newest: (tenant: string, isPending?: boolean) => string | undefined | Promise<string | undefined>;
  /** Signs one that covers every event that is recorded now. */
  readonly sign: (tenant: string) => Promise<CheckpointSigning>;
  /** Why the log contradicts what was signed, and the newest checkpoint of it; undefined: it does not. */
  readonly rewound: (tenant: string) => RewoundLog | undefined | Promise<RewoundLog | undefined>;
  /** Goes on with such a log as the next epoch, and signs it. */
  readonly goOn: (tenant: string) => Promise<CheckpointSigning>;
  /** The public keys, each as a line; none before the first event. */
  readonly vkeys: (tenant: string) => Promise<readonly string[]>;
  /** The changes of the log key, each the proof of its event as JSON; none where it was never changed. */
  readonly keyChanges: (tenant: string) => readonly string[] | Promise<readonly string[]>;
  /** The checkpoints that have a time stamp, in the order of epochs and sizes. */
  readonly timestamps: (
    tenant: string,
    wanted: Omit<TimestampsQuery, 'limit'> & { readonly epoch?: number | undefined; readonly limit: number },
  ) => Promise<readonly StampedCheckpoint[]>;
}

/** `GET /v1/log/checkpoint`. */
export async function readCheckpoint(
  checkpoints: LogCheckpoints | undefined,
  { tenant }: Pick<Actor, 'tenant'>,
  isPending = false,
): Promise<Answer> {
  if (checkpoints === undefined) return notSupported();
  const note = await checkpoints.newest(tenant, isPending);
  if (note !== undefined) return ok(note);
  const isWitnessed = !isPending && (await checkpoints.newest(tenant, true)) !== undefined;
  return notFound(isWitnessed ? noQuorum : 'no checkpoint is signed yet: POST /v1/log/checkpoint signs one');
}

/** `POST /v1/log/checkpoint`. @throws ProblemError `unavailable`, with the reason, when nothing can be signed now */
export async function makeCheckpoint(checkpoints: LogCheckpoints | undefined, { tenant }: Actor): Promise<Answer> {
  if (checkpoints === undefined) return notSupported();
  return signingAnswer(await checkpoints.sign(tenant));
}

/**
 * `POST /v1/log/continue`: a log that contradicts what was signed goes on as the next epoch. That is recorded first, so one that
 * ends in between is asked again. A log that contradicts nothing goes on as it is. Where the log has lost its end, it is recorded that
 * the person knows.
 * @throws ProblemError `unavailable`, with the reason, when nothing can be recorded or signed now
 */
export async function continueLog(
  { checkpoints, use }: { readonly checkpoints?: LogCheckpoints | undefined; readonly use?: RecordOfUse | undefined },
  actor: Actor,
  { reason }: { readonly reason: string },
): Promise<Answer> {
  if (checkpoints === undefined || use === undefined) return notSupported();
  await use.lossKnown(actor, reason);
  const rewound = await checkpoints.rewound(actor.tenant);
  if (rewound === undefined) return makeCheckpoint(checkpoints, actor);
  await use.logRestored(actor, { reason, ...rewound });
  return signingAnswer(await checkpoints.goOn(actor.tenant));
}

function signingAnswer(signing: CheckpointSigning): Answer {
  switch (signing.status) {
    case 'signed':
      return ok(signing.note);
    case 'empty':
      return notFound(noEvents);
    case 'rewound':
    case 'unavailable':
      throw new ProblemError('unavailable', signing.why);
  }
}

/** `GET /v1/log/vkey`. Outside verifiers of notes may know no key but Ed25519, so the others come when they are asked for. */
export async function readVkeys(
  checkpoints: LogCheckpoints | undefined,
  { tenant }: Actor,
  isAll = false,
): Promise<Answer> {
  if (checkpoints === undefined) return notSupported();
  const known = await checkpoints.vkeys(tenant);
  const vkeys = known.filter((vkey) => isAll || parseVkey(vkey)?.type !== keyTypes.mlDsaCosignature);
  return vkeys.length === 0 ? notFound(noEvents) : ok(vkeys.map((vkey) => `${vkey}\n`).join(''));
}

/** `GET /v1/log/key-changes`. */
export async function readKeyChanges(
  checkpoints: LogCheckpoints | undefined,
  { tenant }: Pick<Actor, 'tenant'>,
): Promise<Answer> {
  if (checkpoints === undefined) return notSupported();
  const changes = await checkpoints.keyChanges(tenant);
  const none = 'the key of this log was never changed within an epoch';
  return changes.length === 0 ? notFound(none) : ok(changes.map((one) => `${one}\n`).join(''));
}

const noQuorum = 'no checkpoint has the quorum of the witnesses yet: add ?pending=true for the newest one without it';
const noEvents = 'the log of this tenant has no events yet';

function notFound(detail: string): Answer {
  return refused({ code: 'not-found', detail });
}

function notSupported(): Answer {
  return refused(notHere().refusal);
}

/** The refusal where there is no tree over the log. */
export function notHere(): ProblemError {
  const detail =
    'this gateway asks no notary: set COUNTERSIGN_NOTARY_URL, and start the role notary (docs/operations.md)';
  return new ProblemError('not-supported', detail);
}
