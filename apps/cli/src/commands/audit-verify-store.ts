import { createSpilledIds } from '../audit/spilled-ids.js';
import { openStoreLog } from '../audit/store-source.js';
import { verifyLog } from '../audit/verify-log.js';
import type { VerifyOptions, VerifyOutput } from '../audit/verify-log.js';
import { CliError, usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { refuseStamps } from '../audit/refuse-stamps.js';
import { createSpilledStreams } from '../sqlite/spilled-streams.js';

/** `countersign audit verify` of an event store. It is no part of `verify.mjs`, which has no client of a server. */
export async function verifyStore(output: VerifyOutput, url: string, options: VerifyOptions): Promise<ExitCode> {
  refuseStamps(options);
  const [streams, ids] = [createSpilledStreams(), createSpilledIds()];
  try {
    return await verifyLog({ output, options, streams, ids, openSource: () => openStoreLog(url) });
  } catch (error) {
    if (error instanceof CliError) throw error;
    // 1 means a finding: what cannot be read is none. The address has a password in it, and is not repeated.
    throw usageError(`The event store cannot be verified: ${error instanceof Error ? error.message : String(error)}.`);
  } finally {
    streams.close();
    ids.close();
  }
}
