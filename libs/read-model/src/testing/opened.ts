import { createSilentLog } from '@countersign/runtime/testing';
import { openReadModel } from '../sqlite/sqlite-read-model.js';
import type { FileReadModel, ReadModelOptions } from '../sqlite/sqlite-read-model.js';
import type { TestCall, TestLog } from './test-log.js';

/** So little memory that every path to the file is used. */
export const tight = { recentRows: 2, recentBytes: 4096, unflushedEvents: 3, unflushedBytes: 65_536 };

/** A read model over a test log, caught up. */
export function opened(file: string, log: TestLog, options: Partial<ReadModelOptions> = {}): Promise<FileReadModel> {
  return openReadModel({ file, source: log.source, log: createSilentLog(), ...options });
}

/** Applies what the log has and the model lacks. */
export function applyAll(model: FileReadModel, log: TestLog): void {
  model.apply(log.events);
}

/** A call that waits for an approval. */
export function recordPending(
  log: TestLog,
  toolCallId = 'call_1',
  of: { tenant?: string; runId?: string } = {},
): TestCall {
  const call = log.call(toolCallId, of);
  call.record('ToolCallRequested');
  call.record('ApprovalRequested', { approvalId: call.approvalId() });
  return call;
}
