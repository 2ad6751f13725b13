import { Agent, createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A moment between two steps of a call. The agent is killed there. */
export interface CrashPoint {
  /** The message of the agent to the ledger. */
  readonly step: 'request' | 'claim' | 'outcome';
  /** `before`: the message does not reach the ledger. `after`: its response does not reach the agent. */
  readonly side: 'before' | 'after';
}

/** A proxy between an agent and the ledger that stops at a crash point. */
export interface CrashProxy {
  /** The address that the agent uses for the ledger. */
  readonly url: string;
  /** Resolves when the agent is at the crash point. It waits there until it is killed. */
  readonly reached: Promise<void>;
  /** Lets every later message pass. */
  readonly release: () => void;
  readonly close: () => Promise<void>;
}

const paths = { request: /^\/v1\/tool-calls$/, claim: /\/claim$/, outcome: /\/outcome$/ } as const;

/** Passes on the requests of an agent to the ledger at `target`, and stops at the crash point. */
export async function openCrashProxy(target: string, { step, side }: CrashPoint): Promise<CrashProxy> {
  const { promise: reached, resolve: reach } = Promise.withResolvers<undefined>();
  const agent = new Agent({ keepAlive: true });
  let stops = true;
  const server = createServer((incoming, outgoing) => {
    const isStopped = stops && isMessage(incoming, step);
    if (isStopped && side === 'before') {
      reach(undefined);
      return;
    }
    const url = new URL(incoming.url ?? '/', target);
    const headers = { ...incoming.headers, host: url.host };
    const passedOn = request(url, { agent, method: incoming.method, headers }, (response) => {
      if (isStopped) {
        response.resume().once('end', () => reach(undefined));
        return;
      }
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    passedOn.once('error', () => outgoing.destroy());
    incoming.pipe(passedOn);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    reached,
    release: () => {
      stops = false;
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      agent.destroy();
      await closed;
    },
  };
}

function isMessage({ method, url = '' }: IncomingMessage, step: CrashPoint['step']): boolean {
  return method === 'POST' && paths[step].test(url);
}
