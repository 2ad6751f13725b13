import { sleep } from '@countersign/runtime';
import type { ReadinessCheck, RuntimePorts } from '@countersign/shell';
import type { NotaryClient } from './notary-client.js';

const askAgainMs = 1_000;

/** The process that asks, with its readiness checks. */
interface WatchingProcess extends Pick<RuntimePorts, 'clock' | 'log'> {
  readonly stopping: AbortSignal;
  readonly check: (check: ReadinessCheck) => void;
}

/**
 * Asks the notaries each second why the log is read-only. Returns their last answer; undefined: it is not, or none has answered
 * yet. A notary that is away changes nothing: the log stays as it was. `/readyz` tells it, and stays ready: what is recorded can be
 * read.
 */
export function watchRewound(
  { clock, log, stopping, check }: WatchingProcess,
  { readOnly }: Pick<NotaryClient, 'readOnly'>,
): () => string | undefined {
  let why: string | undefined;
  const askOnce = async (): Promise<void> => {
    const was = why;
    why = await readOnly();
    if (why !== undefined && was === undefined) log.error({ why }, 'the log is read-only');
    if (why === undefined && was !== undefined) log.info({}, 'the log is writable again');
  };
  const watch = async (): Promise<void> => {
    while (!stopping.aborted) {
      // The routes of the log tell that no notary answers.
      await askOnce().catch(() => undefined);
      await sleep(clock, askAgainMs, stopping);
    }
  };
  void watch();
  check({
    name: 'log',
    check: () => (why === undefined ? { status: 'ok' } : { status: 'ok', note: `read-only: ${why}` }),
  });
  return () => why;
}
