import type { LogEvent } from '@countersign/contracts';
import type { EventStore, SubscriptionHandler } from '@countersign/event-store';
import { sleep } from '@countersign/runtime';
import type { RoleProcess } from './role-process.js';

const retryMs = 500;

/**
 * Follows the log from its beginning and without end, also when a subscription ends. Resolves when what is recorded now has
 * been read. The readiness check `name` fails while the log cannot be followed.
 */
export async function followLog(
  { clock, log, stopping, check, onStop }: Pick<RoleProcess, 'clock' | 'log' | 'stopping' | 'check' | 'onStop'>,
  name: string,
  store: Pick<EventStore, 'subscribe'>,
  {
    onEvents,
    streams,
  }: Pick<SubscriptionHandler, 'streams'> & { readonly onEvents: (events: readonly LogEvent[]) => void },
): Promise<void> {
  const caughtUp = Promise.withResolvers<undefined>();
  let position = 0;
  let problem: string | undefined = 'the log is being read';
  check({
    name,
    check: () => (problem === undefined ? { status: 'ok' } : { status: 'failing', why: problem }),
  });
  const follow = (): void => {
    const subscription = store.subscribe(position, {
      ...(streams !== undefined && { streams }),
      onEvents: (events) => {
        onEvents(events);
        position = events.at(-1)?.position ?? position;
      },
      onCaughtUp: () => {
        caughtUp.resolve(undefined);
        problem = undefined;
      },
      onError: (error) => {
        problem = error instanceof Error ? error.message : String(error);
        log.error({ error }, `the log cannot be followed: ${name}`);
        void sleep(clock, retryMs, stopping).then(() => {
          if (!stopping.aborted) follow();
        });
      },
    });
    stop = subscription.stop;
  };
  let stop: () => Promise<void> = () => Promise.resolve();
  follow();
  onStop(() => stop());
  stopping.addEventListener('abort', () => {
    caughtUp.reject(stopping.reason);
  });
  await caughtUp.promise;
}
