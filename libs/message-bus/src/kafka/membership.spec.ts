import { createVirtualClock } from '@countersign/runtime/testing';
import { Membership } from './membership.js';

const clock = createVirtualClock();
const sessionTimeoutMs = 30_000;

/** The problem of a membership, if there is one. */
const complaintOf = (membership: Membership): Promise<string> =>
  Promise.race([membership.lost.catch(String), Promise.resolve().then(() => 'nothing')]);

describe('a membership', () => {
  it('lasts while the group hears the member, however long it joins and handles', async () => {
    const membership = new Membership(clock, sessionTimeoutMs);
    membership.joined();
    membership.reading();
    clock.advance(sessionTimeoutMs);
    membership.heard();
    membership.reading();
    membership.joining();
    clock.advance(10 * sessionTimeoutMs);
    membership.joined();
    membership.reading();
    expect(await complaintOf(membership)).toBe('nothing');
  });

  it('is lost when the client reads on after a try to join that failed', async () => {
    const membership = new Membership(clock, sessionTimeoutMs);
    membership.joined();
    membership.joining();
    membership.reading();
    expect(await complaintOf(membership)).toBe(
      'MembershipLostError: the consumer keeps reading, but has not rejoined its group',
    );
  });

  it('is lost when the client reads on without heartbeats', async () => {
    const membership = new Membership(clock, sessionTimeoutMs);
    membership.joined();
    clock.advance(sessionTimeoutMs + 1);
    membership.reading();
    clock.advance(3_001);
    membership.reading();
    expect(await complaintOf(membership)).toBe(
      'MembershipLostError: the consumer reads on, but its group has not heard it for 33 s',
    );
  });

  it('outlasts a process that stood still, which sends its heartbeat with the first answer', async () => {
    const membership = new Membership(clock, sessionTimeoutMs);
    membership.joined();
    clock.advance(10 * sessionTimeoutMs);
    membership.reading();
    membership.reading();
    membership.heard();
    clock.advance(3_001);
    membership.reading();
    expect(await complaintOf(membership)).toBe('nothing');
  });
});
