import { readFileSync } from 'node:fs';
import { readRoots } from '@countersign/timestamps/roots';
import { usageError } from '../cli-error.js';
import type { OpenJudge } from './timestamps.js';

/**
 * Judges time stamps by the authorities of a PEM file; without one it trusts none. The libraries are loaded when there is something to
 * judge. @throws CliError for a file that has none
 */
export function createStampJudge(file: string | undefined): OpenJudge {
  const roots = file === undefined ? undefined : readRoots(textOf(file));
  if (file !== undefined && roots === undefined) {
    throw usageError(`--tsa-ca: ${file} has no certificates of authorities.`, 'Name a PEM file with their roots.');
  }
  return async () => {
    const { verifyTimestamp } = await import('@countersign/timestamps');
    return ({ text, reply }) => {
      const verified = verifyTimestamp(reply, { text, roots });
      if (verified.status === 'refused') return verified;
      const { time, signer } = verified;
      return { status: roots === undefined ? 'untrusted' : 'trusted', time, signer };
    };
  };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw usageError(`--tsa-ca: the file cannot be read: ${why}.`, 'Name a PEM file with the roots.');
  }
}
