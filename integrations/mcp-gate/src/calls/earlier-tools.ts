import { untilDone } from '@countersign/http-client';
import { createClient } from '@countersign/worker-sdk';
import type { ListedTool } from '../server/listed-tool.js';
import { attempts, type GateOptions } from './gate-options.js';

/**
 * Returns a function that makes a tool stricter by the calls that earlier gates of the run made at the server: one about
 * which people were asked is not read-only. The attack: a server calls it read-only after a restart of the gate.
 */
export function createEarlierTools(options: GateOptions): (tool: ListedTool) => Promise<ListedTool> {
  const asked = new Set<string>();
  const read = untilDone(async () => {
    if (!options.continuesRun) return;
    const ledger = createClient({ ...options, attempts });
    for await (const { approval, batchId, toolName } of ledger.eachToolCall({ runId: options.runId, order: 'oldest' }))
      if (approval !== null && batchId === options.endpoint) asked.add(toolName);
  });
  return async (tool) => {
    await read();
    const { name, annotations = {} } = tool;
    if (!asked.has(name) || annotations.readOnlyHint !== true) return tool;
    return { ...tool, annotations: { ...annotations, readOnlyHint: false } };
  };
}
