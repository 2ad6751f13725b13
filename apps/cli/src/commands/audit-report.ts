import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LogEventView } from '@countersign/contracts';
import { createReportFold, csvLine, reportColumns, reportLists, reportPage } from '@countersign/exports';
import type { PrintedList, ReportList, ReportRow } from '@countersign/exports';
import { printable } from '@countersign/text';
import { emptyFolder, openText } from '../audit/output-folder.js';
import type { TextFile } from '../audit/output-folder.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import { eachBodyLine } from '../connection/body-lines.js';
import { damagedError, missingOf } from '../audit/event-pages.js';
import type { Invocation } from '../invocation.js';

/** The options of `countersign audit report`. */
export interface ReportOptions {
  readonly output: string;
  readonly since?: string;
  readonly until?: string;
}

/** `countersign audit report`: writes who approved what, and the exceptions, as a page and as tables. */
export async function report(invocation: Invocation, options: ReportOptions): Promise<ExitCode> {
  const { client, terminal } = invocation;
  const folder = emptyFolder(options.output);
  const { tenant } = await client.get<{ readonly tenant: string }>('/v1/me');
  const lists = openLists(folder);
  const fold = createReportFold(lists.add);
  for await (const event of eventsOf(invocation, options)) {
    if (fold.isLost(event)) fold.recall(await earlierEvents(invocation, event));
    fold.take(event);
    await lists.written();
    if (terminal.interrupted.aborted) return exitCodes.interrupted;
  }
  const printed = await lists.end();
  const { since = null, until = null } = options;
  const madeAt = new Date(client.serverNow()).toISOString();
  const page = reportPage({ tenant, since, until, madeAt, checkpoint: await checkpointOf(invocation) }, printed);
  writeFileSync(join(folder, 'index.html'), page, { mode: 0o600 });
  const rows = Object.fromEntries([...printed].map(([list, one]) => [list, one.rows]));
  invocation.printJson({ path: folder, tenant, since, until, rows });
  invocation.print(
    { text: printable(join(folder, 'index.html')), tone: 'green' },
    ...[...printed].map(([list, one]) => ({ text: `  ${String(one.rows).padStart(8)}  ${reportLists[list]}` })),
  );
  return exitCodes.ok;
}

/** The masked events of the period, page by page. */
async function* eventsOf(
  { client, terminal }: Invocation,
  { since, until }: ReportOptions,
): AsyncIterable<LogEventView> {
  const query = new URLSearchParams({ limit: '10000', ...(since && { since }), ...(until && { until }) });
  let path: string | undefined = `/v1/audit/events?${query.toString()}`;
  while (path !== undefined) {
    const response: Response = await client.open(path, { signal: terminal.interrupted });
    const missing = missingOf(response);
    if (missing.length > 0) throw damagedError(missing);
    for await (const line of eachBodyLine(response)) yield JSON.parse(line) as LogEventView;
    path = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
  }
}

/** What was recorded about the call of an event before it. */
async function earlierEvents({ client }: Invocation, { callId, position }: LogEventView): Promise<LogEventView[]> {
  const path = `/v1/audit/tool-calls/${encodeURIComponent(callId ?? '')}/events`;
  const { events } = await client.get<{ readonly events: readonly LogEventView[] }>(path);
  return events.filter((event) => event.position < position);
}

/** A server that signs no checkpoints has none to show. */
async function checkpointOf({ client }: Invocation): Promise<string | null> {
  const { status, text } = await client.look('/v1/log/checkpoint');
  return status === 200 ? text : null;
}

const columns = Object.keys(reportColumns) as (keyof typeof reportColumns)[];
/** How many rows of a list are on the page. */
const shownMax = 1_000;

interface OpenList {
  readonly file: TextFile;
  readonly shown: ReportRow[];
  rows: number;
}

function openLists(folder: string) {
  const lists = new Map<ReportList, OpenList>();
  const writing: Promise<void>[] = [];
  const names = Object.keys(reportLists) as ReportList[];
  for (const list of names) {
    const file = openText(join(folder, fileOf(list)));
    writing.push(file.write(csvLine(columns)));
    lists.set(list, { file, shown: [], rows: 0 });
  }
  return {
    add: (name: ReportList, row: ReportRow): void => {
      const list = lists.get(name);
      if (list === undefined) return;
      list.rows += 1;
      if (list.shown.length < shownMax) list.shown.push(row);
      writing.push(list.file.write(csvLine(columns.map((column) => row[column] ?? null))));
    },
    written: async (): Promise<void> => {
      if (writing.length > 0) await Promise.all(writing.splice(0));
    },
    end: async (): Promise<ReadonlyMap<ReportList, PrintedList>> => {
      await Promise.all(writing.splice(0));
      await Promise.all([...lists.values()].map(({ file }) => file.end()));
      return new Map([...lists].map(([name, { rows, shown }]) => [name, { rows, shown, file: fileOf(name) }]));
    },
  };
}

function fileOf(list: ReportList): string {
  return `${list}.csv`;
}
