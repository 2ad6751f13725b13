import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type { BacktestSummary, ChangedCall } from '@countersign/contracts';
import { localError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { changeLines } from './policy-recorded.js';
import { readPolicyFile } from './policy.js';

/** The recorded calls to compare with. */
export interface BacktestOptions {
  readonly from?: string;
  readonly to?: string;
}

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
  invocation.print(...changeLines(summary, changes));
  return exitCodes.ok;
}
