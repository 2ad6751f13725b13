import type { LogEventView } from '@countersign/contracts';
import { localError } from '../cli-error.js';
import type { CliError } from '../cli-error.js';
import { bodyLines } from '../connection/body-lines.js';
import type { Invocation } from '../invocation.js';

/**
 * The pages of a search of the log, until `limit` events were found.
 * @throws CliError after the last page, when the log is damaged where the search looked.
 */
export async function* eventPages(
  { client, terminal }: Pick<Invocation, 'client' | 'terminal'>,
  query: URLSearchParams,
  limit: number,
): AsyncGenerator<readonly LogEventView[], void> {
  let left = limit;
  const missing: string[] = [];
  let path: string | undefined = `/v1/audit/events?${query.toString()}`;
  while (path !== undefined && left > 0) {
    const response: Response = await client.open(path, { signal: terminal.interrupted });
    const lines = await bodyLines(response);
    const page = lines.slice(0, left).map((line) => JSON.parse(line) as LogEventView);
    left -= page.length;
    if (page.length > 0) yield page;
    missing.push(...missingOf(response));
    path = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
  }
  if (missing.length > 0) throw damagedError(missing);
}

/** The positions of the damaged events that a page cannot show. */
export function missingOf({ headers }: Response): readonly string[] {
  return headers.get('countersign-log-missing')?.split(',') ?? [];
}

/** Events could not be shown, because the log is damaged. */
export function damagedError(positions: readonly string[]): CliError {
  const some = positions.slice(0, 20).join(', ');
  const detail = `The log is damaged. What is recorded at these positions cannot be shown, and may belong to what was asked for: ${some}${positions.length > 20 ? ', …' : ''}.`;
  return localError(
    'unexpected',
    'log-damaged',
    detail,
    'See `countersign audit verify --all` and `countersign audit salvage`.',
  );
}
