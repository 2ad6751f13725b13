import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Rotation } from '@countersign/event-store';
import { printable } from '@countersign/text';
import { localError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../invocation.js';

/** The options of `countersign keys rotate`. */
export interface RotateOptions {
  readonly to?: string;
}

/** `countersign keys rotate`: wraps the keys of a data folder with a new root key. */
export async function rotate(output: Output, { to }: RotateOptions): Promise<ExitCode> {
  const { env } = output.terminal;
  const folder = resolve(env['COUNTERSIGN_DATA'] ?? './data');
  if (!existsSync(join(folder, 'keys.db'))) {
    const remedy = 'Set COUNTERSIGN_DATA to the data folder of a server.';
    throw localError('notFound', 'no-keys', `There is no keys.db in ${folder}.`, remedy);
  }
  const own = env['COUNTERSIGN_ROOT_KEY_FILE'] ?? '';
  const rotation = await rotated(folder, own === '' ? null : resolve(own), to === undefined ? null : resolve(to));
  output.printJson(rotation);
  output.print({ text: wordsOf(rotation), tone: 'green' });
  if (to !== undefined)
    output.print({ text: `Before the next start: COUNTERSIGN_ROOT_KEY_FILE=${printable(rotation.file)}` });
  output.print({
    text: 'Keep a copy of the new root key apart from the backups, and destroy all copies of the old one.',
  });
  return exitCodes.ok;
}

async function rotated(folder: string, rootKeyFile: string | null, to: string | null): Promise<Rotation> {
  const { EventStoreUnavailableError, RootKeyError, rotateRootKey } = await import('@countersign/event-store');
  const { createLog } = await import('@countersign/runtime');
  try {
    return rotateRootKey({ folder, rootKeyFile, log: createLog({ level: 'silent' }) }, to);
  } catch (error) {
    if (error instanceof EventStoreUnavailableError) {
      throw localError('notReady', 'in-use', `${error.message}.`, 'Stop the server for as long as this takes.');
    }
    if (!(error instanceof RootKeyError)) throw error;
    throw localError('refused', 'root-key', `${error.message}.`, 'docs/privacy.md says which files belong together.');
  }
}

function wordsOf({ status, file, keys }: Rotation): string {
  const name = printable(file);
  if (status === 'unchanged') return `${name} is the root key already.`;
  return `${String(keys)} ${keys === 1 ? 'key is' : 'keys are'} wrapped with the new root key ${name}.`;
}
