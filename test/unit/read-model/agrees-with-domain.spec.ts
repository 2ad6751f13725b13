import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { toToolCallEvent } from '@countersign/contracts';
import type { RecordedEvent } from '@countersign/contracts';
import { callState, dueAt, toolCallDecider } from '@countersign/domain';
import type { ToolCall } from '@countersign/domain';
import { openReadModel, toToolCallView } from '@countersign/read-model';
import type { CallRow } from '@countersign/read-model';
import { arbitraryLog } from '@countersign/read-model/testing';
import { createSilentLog } from '@countersign/runtime/testing';

// Two folds of one log: the decider's, by which it judges, and the read model's, which people see. They may never differ.

function decided(events: readonly RecordedEvent[]): Map<string, ToolCall> {
  const calls = new Map<string, ToolCall>();
  for (const event of events) {
    const { callId } = event.metadata;
    if (callId === null) continue;
    const state = toolCallDecider.evolve(calls.get(callId) ?? toolCallDecider.initialState(), toToolCallEvent(event));
    if (state.status === 'recorded') calls.set(callId, state);
  }
  return calls;
}

function ended(resolution: ToolCall['approvals'][number]['resolution']): unknown {
  switch (resolution.status) {
    case 'pending':
      return null;
    case 'expired':
      return { state: 'expired', at: resolution.expiredAt };
    case 'cancelled':
      return { state: 'cancelled', at: resolution.cancelledAt };
    case 'approved':
    case 'denied':
      return { state: resolution.status, at: resolution.respondedAt };
  }
}

function asDecided(call: ToolCall): unknown {
  return {
    state: callState(call),
    verdict: call.verdict,
    arguments: call.action.arguments,
    actionDigest: call.action.actionDigest,
    instruction: call.instruction,
    settledAt: call.settledAt,
    output: call.execution.status === 'succeeded' ? call.execution.output : null,
    executeBy: call.permission.status === 'approved' ? call.permission.executeBy : null,
    dueAt: dueAt(call)?.atMs ?? null,
    approvals: call.approvals.map((approval) => ({
      approvalId: approval.approvalId,
      requirement: approval.requirement,
      expiresAt: approval.expiresAt,
      escalations: approval.escalations,
      remindersSent: approval.remindersSent,
      votes: approval.votes.map(({ status, stage }) => ({ status, stage })),
      resolution: ended(approval.resolution),
    })),
  };
}

function asShown(row: CallRow): unknown {
  const view = toToolCallView(row, 'whole');
  return {
    state: view.state,
    verdict: row.verdict,
    arguments: view.arguments,
    actionDigest: view.actionDigest,
    instruction: view.instruction,
    settledAt: view.settledAt,
    output: view.output,
    executeBy: row.permission === 'approved' ? row.executeBy : null,
    dueAt: row.dueAt,
    approvals: row.approvals.map((approval) => ({
      approvalId: approval.approvalId,
      requirement: approval.requirement,
      expiresAt: approval.expiresAt,
      escalations: approval.escalations,
      remindersSent: approval.remindersSent,
      votes: approval.responses.map(({ status, stage }) => ({ status, stage })),
      resolution: approval.resolution,
    })),
  };
}

describe('the read model and the decider', () => {
  it('fold any sequence of events to the same', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-folds-'));
    let opened = 0;
    await fc.assert(
      fc.asyncProperty(arbitraryLog, async (log) => {
        const file = join(folder, `${String((opened += 1))}.db`);
        const model = await openReadModel({ file, source: log.source, log: createSilentLog() });
        for (const [callId, call] of decided(log.events)) {
          const row = model.toolCall(call.request.tenant, callId);
          expect(row && asShown(row)).toEqual(asDecided(call));
        }
        model.close();
      }),
      { numRuns: 300 },
    );
    rmSync(folder, { recursive: true });
  }, 120_000);
});
