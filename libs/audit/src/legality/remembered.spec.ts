import { describe, expect, it } from '@jest/globals';
import { aboutCall, approvalOf, idOf, requestCall } from '../testing/named-call.js';
import { approvalId, args, grantId, minute, salt, story, verdict } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';
import { digestOf } from './digests.js';
import { createLegality } from './legality.js';
import { readStored } from './stored-events.js';

type Members = Readonly<Record<string, unknown>>;

const one = { stages: [{ mode: 'quorum' as const, approve: 1, deny: 1, groups: ['ops'] }] };
const open = story().policy().request().ask({}, one);
const given = { resolution: 'approved', executeBy: minute(11) };
const approved = open.respond('alice', given);
const exactly = (toolName: string): Members => ({
  match: { digest: digestOf([digestOf({ arguments: args, toolName }), salt]), salt },
});
const remembered = (terms: Members = {}, told: Story = approved): Story =>
  told.grant('GrantCreated', { approvalId: approvalId(), requestedBy: 'agent', ...terms });
/** A later call in this place, which the grant covers. */
const covering = (labels: Members): Story => {
  const used = remembered().grant('GrantUsed', {
    grantId,
    callId: idOf('b'),
    runId: 'run',
    nth: 1,
    usedAt: minute(2),
  });
  return aboutCall(requestCall(used, 'b', { labels, requestedAt: minute(3) }), 'b', 'ToolCallAllowed', {
    ...{ verdict: verdict('allow', { grantId }), allowedAt: minute(2) },
  });
};
const words = (told: Story): readonly string[] => wordsOf(told).filter((word) => word !== 'unrecorded-rights');

describe('a grant that is remembered with an approval', () => {
  it.each<readonly [string, Story]>([
    ['any arguments', remembered()],
    ['the arguments of the call', remembered(exactly('refund'))],
    ['the run of the call', remembered({ runId: 'run', agentId: 'agent' })],
    ['a call in the same place', covering({ team: 'ops' })],
    ['calls without a schema, as the call', remembered({ toolSchemaHash: null })],
  ])('is for %s', (_, told) => {
    expect(words(told)).toEqual([]);
  });

  it.each<readonly [string, Story]>([
    ['that never was', remembered({ approvalId: approvalOf('b') })],
    ['of no form', remembered({ approvalId: 'apr_never' })],
    ['that is pending', remembered({}, open)],
    ['that was denied', remembered({}, open.respond('alice', { decision: { type: 'deny' }, resolution: 'denied' }))],
    ['of another round', remembered({ approvalId: approvalId(2) })],
    ['of another person', remembered({ createdBy: 'bob' })],
    ['of another run', remembered({ runId: 'other' })],
    ['of another agent', remembered({ agentId: 'other' })],
    ['of another principal', remembered({ requestedBy: 'other' })],
    ['of another tool', remembered({ toolName: 'drop' })],
    ['of another place', remembered({ labels: { cwd: '/tmp' } })],
    ['of another schema', remembered({ toolSchemaHash: digestOf({}) })],
    ['of another risk', remembered({ risk: 'medium' })],
    ['of other arguments', remembered(exactly('drop'))],
    ['for a call in another place', covering({ cwd: '/tmp' })],
  ])('is found with an approval %s', (_, told) => {
    expect(words(told).map((word) => word.split(':')[0])).toEqual(['grant']);
  });

  it('is not compared where the call is not shown', () => {
    const legality = createLegality(new Map(), { policies: [], isWhole: false });
    const told = story().grant('GrantCreated', { approvalId: approvalOf('b') });
    const read = told.events
      .map((event) => readStored(event))
      .flatMap((event) => ('unreadable' in event ? [] : [event]));
    expect(read.map((event) => legality.judge(event).unproven)).toEqual([['leans-on-set-aside', 'unrecorded-rights']]);
  });
});
