import { readFileSync, statSync } from 'node:fs';
import { parseProofFile, verifyProofFile } from '@countersign/audit';
import type { CheckName, ProofFile } from '@countersign/audit';
import type { ExitCode } from '../exit-codes.js';
import { boundedChanges } from './key-change-lines.js';
import { ofTenant, readKeys, readPolicy, readSince } from './trust.js';
import type { VerifyOptions, VerifyOutput } from './verify-log.js';
import { createVerifyReport } from './verify-report.js';

/** The events of one call weigh less: a run has a bounded number, of at most 1 MiB each. */
const bytesMax = 512 * 1024 * 1024;

/** The proof in a file; undefined for a file that is none. */
export function readProofFile(path: string): ProofFile | undefined {
  return statSync(path).size > bytesMax ? undefined : parseProofFile(readFileSync(path, 'utf8'));
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
