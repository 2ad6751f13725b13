import { expect, it } from '@jest/globals';
import type { RunView, ToolCallView } from '@countersign/contracts';
import { approvalOf, nowMs } from '../testing/fixtures.js';
import { runLines } from './run-lines.js';

it('tells the calls of a run that wait for their turn from the one about which people are asked', () => {
  const { toolName, callId, arguments: args } = approvalOf();
  const asked = { toolName, callId, arguments: args, state: 'awaiting_approval' } as ToolCallView;
  const run = { runId: 'run-42', calls: [asked, { ...asked, waitsForTurn: true }], pendingApprovals: [] };
  const lines = runLines(run as unknown as RunView, { columns: 80, nowMs }).map(({ text }) => text.split(' ')[0]);
  expect(lines.filter((word) => word?.includes('_'))).toEqual(['awaiting_approval', 'waits_for_turn']);
});
