import type { ErasureView } from '@countersign/contracts';
import { printable } from '@countersign/text';
import { usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import type { Line } from '../view/line.js';
import { isConfirmed } from './confirm.js';

/** The options of `countersign erase`. */
export interface EraseOptions {
  readonly yes?: boolean;
  readonly force?: boolean;
  readonly reason?: string;
  readonly requestedBy?: string;
}

const path = '/v1/subjects/erase';
/** The keeper of a cluster waits up to a minute for a process that hangs, and for the slowest rebuild of a read model. */
const timeoutMs = 180_000;

/** `countersign erase <subject>`: counts what would be erased, asks, and erases. */
export async function erase(invocation: Invocation, subject: string, options: EraseOptions): Promise<ExitCode> {
  const { client } = invocation;
  const { reason, requestedBy, force = false, yes = false } = options;
  const named = { subject, ...(requestedBy !== undefined && { requestedBy }) };
  const preview = await client.post<ErasureView>(path, { body: { ...named, dryRun: true }, timeoutMs });
  invocation.print(...previewLines(preview, force));
  if (!yes && !(await isConfirmedByPerson(invocation))) {
    invocation.print({ text: 'Nothing is erased.' });
    return exitCodes.refused;
  }
  const body = { ...named, force, ...(reason !== undefined && { reason }) };
  const erasure = await client.post<ErasureView>(path, { body, timeoutMs });
  invocation.printJson(erasure);
  invocation.print(
    erasure.status === 'erased'
      ? {
          text: `Erased: ${countOf(erasure)}. The proof is in the stream ${printable(erasure.stream ?? '')}.`,
          tone: 'green',
        }
      : { text: 'There was nothing to erase.', tone: 'green' },
  );
  return exitCodes.ok;
}

function countOf({ values, calls }: ErasureView): string {
  return `${String(values)} ${values === 1 ? 'value' : 'values'} of ${String(calls)} ${calls === 1 ? 'call' : 'calls'}`;
}

function previewLines(preview: ErasureView, force: boolean): Line[] {
  const { openCalls, clearValues } = preview;
  const openWords = force ? 'are cancelled first' : 'are in the way: wait for them, or cancel them with --force';
  return [
    { text: `${printable(preview.subject)}: ${countOf(preview)} become unreadable for ever.`, tone: 'bold' },
    ...(openCalls.length === 0
      ? []
      : [{ text: `Open calls ${openWords}: ${printable(openCalls.join(', '))}`, tone: 'yellow' } as const]),
    ...(clearValues === 0
      ? []
      : [
          {
            text: `Recorded in clear by an older version, and not erased: ${String(clearValues)}.`,
            tone: 'yellow',
          } as const,
        ]),
  ];
}

function isConfirmedByPerson(invocation: Invocation): Promise<boolean> {
  if (invocation.json || !invocation.terminal.stdin.isTTY)
    throw usageError('This cannot be undone. Without a terminal, confirm it with --yes.');
  return isConfirmed(invocation, 'Erase them? This cannot be undone.');
}
