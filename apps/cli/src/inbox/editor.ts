import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '@countersign/contracts';
import { CliError, localError } from '../cli-error.js';
import { isJsonObject, parseJsonInput } from '../json-input.js';
import type { Terminal } from '../terminal.js';
import { safeJson } from '../text/printable.js';

/** The editor's content was not a JSON object. `text` keeps it so that the person can continue. */
export class NotArgumentsError extends CliError {
  constructor(
    readonly text: string,
    reason: CliError,
  ) {
    super(reason.exitCode, reason.problem, reason.remedy);
  }
}

/**
 * Opens $VISUAL or $EDITOR on arguments, or on the text of an earlier attempt, and gives back what was saved.
 * @throws NotArgumentsError when that is no JSON object; CliError when no editor can be run.
 */
export async function editJson(
  value: JsonObject,
  terminal: Terminal,
  draft?: string,
): Promise<{ readonly value: JsonObject; readonly text: string }> {
  // The folder is ours alone (0700): the arguments are not for others on this machine.
  const folder = await mkdtemp(join(tmpdir(), 'countersign-'));
  const file = join(folder, 'arguments.json');
  try {
    await writeFile(file, draft ?? `${safeJson(value, 2)}\n`, { mode: 0o600 });
    await terminal.holdingInterrupts(() => runEditor(file, terminal));
    return asArguments(await readFile(file, 'utf8'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function asArguments(text: string): { readonly value: JsonObject; readonly text: string } {
  try {
    const parsed = parseJsonInput('The saved text', text);
    if (isJsonObject(parsed.value)) return { value: parsed.value, text };
    throw localError('usage', 'usage', 'The arguments must be a JSON object.');
  } catch (error) {
    throw error instanceof CliError ? new NotArgumentsError(text, error) : error;
  }
}

function runEditor(file: string, { env }: Terminal): Promise<void> {
  const windows = process.platform === 'win32';
  const editor = env['VISUAL'] ?? env['EDITOR'] ?? (windows ? 'notepad' : 'vi');
  // Like git: the setting is a command line of the person's own, such as "code --wait".
  const child = windows
    ? spawn(`${editor} "${file}"`, { stdio: 'inherit', shell: true, env })
    : spawn('sh', ['-c', `${editor} "$@"`, editor, file], { stdio: 'inherit', env });
  return new Promise((resolve, reject) => {
    const fail = (why: string): void =>
      reject(
        localError(
          'unexpected',
          'editor-failed',
          `The editor "${editor}" ${why}. Nothing was sent.`,
          'Set EDITOR to another one.',
        ),
      );
    child.on('error', (error) => fail(`cannot be run: ${error.message}`));
    child.on('exit', (code, signal) => (code === 0 ? resolve() : fail(`ended with ${signal ?? String(code)}`)));
  });
}
