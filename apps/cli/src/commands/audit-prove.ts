import { writeFileSync } from 'node:fs';
import { localError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';

/** The options of `countersign audit prove`. */
export interface ProveOptions {
  readonly output?: string;
  readonly values?: 'stored' | 'clear';
}

/** `countersign audit prove`: writes the proof of a call as the server made it. */
export async function prove(invocation: Invocation, call: string, options: ProveOptions): Promise<ExitCode> {
  const { client, terminal } = invocation;
  const path = `/v1/audit/tool-calls/${encodeURIComponent(call)}/proof?values=${options.values ?? 'stored'}`;
  const response = await client.open(path, { method: 'GET', signal: terminal.interrupted });
  const proof: unknown = await response.json();
  if (!isProof(proof)) {
    throw localError('unexpected', 'no-proof', 'The server sent no proof.', 'Check --url or COUNTERSIGN_URL.');
  }
  const text = `${JSON.stringify(proof, null, 2)}\n`;
  if (options.output === undefined) {
    terminal.stdout.write(text);
    return exitCodes.ok;
  }
  writeFileSync(options.output, text);
  const { events } = proof;
  invocation.printJson({ file: options.output, callId: call, events: events.length });
  invocation.print({ text: `${String(events.length)} events of ${call} are proven in ${options.output}.` });
  return exitCodes.ok;
}

function isProof(value: unknown): value is { readonly events: readonly unknown[] } {
  return typeof value === 'object' && value !== null && 'events' in value && Array.isArray(value.events);
}
