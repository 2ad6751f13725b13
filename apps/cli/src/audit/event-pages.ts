import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type { LogEventView } from '@countersign/contracts';
import type { Invocation } from '../invocation.js';

/** The pages of a search of the log, until `limit` events were found. */
export async function* eventPages(
  { client, terminal }: Pick<Invocation, 'client' | 'terminal'>,
  query: URLSearchParams,
  limit: number,
): AsyncGenerator<readonly LogEventView[], void> {
  let left = limit;
  let path: string | undefined = `/v1/audit/events?${query.toString()}`;
  while (path !== undefined && left > 0) {
    const response: Response = await client.open(path, { signal: terminal.interrupted });
    const page = (await linesOf(response)).slice(0, left);
    left -= page.length;
    if (page.length > 0) yield page;
    path = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
  }
}

async function linesOf({ body }: Response): Promise<readonly LogEventView[]> {
  const events: LogEventView[] = [];
  if (body === null) return events;
  const lines = createInterface({ input: Readable.fromWeb(body) });
  for await (const line of lines) if (line !== '') events.push(JSON.parse(line) as LogEventView);
  return events;
}
