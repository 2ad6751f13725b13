import { matchesGlob } from '@countersign/contracts';
import type { Catalog } from '../server/catalog.js';
import type { ClientCall } from '../client/client-call.js';
import { objectOf } from '../wire.js';

/** The tools whose calls do not go to the ledger: no policy judges such a call, and nothing records it. */
export interface UngatedTools {
  /** Globs of names. The annotations of these tools do not matter. */
  readonly globs: readonly string[];
  /** Every tool that the MCP server annotates as read-only. */
  readonly readOnly: boolean;
}

/** Returns whether a tool, as the MCP server lists it, is ungated. */
export function isUngated(ungated: UngatedTools, tool: Readonly<Record<string, unknown>>): boolean {
  return (ungated.readOnly && isReadOnly(tool)) || isUngatedName(ungated, tool['name']);
}

/** Returns whether the MCP server annotates a tool as read-only. */
export function isReadOnly(tool: Readonly<Record<string, unknown>>): boolean {
  return objectOf(tool['annotations'])['readOnlyHint'] === true;
}

/** Returns whether calls of this tool are ungated. The gate asks the server only when the name does not decide. */
export async function isUngatedCall(
  ungated: UngatedTools,
  { params: { name }, signal }: Pick<ClientCall, 'params' | 'signal'>,
  catalog: Catalog,
): Promise<boolean> {
  if (isUngatedName(ungated, name)) return true;
  if (!ungated.readOnly || typeof name !== 'string') return false;
  try {
    return isUngated(ungated, await catalog.find(name, signal));
  } catch {
    // The gated call fails for the same reason, and the client gets its error.
    return false;
  }
}

function isUngatedName({ globs }: UngatedTools, name: unknown): boolean {
  return typeof name === 'string' && globs.some((glob) => matchesGlob(glob, name));
}
