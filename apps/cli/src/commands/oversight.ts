import type { OversightFigures, OversightReport } from '@countersign/contracts';
import { durationWords, printable, timeWords } from '@countersign/text';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { sealed } from '../text/printable.js';
import { fit, widthOf } from '../text/width.js';
import type { Line } from '../view/line.js';

/** The options of `countersign oversight`. */
export interface OversightCommand {
  readonly by?: string;
  readonly from?: string;
  readonly to?: string;
  readonly fastMs?: number;
  readonly csv?: boolean;
}

/** The log of a long period takes a while to read. */
const timeoutMs = 180_000;
const keyColumnsMax = 40;

/** `countersign oversight`: prints how people decided in a period, as a table, as CSV or as JSON. */
export async function oversight(invocation: Invocation, { csv, ...query }: OversightCommand): Promise<ExitCode> {
  const { client, terminal } = invocation;
  if (csv === true && !invocation.json) {
    const signal = terminal.interrupted;
    const response = await client.open('/v1/oversight', { query: { ...query, format: 'csv' }, signal });
    const lines = (await response.text()).trimEnd().split('\r\n');
    for (const line of lines) terminal.stdout.write(`${sealed(line)}\n`);
    return exitCodes.ok;
  }
  const report = await client.get<OversightReport>('/v1/oversight', { query: { ...query }, timeoutMs });
  invocation.printJson(report);
  invocation.print(...reportLines(report));
  return exitCodes.ok;
}

const columns: readonly (readonly [head: string, cell: (figures: OversightFigures) => string])[] = [
  ['decided', ({ decisions }) => String(decisions)],
  ['denied', ({ rejectionRate }) => percent(rejectionRate)],
  ['median', ({ medianMs }) => time(medianMs)],
  ['p90', ({ p90Ms }) => time(p90Ms)],
  ['fast', ({ fastApprovals }) => some(fastApprovals)],
  ['asked', ({ requests }) => some(requests)],
  ['expired', ({ expiries }) => some(expiries)],
  ['escal.', ({ escalations }) => some(escalations)],
];

function reportLines({ by, from, to, scope, fast, complete, rows, others, total }: OversightReport): Line[] {
  const named = rows.map(
    ({ key, ...figures }) => [key === null ? '(no person)' : printable(key, 200), figures] as const,
  );
  const left = others === null ? [] : [['(others)', others] as const];
  const all = [...named, ...left, ['(all)', total] as const];
  const keyColumns = Math.min(keyColumnsMax, Math.max(by.length, ...all.map(([key]) => widthOf(key))));
  const lineOf = (key: string, cells: readonly string[]): string =>
    `${fit(key, keyColumns)}  ${cells.map((cell) => cell.padStart(8)).join('')}`;
  const least =
    fast.perCharacterMs === 0 ? time(fast.baseMs) : `${time(fast.baseMs)} and the time to read the arguments`;
  return [
    { text: `${timeWords(from)} to ${timeWords(to)}${scope === 'own' ? ', your own decisions' : ''}` },
    {
      text: lineOf(
        by,
        columns.map(([head]) => head),
      ),
      tone: 'bold',
    },
    ...all.map(([key, figures]): Line => ({
      text: lineOf(
        key,
        columns.map(([, cell]) => cell(figures)),
      ),
    })),
    { text: `fast: approved in less than ${least}. A hint to look closer, not a proof.`, tone: 'dim' },
    ...(complete
      ? []
      : [{ text: 'The period is longer than a report reads: ask for a shorter one.', tone: 'red' } as const]),
  ];
}

function percent(rate: number | null): string {
  return rate === null ? '-' : `${String(Math.round(rate * 100))}%`;
}

function time(ms: number | null): string {
  if (ms === null) return '-';
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : durationWords(ms);
}

function some(count: number): string {
  return count === 0 ? '-' : String(count);
}
