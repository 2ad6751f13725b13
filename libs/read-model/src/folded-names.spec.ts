import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { RecordedEvent } from '@countersign/contracts';
import { toolCallDecider, toolCallRules } from '@countersign/domain';
import type { ToolCall } from '@countersign/domain';
import type { CallRow } from './call-row.js';
import { foldCall } from './evolve.js';
import { toToolCallView } from './views.js';

/**
 * A log of a version that compared names in lower case: `ΟΔΟΣ` and `οδοσ`, `Straße` and `STRASSE` were two people. Calls: approved by
 * two, pending with two of three votes, with one of two votes withdrawn, and approved by the person for whom the agent acts.
 */
const log = readFileSync(join(import.meta.dirname, 'golden', 'lower-case-names.ndjson'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as RecordedEvent);
const rows = [...Map.groupBy(log, ({ stream }) => stream)]
  .filter(([stream]) => stream.startsWith('toolCall-'))
  .map(([, events]) => foldCall(events));

function rowOf(run: string): CallRow {
  const row = rows.find((one) => one?.request.runId === run);
  if (row === undefined) throw new Error(`the log has no call of ${run}`);
  return row;
}

const votesOf = (row: CallRow) =>
  toToolCallView(row, 'whole').approval?.responses.map(({ respondedBy, counted }) => [respondedBy, counted]);

const at = Date.parse('2026-11-29T13:00:00.000Z');
const asked = (row: CallRow) => ({
  type: 'RespondToApproval' as const,
  at,
  decision: { type: 'approve' } as const,
  approvalId: row.approvals[0]?.approvalId ?? '',
  ...{ proposalDigest: null, actionDigest: null, reason: null, instruction: null },
});
const person = (id: string) =>
  ({ principal: `desk#${id}`, groups: ['support'], via: 'desk', assurance: 'low' }) as const;

describe('a log with votes that were counted by the lower case of names', () => {
  it('is replayed as it was recorded', () => {
    expect(votesOf(rowOf('approved'))).toEqual([
      ['desk#ΟΔΟΣ', true],
      ['desk#οδοσ', true],
    ]);
    expect(rowOf('approved').state).toBe('succeeded');
    expect(votesOf(rowOf('pending'))).toEqual([
      ['desk#Straße', true],
      ['desk#STRASSE', true],
    ]);
    // The view lists no withdrawn vote.
    expect(votesOf(rowOf('withdrawn'))).toEqual([['desk#ΟΔΟΣ', true]]);
    expect(rowOf('own').state).toBe('approved');
  });

  it('the next response drops the second vote of one person, and says so in its event', () => {
    const call = rowOf('pending') as unknown as ToolCall;
    const voters = ['Straße', 'STRASSE'].map((id) => {
      const { principal, groups } = person(id);
      return { respondedBy: principal, onBehalfOf: null, groups, names: [principal] };
    });
    const command = { ...asked(rowOf('pending')), responder: person('lou'), voters };
    const result = toolCallRules.respondToApproval(command, call);
    if (result.status !== 'accepted') throw new Error(JSON.stringify(result));
    expect(result.events).toMatchObject([
      { data: { respondedBy: 'desk#lou', resolution: 'pending', endedVotes: ['desk#STRASSE'] } },
    ]);
    const after = result.events.reduce(toolCallDecider.evolve, call);
    expect(after.status === 'unrequested' ? [] : after.approvals[0]?.votes.map(({ status }) => status)).toEqual([
      'counted',
      'void',
      'counted',
    ]);
  });

  it('another spelling of a name has no vote of its own', () => {
    const call = rowOf('withdrawn') as unknown as ToolCall;
    const result = toolCallRules.respondToApproval({ ...asked(rowOf('withdrawn')), responder: person('οδοσ') }, call);
    expect(result).toMatchObject({ status: 'refused', refusal: { code: 'already-voted' } });
  });

  it('a withdrawal under another spelling names the votes that it takes back', () => {
    const call = rowOf('pending') as unknown as ToolCall;
    const { approvalId } = asked(rowOf('pending'));
    const result = toolCallRules.withdrawResponse(
      { type: 'WithdrawResponse', at, approvalId, withdrawnBy: 'desk#strasse' },
      call,
    );
    if (result.status !== 'accepted') throw new Error(JSON.stringify(result));
    expect(result.events.map(({ data }) => ('castBy' in data ? data.castBy : null))).toEqual(['desk#Straße', null]);
    const after = result.events.reduce(toolCallDecider.evolve, call);
    expect(after.status === 'unrequested' ? [] : after.approvals[0]?.votes.map(({ status }) => status)).toEqual([
      'withdrawn',
      'withdrawn',
    ]);
  });
});
