import { isSettled } from '@countersign/contracts';
import { sleepOrThrow } from '@countersign/contracts/clock';
import { linkedController, type LinkedController } from '@countersign/http-client';
import { isRefusal, messageOf } from '../errors.js';
import type { ExecutionPorts } from './execution-ports.js';
import { rejectOnAbort } from '../ledger/reject-on-abort.js';
import { createTimeLimit, type TimeLimit } from './time-limit.js';

/** A claim to keep, and for how long. */
export interface HeldClaim {
  readonly callId: string;
  readonly attempt: number;
  readonly limitMs: number;
  /** Gets the answer to each renewal. */
  readonly onRenewed: (renewed: unknown) => void;
}

/**
 * Runs `work` while renewing the claim. Its signal aborts when another worker has the claim, when the worker stops, and
 * when the time limit is over. Rejects with a `TimeLimitError` then, and when the worker is closed, without waiting for
 * `work`: a tool may ignore its signal. The claim is not renewed any longer.
 */
export async function withLease<T>(
  ports: ExecutionPorts,
  claim: HeldClaim,
  work: (signal: AbortSignal, limit: TimeLimit) => Promise<T>,
): Promise<T> {
  const limit = createTimeLimit(ports.clock, claim.limitMs);
  const tool = linkedController(ports.stopping, limit.signal);
  const done = linkedController(ports.stopped, limit.signal);
  const given = rejectOnAbort(done.signal);
  const renewing = keepRenewed(ports, claim, tool, done.signal);
  try {
    return await Promise.race([work(tool.signal, limit), given.promise]);
  } finally {
    limit.release();
    given.release();
    done.abort(new Error('the tool has ended'));
    done.release();
    tool.release();
    await renewing;
  }
}

async function keepRenewed(
  ports: ExecutionPorts,
  { callId, attempt, onRenewed }: HeldClaim,
  tool: LinkedController,
  done: AbortSignal,
): Promise<void> {
  const { clock, leaseMs } = ports;
  for (;;) {
    try {
      await sleepOrThrow(clock, leaseMs / 3, done);
      onRenewed(await ports.resolver.renew(callId, { attempt, leaseMs }, { signal: done, attempts: Infinity }));
    } catch (error) {
      if (done.aborted) return;
      ports.log.warn({ callId, attempt, error: messageOf(error) }, 'the claim could not be renewed');
      if (isRefusal(error, 'stopped')) {
        tool.abort(error);
        return;
      }
      if (isRefusal(error, 'stale-claim') && (await isTakenOver(ports, callId, done))) {
        tool.abort(new Error('another worker has the claim'));
        return;
      }
    }
  }
}

/**
 * Resolves to whether another worker has a stale claim. After an outage longer than the lease the call is `unknown`, or
 * claimable again: then no other worker runs it, and stopping half-way would be worse than finishing.
 */
async function isTakenOver(ports: ExecutionPorts, callId: string, signal: AbortSignal): Promise<boolean> {
  try {
    const { state } = await ports.requester.getToolCall(callId, { signal, attempts: Infinity });
    return state === 'executing' || (isSettled(state) && state !== 'unknown');
  } catch {
    return false;
  }
}
