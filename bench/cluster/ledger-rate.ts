import { randomUUID } from 'node:crypto';
import type { KafkaBus } from '@countersign/message-bus/kafka';
import { callsBetween } from './engines.ts';
import type { Engines } from './engines.ts';
import { untilRisen } from './progress-rate.ts';
import { createRequest } from './requests.ts';
import { startUsage } from './role-processes.ts';
import type { RoleProcess } from './role-processes.ts';

/** The ledger's speed with waiting requests. */
export interface LedgerRate {
  readonly perSecond: number;
  readonly ledgerCpuMsPerRequest: number;
  readonly storeCpuMsPerRequest: number;
  readonly appendsPerRequest: number;
  readonly readsPerRequest: number;
}

const handled = 'countersign_ledger_request_seconds_count';

/** Publishes this many requests at once, and measures until the ledger has recorded them all. */
export async function ledgerRate(
  engines: Engines,
  kafka: KafkaBus,
  ledger: RoleProcess,
  requests: number,
): Promise<LedgerRate> {
  const round = randomUUID().slice(0, 8);
  const messages = Array.from({ length: requests }, (_, n) => createRequest(`${round}-${String(n)}`).message);
  const before = await ledger.metric(handled);
  const callsBefore = await engines.storeCalls();
  const used = startUsage({ ledger: ledger.pid, store: engines.storePid });
  const startedAt = performance.now();
  await kafka.publisher.publish(kafka.topics.names.requests, messages);
  const read = async (): Promise<number> => (await ledger.metric(handled)) - before;
  const { perSecond } = await untilRisen(read, requests, startedAt);
  const { ledger: ledgerCpu = NaN, store: storeCpu = NaN } = used();
  const calls = callsBetween(callsBefore, await engines.storeCalls());
  return {
    perSecond,
    ledgerCpuMsPerRequest: ledgerCpu / requests,
    storeCpuMsPerRequest: storeCpu / requests,
    appendsPerRequest: calls.appends / requests,
    readsPerRequest: calls.streamReads / requests,
  };
}
