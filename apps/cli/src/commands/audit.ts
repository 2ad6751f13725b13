import { parseCheckpoint, parseNote } from '@countersign/audit';
import { localError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { sealed } from '../text/printable.js';

/** The options of `countersign audit checkpoint`. */
export interface CheckpointOptions {
  readonly now?: boolean;
}

/** `countersign audit checkpoint`: prints a signed checkpoint, byte for byte. With `--json` it prints what it says, too. */
export async function checkpoint(invocation: Invocation, { now = false }: CheckpointOptions): Promise<ExitCode> {
  const note = await textOf(invocation, '/v1/log/checkpoint', now ? 'POST' : 'GET');
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
  return exitCodes.ok;
}

/** `countersign audit keys`: prints the vkeys of the tenant, one a line. */
export async function keys(invocation: Invocation): Promise<ExitCode> {
  const text = await textOf(invocation, '/v1/log/vkey', 'GET');
  invocation.printJson({ keys: text.split('\n').filter((line) => line !== '') });
  printText(invocation, text);
  return exitCodes.ok;
}

async function textOf({ client, terminal }: Invocation, path: string, method: 'GET' | 'POST'): Promise<string> {
  const response = await client.open(path, { method, signal: terminal.interrupted });
  return response.text();
}

/** The lines as they are: what is signed must not be wrapped. */
function printText({ json, terminal }: Invocation, text: string): void {
  if (json) return;
  for (const line of text.replace(/\n$/, '').split('\n')) terminal.stdout.write(`${sealed(line)}\n`);
}
