import type { Actor } from '@countersign/commands';
import { ProblemError } from '@countersign/shell';
import type { LogCheckpoints, StampedCheckpoint } from './log-checkpoints.js';
import { notHere } from './log-checkpoints.js';

/** The checkpoints with time stamps that are asked for. */
type Wanted = Parameters<LogCheckpoints['timestamps']>[1];

/**
 * `GET /v1/log/checkpoint/timestamp`: the answer of the authority, which `openssl ts -verify` reads.
 * @throws ProblemError `not-found` where no such checkpoint has a time stamp
 */
export async function readTimestamp(
  checkpoints: LogCheckpoints | undefined,
  { tenant }: Pick<Actor, 'tenant'>,
  { size, epoch }: Pick<Wanted, 'size'> & { readonly epoch?: number | undefined },
): Promise<Uint8Array> {
  if (checkpoints === undefined) throw notHere();
  const [found] = await checkpoints.timestamps(tenant, { size, epoch, order: 'newest', limit: 1 });
  if (found !== undefined) return found.reply;
  const none = 'no checkpoint has a time stamp: the operator names an authority in COUNTERSIGN_TSA_URL';
  const other = 'no checkpoint of this size has a time stamp: GET /v1/log/timestamps lists those that have one';
  throw new ProblemError('not-found', size === undefined && epoch === undefined ? none : other);
}

/** `GET /v1/log/timestamps`: on each line a checkpoint and its time stamp, as JSON. */
export async function listTimestamps(
  checkpoints: LogCheckpoints | undefined,
  { tenant }: Pick<Actor, 'tenant'>,
  { limit = pageMax, ...wanted }: Omit<Wanted, 'limit' | 'epoch'> & { readonly limit?: number | undefined },
): Promise<string> {
  if (checkpoints === undefined) throw notHere();
  const found = await checkpoints.timestamps(tenant, { ...wanted, limit });
  return found.map((stamp) => `${JSON.stringify(lineOf(stamp))}\n`).join('');
}

const pageMax = 100;

function lineOf({ epoch, size, time, text, reply }: StampedCheckpoint) {
  return { epoch, size, time, checkpoint: text, timestamp: Buffer.from(reply).toString('base64') };
}
