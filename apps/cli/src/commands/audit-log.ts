import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { csvOf, linesOf, ocsfOf, parquetOf } from '@countersign/exports';
import type { EventPages } from '@countersign/exports';
import { eventPages } from '../audit/event-pages.js';
import { textLines } from '../audit/tile-reader.js';
import { usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { eventLines } from './tail.js';

/** The options of `countersign audit log`. */
export interface AuditLogOptions {
  readonly actor?: string;
  readonly types?: string;
  readonly tool?: string;
  readonly agent?: string;
  readonly run?: string;
  readonly call?: string;
  readonly rule?: string;
  readonly via?: string;
  readonly since?: string;
  readonly until?: string;
  readonly newest?: boolean;
  readonly limit?: number;
  readonly values?: 'masked' | 'clear' | 'stored';
  readonly format?: keyof typeof formats;
  readonly output?: string;
}

const formats = { ndjson: linesOf, csv: csvOf, parquet: parquetOf, ocsf: ocsfOf } as const;
const pageSize = 1000;

/** `countersign audit log`: prints the events that were searched for, or writes them as a file. */
export async function auditLog(invocation: Invocation, options: AuditLogOptions): Promise<ExitCode> {
  const { format, output, values, limit = Infinity } = options;
  const pages = eventPages(invocation, queryOf(options), limit);
  if (values === 'stored') return writeStored(invocation, pages, options);
  if (format !== undefined || output !== undefined) return writeFile(invocation, pages, format ?? 'ndjson', output);
  for await (const page of pages) {
    for (const event of page) {
      invocation.printJson(event);
      invocation.print(...eventLines(event, invocation.columns, 'with-day'));
    }
  }
  return exitCodes.ok;
}

function queryOf(options: AuditLogOptions): URLSearchParams {
  const { actor, types, tool, agent, run, call, rule, via, since, until, values, newest, limit = pageSize } = options;
  const given = {
    actor,
    types,
    toolName: tool,
    agentId: agent,
    runId: run,
    callId: call,
    ruleId: rule,
    via,
    since,
    until,
  };
  const named = Object.entries({ ...given, values }).filter((one): one is [string, string] => one[1] !== undefined);
  const order: [string, string][] = newest === true ? [['order', 'desc']] : [];
  return new URLSearchParams([...named, ...order, ['limit', String(Math.min(limit, pageSize))]]);
}

/** Writes what `audit verify` reads: the changes of the log key, then the events in their stored form. */
async function writeStored(
  invocation: Invocation,
  pages: EventPages,
  { format = 'ndjson', output }: AuditLogOptions,
): Promise<ExitCode> {
  if (format !== 'ndjson') throw usageError('The stored form has one event a line.', 'Leave --format out.');
  const { status, text } = await invocation.client.look('/v1/log/key-changes');
  const changes = status === 200 ? textLines(Buffer.from(text)) : [];
  return writePieces(invocation, piecesAfter(changes.map((line) => `${line}\n`).join(''), linesOf(pages)), output);
}

async function* piecesAfter(head: string, pieces: AsyncIterable<string>): AsyncGenerator<string, void> {
  if (head !== '') yield head;
  yield* pieces;
}

async function writeFile(
  invocation: Invocation,
  pages: EventPages,
  format: keyof typeof formats,
  output: string | undefined,
): Promise<ExitCode> {
  if (format === 'parquet' && output === undefined)
    throw usageError('A Parquet file is no text.', 'Name a file with -o.');
  return writePieces(invocation, formats[format](pages), output);
}

async function writePieces(
  { terminal }: Invocation,
  pieces: AsyncIterable<string | Uint8Array>,
  output: string | undefined,
): Promise<ExitCode> {
  const target = output === undefined ? terminal.stdout : createWriteStream(output, { mode: 0o600 });
  for await (const piece of pieces) if (!target.write(piece)) await once(target, 'drain');
  if (output !== undefined) {
    target.end();
    await once(target, 'finish');
  }
  return exitCodes.ok;
}
