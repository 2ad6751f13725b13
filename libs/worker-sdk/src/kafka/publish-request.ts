import { backoffMs } from '@countersign/contracts';
import { reasonOf, sleepOrThrow, type Clock } from '@countersign/contracts/clock';
import { rejectOnAbort } from '../ledger/reject-on-abort.js';
import { traceHeaders } from '../ledger/trace.js';
import { describeHindrance, finalError } from './broker-errors.js';
import type { KafkaConnection } from './connection.js';
import { signatureHeader, type RequestSigner } from './request-signer.js';

/** The dependencies of publishing. */
export interface PublishPorts {
  /** Connected; waits for it, and throws when it cannot be. */
  readonly connection: () => Promise<KafkaConnection>;
  readonly signer: RequestSigner | undefined;
  readonly source: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** The time of day, ms since the epoch. */
  readonly now: () => number;
}

export type RequestType = 'ToolCallRequested' | 'ApprovalRequested' | 'ToolCallCancelled' | 'ToolOutputSubmitted';

/** The content of a request message. */
export interface PublishedRequest {
  readonly type: RequestType;
  readonly runId: string;
  readonly data: object;
}

const publishBackoff = { firstMs: 200, maxMs: 5000 } as const;

/** Retries until the brokers have it, with the same id, so that the ledger recognises a second copy. */
export async function publish(
  ports: PublishPorts,
  asked: PublishedRequest,
  id: string,
  signal: AbortSignal,
  hinder: (why: string) => void,
): Promise<void> {
  const value = JSON.stringify(asked.data);
  await untilDone(ports, signal, hinder, async () => {
    const { publish: send } = await ports.connection();
    signal.throwIfAborted();
    // Made for each try, because a signature contains its time.
    await send({ key: asked.runId, value, headers: headersOf(ports, asked.type, id, value) });
  });
}

/** Returns the connection as soon as there is one; waits for unreachable brokers. */
export async function connectedWithin(
  ports: PublishPorts,
  signal: AbortSignal,
  hinder: (why: string) => void = () => undefined,
): Promise<KafkaConnection> {
  return untilDone(ports, signal, hinder, ports.connection);
}

/** Retries what a retry may mend. A broker that hangs keeps a try open, so the signal ends the wait for it as well. */
async function untilDone<T>(
  { clock, random }: PublishPorts,
  signal: AbortSignal,
  hinder: (why: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  const aborted = rejectOnAbort(signal);
  try {
    for (let failures = 1; ; failures += 1) {
      try {
        return await Promise.race([work(), aborted.promise]);
      } catch (error) {
        if (signal.aborted) throw reasonOf(signal);
        const final = finalError(error);
        if (final !== undefined) throw final;
        hinder(describeHindrance(error));
        await sleepOrThrow(clock, backoffMs(failures, publishBackoff, random), signal);
      }
    }
  } finally {
    aborted.release();
  }
}

function headersOf(
  { now, signer, source }: PublishPorts,
  type: RequestType,
  id: string,
  value: string,
): Record<string, string> {
  const at = now();
  const headers = {
    'content-type': 'application/json',
    ce_specversion: '1.0',
    ce_id: id,
    ce_source: source,
    ce_type: type,
    ce_time: new Date(at).toISOString(),
    ...traceHeaders(),
  };
  if (signer === undefined) return headers;
  const signature = signer(value, { ce_id: id, ce_type: type, iat: Math.floor(at / 1000) });
  return { ...headers, [signatureHeader]: signature };
}
