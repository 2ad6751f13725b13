import { Readable } from 'node:stream';
import type { Backtest, BacktestSummary, ChangedCall } from '@countersign/contracts';
import { linesOf } from '@countersign/http-client';
import type { PolicyContent } from '@countersign/policy';
import { localError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { changeLines } from './policy-recorded.js';
import { readPolicyFile } from './policy-input.js';

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
  const changes: ChangedCall[] = [];
  const summary = await readBacktest(invocation, { content: content.source, ...options }, (change) => {
    invocation.printJson(change);
    changes.push(change);
  });
  invocation.printJson({ summary });
  invocation.print(...changeLines(summary, changes));
  return exitCodes.ok;
}

/** The rules of a policy that judged no recorded call. @throws CliError when the server cannot be asked. */
export async function unmatchedRules(invocation: Invocation, content: PolicyContent): Promise<readonly string[]> {
  const { rules } = await readBacktest(invocation, { content: content.source }, () => undefined);
  const used = new Set(rules.filter(({ calls }) => calls > 0).map(({ ruleId }) => ruleId));
  return content.rules.map(({ id }) => id).filter((id) => !used.has(id));
}

async function readBacktest(
  { client, terminal }: Invocation,
  body: Backtest,
  onChange: (change: ChangedCall) => void,
): Promise<BacktestSummary> {
  const response = await client.open('/v1/policy/backtest', { method: 'POST', body, signal: terminal.interrupted });
  const stream = response.body === null ? Readable.from([]) : Readable.fromWeb(response.body);
  for await (const line of linesOf(stream)) {
    const read = JSON.parse(line) as ChangedCall | { readonly summary: BacktestSummary };
    if ('summary' in read) return read.summary;
    onChange(read);
  }
  const detail = 'The server ended the back-test before its summary.';
  throw localError('unreachable', 'connection-lost', detail, 'Look at its log, and try again.');
}
