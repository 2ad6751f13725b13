import type { Actor } from '@countersign/commands';
import { ProblemError, reachedWithin } from '@countersign/shell';
import type { Caps } from '../limits/caps.js';
import type { GatewayPorts } from '../ports.js';
import { isReadByPost } from '../route.js';
import { allRoutes } from '../routes.js';
import { whenShown } from '../visibility.js';
import { positionOf } from './http-context.js';
import type { ApiRequest } from './http-context.js';

const seenMsMax = 2000;
/** A gateway can hear of a position from another one before its own store knows it. */
const heardMsMax = 250;

/**
 * Waits until the views have the position that the client of a read names in `Countersign-Position`. It counts as a waiting read.
 * Returns undefined where there is nothing to wait for.
 * @throws ProblemError `invalid-request`, `future-position`, `too-many-requests`, `unavailable` after 2 s.
 */
export function whenSeen(ports: GatewayPorts, caps: Caps, request: ApiRequest): Promise<void> | undefined {
  const { actor, headers } = request;
  const named = headers['countersign-position'];
  if (named === undefined || actor === undefined || !isRead(request)) return undefined;
  const position = positionOf('Countersign-Position', named);
  if (ports.readModel.checkpoint() >= position) return undefined;
  return counted(caps, actor, async () => {
    if (await isKnown(ports, position)) await whenShown(ports, position, seenMsMax - heardMsMax);
  });
}

/**
 * Checks a position after which a client wants to read. A log that was put back has not given out the positions of before,
 * and a reader that waits for them would miss what comes first.
 * @throws ProblemError `future-position`, `too-many-requests`.
 */
export async function refuseFuture(ports: GatewayPorts, caps: Caps, actor: Actor, position: number): Promise<void> {
  if (ports.readModel.checkpoint() >= position) return;
  await counted(caps, actor, () => isKnown(ports, position));
}

async function counted(caps: Caps, actor: Actor, work: () => Promise<unknown>): Promise<void> {
  const release = caps.waits.take(actor);
  try {
    await work();
  } finally {
    release();
  }
}

/** Returns whether the log has given out the position and the views do not have it yet. @throws ProblemError `future-position`. */
async function isKnown({ readModel, clock, store }: GatewayPorts, position: number): Promise<boolean> {
  if (await reachedWithin(readModel, clock, position, heardMsMax)) return false;
  const head = await store.head();
  if (position <= head) return true;
  throw new ProblemError(
    'future-position',
    `the log has given out positions up to ${String(head)}, and not ${String(position)}: send back a position of an earlier answer`,
  );
}

const readsByPost = new Set(allRoutes.filter(isReadByPost).map(({ path }) => path));

function isRead({ method, url }: ApiRequest): boolean {
  return method === 'GET' || method === 'HEAD' || (method === 'POST' && readsByPost.has(url.split('?', 1)[0] ?? ''));
}
