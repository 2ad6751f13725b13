import { parseCheckpoint, parseNote } from '@countersign/audit';
import { localError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { sealed } from '../text/printable.js';

/** The options of `countersign audit checkpoint`. */
export interface CheckpointOptions {
  readonly now?: boolean;
  readonly pending?: boolean;
}

/** `countersign audit checkpoint`: prints a signed checkpoint, byte for byte. With `--json` it prints what it says, too. */
export async function checkpoint(
  invocation: Invocation,
  { now = false, pending = false }: CheckpointOptions,
): Promise<ExitCode> {
  const path = `/v1/log/checkpoint${pending && !now ? '?pending=true' : ''}`;
  printCheckpoint(invocation, await textOf(invocation, path, { method: now ? 'POST' : 'GET' }));
  return exitCodes.ok;
}

/** The options of `countersign audit continue`. */
export interface ContinueOptions {
  readonly reason: string;
}

/** `countersign audit continue`: goes on with a rewound log as the next epoch, and prints its first checkpoint. */
export async function continueLog(invocation: Invocation, { reason }: ContinueOptions): Promise<ExitCode> {
  printCheckpoint(invocation, await textOf(invocation, '/v1/log/continue', { method: 'POST', body: { reason } }));
  return exitCodes.ok;
}

function printCheckpoint(invocation: Invocation, note: string): void {
  const found = parseCheckpoint(parseNote(note)?.text ?? '');
  if (found === undefined) {
    throw localError(
      'unexpected',
      'no-checkpoint',
      'The server sent no checkpoint.',
      'Check --url or COUNTERSIGN_URL.',
    );
  }
  const { origin, size, root } = found;
  invocation.printJson({ origin, size, root: Buffer.from(root).toString('base64'), note });
  printText(invocation, note);
}

/** The options of `countersign audit keys`. */
export interface KeysOptions {
  readonly all?: true;
}

/** `countersign audit keys`: prints the vkeys of the tenant, one a line. */
export async function keys(invocation: Invocation, { all }: KeysOptions): Promise<ExitCode> {
  const text = await textOf(invocation, `/v1/log/vkey${all === true ? '?all=true' : ''}`, { method: 'GET' });
  invocation.printJson({ keys: text.split('\n').filter((line) => line !== '') });
  printText(invocation, text);
  return exitCodes.ok;
}

type Asked = Pick<NonNullable<Parameters<Invocation['client']['open']>[1]>, 'method' | 'body'>;

async function textOf({ client, terminal }: Invocation, path: string, asked: Asked): Promise<string> {
  const response = await client.open(path, { ...asked, signal: terminal.interrupted });
  return response.text();
}

/** The lines as they are: what is signed must not be wrapped. */
function printText({ json, terminal }: Invocation, text: string): void {
  if (json) return;
  for (const line of text.replace(/\n$/, '').split('\n')) terminal.stdout.write(`${sealed(line)}\n`);
}
