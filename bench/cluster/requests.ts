import { randomUUID } from 'node:crypto';
import { deriveCallId } from '@countersign/contracts';
import type { OutgoingMessage } from '@countersign/message-bus';

/** The tool that the resolver of the bench executes. */
export const toolName = 'bench_tool';

/** A worker's request, in its own run. */
export interface BenchRequest {
  readonly callId: string;
  readonly message: OutgoingMessage;
}

/** A request for one call that needs approval. */
export function createRequest(id: string): BenchRequest {
  const runId = `run-${id}`;
  const call = {
    toolCallId: id,
    toolName,
    arguments: { path: `/srv/data/${id}.txt`, recursive: false, note: 'left over from the import of last week' },
    needsApproval: true,
    reason: 'outside the workspace',
  };
  return {
    callId: deriveCallId('default', runId, id),
    message: {
      key: runId,
      value: JSON.stringify({ runId, calls: [call] }),
      headers: {
        ce_specversion: '1.0',
        ce_id: randomUUID(),
        ce_source: '/bench',
        ce_type: 'ToolCallRequested',
        ce_time: new Date().toISOString(),
        'content-type': 'application/json',
      },
    },
  };
}
