import { sleep } from '@countersign/runtime';
import type { RoleProcess } from '../role-process.js';
import type { NotaryClient } from './notary-client.js';

const askAgainMs = 1_000;

/**
 * Asks the notaries each second why the log is read-only. Returns their last answer; undefined: it is not, or none has answered
 * yet. A notary that is away changes nothing: the log stays as it was.
 */
export function watchRewound(
  { clock, log, stopping }: Pick<RoleProcess, 'clock' | 'log' | 'stopping'>,
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
  return () => why;
}
