import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** A reader of `GET /v1/events` from the first event on, which reconnects after every break. */
export interface Follower {
  /** The received positions, in order. */
  readonly positions: () => readonly number[];
  readonly breaks: () => number;
  readonly stop: () => Promise<void>;
}

/** Starts to follow the events of the token's tenant. */
export function follow(port: number, token: string): Follower {
  const positions: number[] = [];
  const agent = new Agent();
  const stopping = new AbortController();
  let breaks = 0;
  const readOnce = (): Promise<void> =>
    new Promise((resolve) => {
      const lastSeen = positions.at(-1);
      const headers = {
        authorization: `Bearer ${token}`,
        ...(lastSeen === undefined ? {} : { 'last-event-id': String(lastSeen) }),
      };
      const { signal } = stopping;
      const request = get({ agent, host: '127.0.0.1', port, path: '/v1/events', headers, signal }, (answer) => {
        let rest = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => {
          const blocks = (rest + chunk).split('\n\n');
          rest = blocks.pop() ?? '';
          // Only a complete block is an event: a kill may truncate the last one.
          for (const block of blocks) {
            const id = /^id: ?(\d+)$/m.exec(block)?.[1];
            if (id !== undefined) positions.push(Number(id));
          }
        });
        answer.on('error', () => undefined);
        answer.on('close', resolve);
      });
      request.on('error', () => {
        resolve();
      });
    });
  const following = (async () => {
    while (!stopping.signal.aborted) {
      await readOnce();
      breaks += 1;
      await sleep(20);
    }
  })();
  return {
    positions: () => positions,
    breaks: () => breaks,
    stop: async () => {
      stopping.abort();
      await following;
      agent.destroy();
    },
  };
}
