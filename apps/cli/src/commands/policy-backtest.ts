import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type { BacktestSummary, ChangedCall } from '@countersign/contracts';
import { printable } from '@countersign/text';
import { localError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import type { Line } from '../view/line.js';
import { readPolicyFile } from './policy.js';

/** The recorded calls to compare with. */
export interface BacktestOptions {
  readonly from?: string;
  readonly to?: string;
}

/** The listed calls of each rule; the others are counted. */
const listedMax = 10;

/**
 * `countersign policy backtest <file>`: the recorded calls that this file would judge differently, grouped by the rule
 * that judges them now.
 */
export async function backtest(invocation: Invocation, file: string, options: BacktestOptions): Promise<ExitCode> {
  const { content } = await readPolicyFile(invocation, file);
  const response = await invocation.client.open('/v1/policy/backtest', {
    method: 'POST',
    body: { content: content.source, ...options },
    signal: invocation.terminal.interrupted,
  });
  const changes: ChangedCall[] = [];
  for await (const line of linesOf(response)) {
    const read = JSON.parse(line) as ChangedCall | { readonly summary: BacktestSummary };
    invocation.printJson(read);
    if ('summary' in read) return printSummary(invocation, read.summary, changes);
    changes.push(read);
  }
  const detail = 'The server ended the back-test before its summary.';
  throw localError('unreachable', 'connection-lost', detail, 'Look at its log, and try again.');
}

async function* linesOf({ body }: Response): AsyncGenerator<string> {
  if (body !== null) yield* createInterface({ input: Readable.fromWeb(body) });
}

function printSummary(invocation: Invocation, summary: BacktestSummary, changes: readonly ChangedCall[]): ExitCode {
  const count = (calls: number): string => calls.toLocaleString('en-US');
  const calls = `${count(summary.changed)} of ${count(summary.calls)} calls would be judged differently`;
  invocation.print(
    { text: calls, tone: summary.changed === 0 ? 'green' : 'yellow' },
    ...summary.rules.flatMap((rule): Line[] => {
      const listed = changes.filter(({ after }) => after.ruleId === rule.ruleId);
      const more = listed.length - listedMax;
      return [
        { text: printable(`${rule.ruleId}: ${ruleWords(rule, count)}`), tone: 'bold' },
        ...listed.slice(0, listedMax).map((change): Line => ({ text: printable(`  ${changeWords(change)}`) })),
        ...(more > 0 ? [{ text: `  and ${count(more)} more: --json has all of them`, tone: 'dim' } as const] : []),
      ];
    }),
  );
  return exitCodes.ok;
}

function ruleWords({ calls, changed }: BacktestSummary['rules'][number], count: (calls: number) => string): string {
  if (calls === 0) return 'judges no recorded call';
  return `judges ${count(calls)}, ${changed === 0 ? 'none' : count(changed)} of them differently`;
}

function changeWords({ callId, toolName, before, after, differs }: ChangedCall): string {
  const from = `${before.outcome} by ${before.ruleId}`;
  const what = before.outcome === after.outcome ? `${after.outcome}, other ${differs.join(', ')}` : after.outcome;
  return `${callId} ${toolName}: ${from}, now ${what}`;
}
