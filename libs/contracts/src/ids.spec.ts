import fc from 'fast-check';
import { approvalIdOf, deriveCallId, isCallId, parseApprovalId, toolCallStream } from './ids.js';

describe('ids', () => {
  it('gives the same call the same id, and another call another one', () => {
    const id = deriveCallId('default', 'run-42', 'call_1');
    expect(id).toBe(deriveCallId('default', 'run-42', 'call_1'));
    expect(isCallId(id)).toBe(true);
    expect(toolCallStream(id)).toBe(`toolCall-${id}`);
    const others = [
      deriveCallId('other', 'run-42', 'call_1'),
      deriveCallId('default', 'run-4', '2call_1'),
      deriveCallId('default', 'run-42', 'call_2'),
    ];
    expect(new Set([id, ...others]).size).toBe(4);
  });

  it('finds the call and the round in an approvalId', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.integer({ min: 1, max: 999_999 }), (runId, toolCallId, round) => {
        const callId = deriveCallId('default', runId, toolCallId);
        expect(parseApprovalId(approvalIdOf(callId, round))).toEqual({ callId, round });
      }),
    );
  });

  it.each([
    '',
    'apr_',
    'apr_x_1',
    'tc_aaaaaaaaaaaaaaaaaaaaaaaaaa',
    `apr_${'a'.repeat(26)}_0`,
    `apr_${'a'.repeat(26)}_01`,
  ])('does not take "%s" for an approvalId', (text) => {
    expect(parseApprovalId(text)).toBeUndefined();
    expect(isCallId('tc_short')).toBe(false);
  });
});
