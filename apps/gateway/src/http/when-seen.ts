import type { Actor } from '@countersign/commands';
import { ProblemError, reachedWithin } from '@countersign/shell';
import type { Caps } from '../limits/caps.js';
import type { GatewayPorts } from '../ports.js';
import { whenShown } from '../visibility.js';
import { positionOf } from './http-context.js';
import type { ApiRequest } from './http-context.js';

const seenMsMax = 2000;
/** A gateway can hear of a position from another one before its own store knows it. */
const heardMsMax = 250;

/**
 * Waits until the views have the position that the client of a GET names in `Countersign-Position`. It counts as a waiting read.
 * Returns undefined where there is nothing to wait for.
 * @throws ProblemError `invalid-request`, `future-position`, `too-many-requests`, `unavailable` after 2 s.
 */
export function whenSeen(ports: GatewayPorts, caps: Caps, request: ApiRequest): Promise<void> | undefined {
  const { actor, headers, method } = request;
  const named = headers['countersign-position'];
  if (named === undefined || actor === undefined || (method !== 'GET' && method !== 'HEAD')) return undefined;
  const position = positionOf('Countersign-Position', named);
  return ports.readModel.checkpoint() >= position ? undefined : wait(ports, caps, actor, position);
}

async function wait(ports: GatewayPorts, caps: Caps, actor: Actor, position: number): Promise<void> {
  const release = caps.waits.take(actor);
  try {
    const { readModel, clock, store } = ports;
    if (await reachedWithin(readModel, clock, position, heardMsMax)) return;
    const head = await store.head();
    if (position > head)
      throw new ProblemError(
        'future-position',
        `the log has given out positions up to ${String(head)}, and not ${String(position)}: send back a position of an earlier answer`,
      );
    await whenShown(ports, position, seenMsMax - heardMsMax);
  } finally {
    release();
  }
}
