import { describe, expect, it } from '@jest/globals';
import { isReadable, toLogEvent } from '@countersign/contracts';
import type { DeliveryEvent } from '@countersign/contracts';
import { deliveryDecider } from '@countersign/domain';
import { createSilentLog } from '@countersign/runtime/testing';
import { openReadModel } from './sqlite/sqlite-read-model.js';
import { readGoldenLog } from './testing/golden-log.js';
import { scratchFolder } from './testing/scratch-folder.js';

/**
 * A log that version 9d81cdf2 wrote: a chat whose first try failed, a webhook that wanted no more, a candidate policy, an erasure by force, a
 * batch that began while people were asked about one of its calls, a refused request on the bus, and a second notifier.
 */
const { events, calls, claimable, shownOf } = readGoldenLog('version-1-channels');

const fileOf = scratchFolder();

/** All that this version knew. */
const knownTypes = [
  ...['ToolCallRequested', 'ToolCallAllowed', 'ToolCallBlocked', 'ToolCallShadowJudged', 'ToolCallCancelled'],
  ...['ToolCallCommitted', 'ApprovalRequested', 'ApprovalDescribed', 'ApprovalResponded', 'ResponseWithdrawn'],
  ...['ValuesRevealed', 'ApprovalExpired', 'ApprovalEscalated', 'ApproversReminded', 'ApprovalLapsed'],
  ...['ExecutionClaimed', 'ExecutionClaimRenewed', 'ExecutionSucceeded', 'ExecutionFailed', 'ExecutionLapsed'],
  ...['ExecutionOutcomeUnknown', 'ExecutionReconciled', 'PolicyActivated', 'ShadowPolicyActivated', 'RequestRefused'],
  ...['RunCancelled', 'BatchBegun', 'BatchBroken', 'GrantProposed', 'GrantCreated', 'GrantConfirmed', 'GrantUsed'],
  ...['GrantRevoked', 'NotificationDelivered', 'NotificationUpdated', 'NotificationFailed', 'NotificationClaimed'],
  ...['ChannelActivated', 'ChannelSwitchedOff', 'SubjectErased'],
];

describe('a log of version 1 with channels', () => {
  it('has, with the other log of that version, every event type that it knew, and each event can be read', () => {
    const both = [...readGoldenLog('version-1').events, ...events];
    expect([...new Set(both.map(({ type }) => type))].sort()).toEqual(knownTypes.toSorted());
    expect(both.map(toLogEvent).filter((event) => !isReadable(event))).toEqual([]);
  });

  it('is read whole by the read model, which leaves no stream out', async () => {
    const log = events.map(toLogEvent);
    const source = {
      readAll: (after: number, limit: number) =>
        Promise.resolve(log.filter(({ position }) => position > after).slice(0, limit)),
      head: () => Promise.resolve(log.at(-1)?.position ?? 0),
    };
    const model = await openReadModel({ file: fileOf('read-model.db'), source, log: createSilentLog() });
    expect([model.checkpoint(), model.unreadable.all()]).toEqual([log.at(-1)?.position, []]);
    for (const { request } of calls) expect(model.toolCall('default', request.callId)?.request).toEqual(request);
    model.close();
  });

  it('folds to calls of which only these may run, with these arguments', () => {
    expect(claimable()).toEqual([
      ['told', { amount: 5 }],
      ['shadow', { at: 'it' }],
      ['batch', { id: 'b' }],
    ]);
  });

  it('lets nothing run whose values were erased, and shows none of them', () => {
    expect(['erased', 'erased-edit', 'erased-free'].map((run) => shownOf(run).state)).toEqual([
      ...['denied', 'cancelled', 'succeeded'],
    ]);
    expect(JSON.stringify(events)).not.toContain('hunter');
  });

  it('closes the question about a call whose batch had begun, and keeps its right to run', () => {
    expect(shownOf('batch', 1)).toMatchObject({ state: 'allowed', approval: { state: 'cancelled' } });
    expect(shownOf('batch')).toMatchObject({ state: 'executing', arguments: { id: 'a' } });
  });

  it('shows the words that were added to a question, and asks about the call as it was requested first', () => {
    expect(shownOf('bus')).toMatchObject({
      ...{ state: 'awaiting_approval', arguments: { amount: 11 } },
      approval: { reason: 'the customer waits', description: 'for order 7' },
    });
  });

  it('knows which messages were sent, which failed, and who sends one now', () => {
    const streams = Map.groupBy(
      events.filter(({ stream }) => stream.startsWith('delivery-')),
      ({ stream }) => stream,
    );
    const messages = [...streams.values()].flatMap((own) => [
      ...(own as unknown as readonly DeliveryEvent[])
        .reduce(deliveryDecider.evolve, deliveryDecider.initialState())
        .values(),
    ]);
    expect(messages.map(({ channelId, kind, status }) => [channelId, kind, status])).toEqual([
      ['ops', 'requested', 'delivered'],
      ['pager', 'approved', 'given-up'],
      ['ops', 'requested', 'delivered'],
      ['ops', 'requested', 'delivered'],
      ['ops', 'requested', 'claimed'],
    ]);
    expect(messages.at(-1)?.claim).toMatchObject({ notifierId: 'notifier-1' });
  });
});
