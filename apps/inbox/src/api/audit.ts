import type { LogEventView, StateAt } from '@countersign/contracts';
import { ProblemError, UnreachableError } from '@countersign/react/parts';
import type { Problem } from '@countersign/react/parts';
import { http, orUnreachable, ourHeaders, refusalOf, send } from './http.js';

/** A page of a search of the log. */
export interface LogPage {
  readonly events: readonly LogEventView[];
  /** The address of the next page; undefined: everything was looked through. */
  readonly next: string | undefined;
  /** Set when the log is damaged where the page looked: its sound events are shown. */
  readonly problem: Problem | undefined;
}

/** A page as a file. */
export interface LogFile {
  readonly body: Blob;
  readonly next: string | undefined;
}

export type LogFormat = 'ndjson' | 'csv' | 'parquet' | 'ocsf';

const path = '/v1/audit/events';
const timeoutMs = 60_000;

/** The address of the first page of a search. */
export function firstPage(query: URLSearchParams): string {
  return `${path}?${query.toString()}`;
}

/** One page of the log. @throws ProblemError, UnreachableError */
export async function readLogPage(address: string, signal: AbortSignal): Promise<LogPage> {
  const { body, next, missing } = await open(address, signal);
  const lines = (await body.text()).split('\n').filter((line) => line !== '');
  return {
    events: lines.map((line) => JSON.parse(line) as LogEventView),
    next,
    problem: missing === undefined ? undefined : damage(missing),
  };
}

/** One page of the log as a file. @throws ProblemError also when damaged events are missing, UnreachableError */
export async function readLogFile(address: string): Promise<LogFile> {
  const { missing, ...file } = await open(address, new AbortController().signal);
  if (missing !== undefined) throw new ProblemError(damage(missing));
  return file;
}

function damage(positions: string): Problem {
  const detail = `The log is damaged. What is recorded at these positions cannot be shown, and may belong to the search: ${positions.replaceAll(',', ', ')}.`;
  return { status: 200, code: 'log-damaged', detail };
}

/** How the tenant stood at a moment; now without one. */
export const readState = (asOf: string | undefined, signal: AbortSignal): Promise<StateAt> =>
  send('GET', `/v1/audit/state${asOf === undefined ? '' : `?asOf=${encodeURIComponent(asOf)}`}`, { signal });

async function open(address: string, signal: AbortSignal) {
  const over = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const response = await http.open({ path: address, headers: ourHeaders(), signal: over }).catch(orUnreachable);
    if (!response.ok) throw refusalOf(response.status, await response.json().catch(() => undefined), path);
    const next = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
    const missing = response.headers.get('countersign-log-missing') ?? undefined;
    return { body: await response.blob(), next, missing };
  } catch (error) {
    if (error instanceof TypeError || error instanceof DOMException)
      throw new UnreachableError('no answer', { cause: error });
    throw error;
  }
}
