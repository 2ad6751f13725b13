import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Authority } from './authority.js';

/** What a hostile or broken authority does with a query. */
export type Answering = (query: Buffer, response: ServerResponse, request: IncomingMessage) => void;

/** An authority that listens on this machine. */
export interface ServedAuthority {
  readonly url: string;
  /** The queries that came. */
  readonly queries: readonly Buffer[];
  /** Answers in another way from now on; undefined: honestly. */
  readonly answerWith: (answering: Answering | undefined) => void;
  readonly close: () => Promise<void>;
}

/** Serves an authority over HTTP. */
export async function serveAuthority({ answer }: Pick<Authority, 'answer'>): Promise<ServedAuthority> {
  const queries: Buffer[] = [];
  let answering: Answering | undefined;
  const server = createServer((request, response) => {
    void buffer(request).then((query) => {
      queries.push(query);
      if (answering !== undefined) answering(query, response, request);
      else response.writeHead(200, { 'content-type': 'application/timestamp-reply' }).end(answer(query));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    ...{ queries, url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/tsa` },
    answerWith: (next) => {
      answering = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
