import { expect, it } from '@jest/globals';
import type { ToolCallView } from '@countersign/contracts';
import { approvalOf, nowMs } from '../testing/fixtures.js';
import { storyLines } from './call-story.js';

const waiting = (runId: string): string => {
  const { toolName, callId, arguments: args, agentId } = approvalOf();
  const verdict = { outcome: 'allow', ruleId: 'default', why: [] };
  const call = { toolName, callId, arguments: args, agentId, runId, verdict, actionDigest: '', waitsForTurn: true };
  const held = { ...call, heldBy: 'tc_held', approval: null, output: null, error: null, instruction: null };
  const lines = storyLines(held as unknown as ToolCallView, [], { columns: 200, nowMs });
  return lines.map(({ text }) => text).join('\n');
};

it('says for which call that cannot be read another one waits, and what to type', () => {
  expect(waiting('run-42')).toContain('waits for call tc_held, which cannot be read and may be running');
  expect(waiting('run-42')).toContain('countersign show tc_held');
  expect(waiting('run-42')).toContain('countersign cancel --run run-42');
});

it('writes no name of a run into a command that a shell would read otherwise', () => {
  expect(waiting('x; rm -rf /')).toContain('countersign cancel --run <run>');
});
