import { readFileSync, statSync } from 'node:fs';
import { parseProofFile, parseStored, verifyProofFile } from '@countersign/audit';
import type { CheckName, ProofFile } from '@countersign/audit';
import { usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { openLines } from './file-lines.js';
import { boundedChanges } from './key-change-lines.js';
import { ofTenant, readKeys, readPolicy, readSince } from './trust.js';
import type { VerifyOptions, VerifyOutput } from './verify-log.js';
import { createVerifyReport } from './verify-report.js';

/** It is read whole. The proof of a call with hundreds of rounds and large edits may be larger. */
const bytesMax = 64 * 1024 * 1024;

/** The proof in a file; undefined for a file that is none. @throws CliError for a proof that cannot be read */
export function readProofFile(path: string): ProofFile | undefined {
  if (hasLinesOfEvents(path)) return undefined;
  if (statSync(path).size > bytesMax) {
    throw usageError(
      `${path} is larger than 64 MiB, and is no export of events with one per line: a proof of one call is not read then.`,
      'Verify the whole log, or a bundle of it.',
    );
  }
  const text = readFileSync(path, 'utf8');
  const proof = parseProofFile(text);
  if (proof !== undefined || !text.includes('"countersign-proof/')) return proof;
  throw usageError(
    `${path} is a proof of a call that cannot be read: it was cut off or changed, or a later version wrote it. ` +
      'A proof has no other member and none twice, no number of more digits than JSON keeps, at most 1,000 levels and 524,288 values.',
    'Get it again, or verify the whole log.',
  );
}

/** Returns whether the first line of a file is a whole JSON object, and no proof. */
function hasLinesOfEvents(path: string): boolean {
  const lines = openLines(path);
  try {
    const first = parseStored(lines.next()?.text ?? '');
    return typeof first === 'object' && first !== null && !('events' in first);
  } finally {
    lines.close();
  }
}

/** Verifies the proof of a call. */
export function verifyProof(output: VerifyOutput, file: ProofFile, options: VerifyOptions): ExitCode {
  const { tenant, callId, events, keyChanges = [] } = file;
  boundedChanges('The proof', keyChanges);
  const [keys, policy] = [readKeys(options.vkey), readPolicy(options.policy)];
  const since = ofTenant(readSince(options.since), tenant);
  const report = createVerifyReport(output, options.all === true);
  const end = verifyProofFile(file, { keys, policy, since, onFinding: report.onFinding });
  const checks: readonly CheckName[] = ['read', 'body', 'order', 'legal', 'digest', 'policy', 'tree'];
  const more: readonly CheckName[] = [
    ...(keys.length > 0 || policy !== undefined ? (['signature'] as const) : []),
    ...(since.length > 0 ? (['since'] as const) : []),
  ];
  report.end(
    { ...end, tenant },
    [...checks, ...more],
    `the ${String(events.length)} events about call ${callId}, in a log of `,
  );
  return end.exit;
}
