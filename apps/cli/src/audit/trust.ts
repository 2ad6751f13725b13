import { existsSync, readFileSync } from 'node:fs';
import { isOfTenant, parseVkey, parseWitnessPolicy, readAnchors } from '@countersign/audit';
import type { Anchor, VerifierKey, WitnessPolicy } from '@countersign/audit';
import { usageError } from '../cli-error.js';

/** Reads the keys of `--vkey`. @throws CliError for a line that is no key. */
export function readKeys(file: string | undefined): readonly VerifierKey[] {
  if (file === undefined) return [];
  const lines = textOf(file)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const keys = lines.map((line) => {
    const key = parseVkey(line);
    if (key === undefined) throw usageError(`--vkey: "${line.slice(0, 80)}" is no key.`, keyRemedy);
    return key;
  });
  if (keys.length === 0) throw usageError('--vkey: there is no key in it.', keyRemedy);
  return keys;
}

const keyRemedy = 'A key is one line: name, eight hex digits and base64, with plus signs between.';

/** Reads the policy of `--policy`. @throws CliError for a text that is none. */
export function readPolicy(file: string | undefined): WitnessPolicy | undefined {
  if (file === undefined) return undefined;
  const parsed = parseWitnessPolicy(textOf(file));
  if ('policy' in parsed) return parsed.policy;
  throw usageError(
    `--policy: ${parsed.problem}.`,
    'It is a policy of C2SP, with lines log, witness, group and quorum.',
  );
}

/** Reads the checkpoints of `--since`. @throws CliError for a text that is anything else. */
export function readSince(fileOrText: string | undefined): readonly Anchor[] {
  if (fileOrText === undefined) return [];
  const anchors = readAnchors(textOf(fileOrText));
  if (anchors !== undefined) return anchors;
  const remedy =
    'A checkpoint is three lines, an empty one and its signatures: keep what `countersign audit checkpoint` printed, whole.';
  throw usageError('--since: it is no checkpoint, and no file with checkpoints.', remedy);
}

/** The checkpoints of this tenant. @throws CliError when there are some, and none of this tenant. */
export function ofTenant(anchors: readonly Anchor[], tenant: string): readonly Anchor[] {
  const own = anchors.filter((anchor) => isOfTenant(anchor, tenant));
  if (anchors.length === 0 || own.length > 0) return own;
  const origins = [...new Set(anchors.map(({ origin }) => origin))].join(', ');
  throw usageError(
    `--since: its checkpoints are of ${origins}, and the log is of the tenant "${tenant}".`,
    'Name --tenant.',
  );
}

function textOf(fileOrText: string): string {
  const isFile = !fileOrText.includes('\n') && existsSync(fileOrText);
  if (isFile) return readFileSync(fileOrText, 'utf8');
  if (fileOrText.includes('\n')) return fileOrText;
  throw usageError(`There is no file ${fileOrText}.`);
}
