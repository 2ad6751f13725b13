import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { GrantEvent } from '@countersign/contracts';
import { grantDecider } from './grant.decider.js';
import type { GrantCommand } from './grant.decider.js';
import { grantStateAt, holdsUse } from './grant.state.js';
import type { GrantState } from './grant.state.js';
import { minute, startMs, stored } from './testing/constants.js';
import {
  confirmGrant,
  createGrant,
  grantAfter,
  grantHistory,
  grantId,
  revokeGrant,
  terms,
  useGrant,
} from './testing/grant-fixtures.js';

const { decide } = grantDecider;
const [one, two] = ['tc_one', 'tc_two'];

function outcome(
  command: GrantCommand,
  events: readonly GrantEvent[],
): { said: string; events: readonly GrantEvent[] } {
  const decision = decide(command, grantAfter(events));
  if (decision.status === 'refused') return { said: decision.refusal.code, events: [] };
  return { said: decision.events.length === 0 ? 'nothing' : 'yes', events: decision.events };
}

describe('a standing grant', () => {
  it('covers calls from its creation on, unless its risk is high', () => {
    expect(grantHistory(createGrant({ risk: 'medium' }))).toEqual([
      { type: 'GrantCreated', data: terms({ risk: 'medium' }) },
    ]);
    expect(grantHistory(createGrant({ risk: 'high' }))).toEqual([
      { type: 'GrantProposed', data: terms({ risk: 'high' }) },
    ]);
  });

  it('is created once', () => {
    expect(outcome(createGrant(), grantHistory(createGrant())).said).toBe('nothing');
  });

  it('is not created with an end that has come', () => {
    expect(outcome(createGrant({ expiresAt: stored(0) }), []).said).toBe('expired');
  });

  it('of high risk covers nothing before another person confirms it', () => {
    const proposed = grantHistory(createGrant({ risk: 'high' }));
    expect(outcome(useGrant(), proposed).said).toBe('not-approved');
    expect(outcome(confirmGrant('Alice '), proposed).said).toBe('own-request');
    const other = { ...confirmGrant('alice@example.com'), aliases: ['alice'] };
    expect(outcome(other, proposed).said).toBe('own-request');
    const confirmed = grantHistory(createGrant({ risk: 'high' }), confirmGrant('bob'));
    expect(confirmed.at(-1)).toEqual({
      type: 'GrantConfirmed',
      data: { grantId, confirmedBy: 'bob', via: 'api', confirmedAt: stored(1) },
    });
    expect(outcome(useGrant(), confirmed).said).toBe('yes');
  });

  it('by a digest alone is confirmed by nobody: only a remembered approval shows the arguments', () => {
    const match = { digest: `sha256:${'0'.repeat(64)}`, salt: null };
    const said = (approvalId: string | null) =>
      outcome(confirmGrant('bob'), grantHistory(createGrant({ risk: 'high', match, approvalId }))).said;
    expect([said(null), said('apr_aaaaaaaaaaaaaaaaaaaaaaaaaa_1')]).toEqual(['decision-not-allowed', 'yes']);
  });

  it('is confirmed once: the same person again changes nothing, another one is told', () => {
    const confirmed = grantHistory(createGrant({ risk: 'high' }), confirmGrant('bob'));
    expect(outcome(confirmGrant('bob'), confirmed).said).toBe('nothing');
    expect(outcome(confirmGrant('carol'), confirmed).said).toBe('already-resolved');
    expect(outcome(confirmGrant('bob'), grantHistory(createGrant())).said).toBe('already-resolved');
  });

  it('takes a use for each call, and one only', () => {
    const used = grantHistory(createGrant(), useGrant(one), useGrant(two));
    expect(used.slice(1)).toEqual([
      { type: 'GrantUsed', data: { grantId, callId: one, runId: 'run-1', nth: 1, usedAt: stored(2) } },
      { type: 'GrantUsed', data: { grantId, callId: two, runId: 'run-1', nth: 2, usedAt: stored(2) } },
    ]);
    expect(outcome(useGrant(one), used).said).toBe('nothing');
  });

  it('covers no call after its last use, but the call that holds it', () => {
    const used = grantHistory(createGrant({ maxUses: 1 }), useGrant(one));
    expect(outcome(useGrant(two), used).said).toBe('grant-ended');
    expect(outcome(useGrant(one), used).said).toBe('nothing');
    expect(holdsUse(grantAfter(used), one, minute(5))).toBe(true);
    expect(holdsUse(grantAfter(used), two, minute(5))).toBe(false);
  });

  it('covers no call at its end or later, and none after it was revoked, also when the call holds a use', () => {
    const used = grantHistory(createGrant(), useGrant(one));
    expect(outcome(useGrant(two, minute(60) - 1), used).said).toBe('yes');
    expect(outcome(useGrant(two, minute(60)), used).said).toBe('expired');
    expect(outcome(useGrant(one, minute(60)), used).said).toBe('expired');
    expect(holdsUse(grantAfter(used), one, minute(60))).toBe(false);
    const revoked = grantHistory(createGrant(), useGrant(one), revokeGrant());
    expect(outcome(useGrant(one), revoked).said).toBe('grant-ended');
    expect(holdsUse(grantAfter(revoked), one, minute(5))).toBe(false);
  });

  it('is revoked once, also after its end', () => {
    expect(outcome(revokeGrant('carol', minute(90)), grantHistory(createGrant())).said).toBe('yes');
    expect(outcome(revokeGrant(), grantHistory(createGrant(), revokeGrant())).said).toBe('nothing');
  });

  it.each([confirmGrant(), useGrant(), revokeGrant()])('refuses $type before it is created', (command) => {
    expect(outcome(command, []).said).toBe('not-requested');
  });

  it('says in which state it is', () => {
    const at = (events: readonly GrantEvent[], atMs = minute(5)): string => {
      const state = grantAfter(events);
      return state.status === 'unknown' ? 'unknown' : grantStateAt(state, atMs);
    };
    expect(at(grantHistory(createGrant()))).toBe('active');
    expect(at(grantHistory(createGrant()), minute(60))).toBe('expired');
    expect(at(grantHistory(createGrant({ risk: 'high' })))).toBe('pending');
    expect(at(grantHistory(createGrant({ maxUses: 1 }), useGrant()))).toBe('exhausted');
    expect(at(grantHistory(createGrant(), revokeGrant()), minute(60))).toBe('revoked');
  });
});

describe('two commands on one grant at the same time', () => {
  const commands = {
    confirm: confirmGrant('bob', minute(1)),
    'use one': useGrant(one, minute(1)),
    'use two': useGrant(two, minute(1)),
    revoke: revokeGrant('carol', minute(1)),
  } satisfies Readonly<Record<string, GrantCommand>>;
  type Name = keyof typeof commands;
  const names = Object.keys(commands) as Name[];

  /** The result of each command after the command of the row. The columns are in the order of `commands`. */
  const tables: Readonly<Record<'active' | 'pending', Readonly<Record<Name, readonly string[]>>>> = {
    active: {
      confirm: ['already-resolved', 'yes', 'yes', 'yes'],
      'use one': ['already-resolved', 'nothing', 'grant-ended', 'yes'],
      'use two': ['already-resolved', 'grant-ended', 'nothing', 'yes'],
      revoke: ['grant-ended', 'grant-ended', 'grant-ended', 'nothing'],
    },
    pending: {
      confirm: ['nothing', 'yes', 'yes', 'yes'],
      'use one': ['yes', 'not-approved', 'not-approved', 'yes'],
      'use two': ['yes', 'not-approved', 'not-approved', 'yes'],
      revoke: ['grant-ended', 'grant-ended', 'grant-ended', 'nothing'],
    },
  };
  const pairs = (['active', 'pending'] as const).flatMap((status) =>
    names.flatMap((first) => names.map((second, column) => ({ status, first, second, column }))),
  );

  it.each(pairs)('$status: $first, then $second: the second is told the truth', ({ status, first, second, column }) => {
    const before = grantHistory(createGrant({ maxUses: 1, risk: status === 'pending' ? 'high' : null }));
    const after = [...before, ...outcome(commands[first], before).events];
    expect(outcome(commands[second], after).said).toBe(tables[status][first][column]);
  });
});

describe('any sequence of commands on a grant', () => {
  const command = fc.oneof(
    fc
      .record({ who: fc.constantFrom('alice', 'bob'), at: fc.nat(70) })
      .map(({ who, at }) => confirmGrant(who, minute(at))),
    fc.record({ id: fc.nat(4), at: fc.nat(70) }).map(({ id, at }) => useGrant(`tc_${String(id)}`, minute(at))),
    fc.record({ at: fc.nat(70) }).map(({ at }) => revokeGrant('carol', minute(at))),
    fc.constant(createGrant()),
  );
  const histories = fc.record({
    maxUses: fc.option(fc.integer({ min: 1, max: 4 })),
    risk: fc.constantFrom(null, 'low' as const, 'high' as const),
    commands: fc.array(command, { maxLength: 25 }),
  });

  it('uses it at most as often as allowed, once a call, in time, and neither unconfirmed nor revoked', () => {
    fc.assert(
      fc.property(histories, ({ maxUses, risk, commands }) => {
        let events = grantHistory(createGrant({ maxUses, risk }));
        for (const next of commands) events = [...events, ...outcome(next, events).events];
        const uses = events.flatMap((event, index) => (event.type === 'GrantUsed' ? [{ index, ...event.data }] : []));
        expect(uses.length).toBeLessThanOrEqual(maxUses ?? Infinity);
        expect(uses.map(({ nth }) => nth)).toEqual(uses.map((_, index) => index + 1));
        expect(new Set(uses.map(({ callId }) => callId)).size).toBe(uses.length);
        for (const { index, usedAt } of uses) {
          expect(usedAt < stored(60)).toBe(true);
          const before = events.slice(0, index).map(({ type }) => type);
          expect(before).not.toContain('GrantRevoked');
          if (risk === 'high') expect(before).toContain('GrantConfirmed');
        }
      }),
    );
  });

  it('changes nothing when a command is repeated at once', () => {
    fc.assert(
      fc.property(histories, command, ({ maxUses, risk, commands }, last) => {
        let events = grantHistory(createGrant({ maxUses, risk }));
        for (const next of [...commands, last]) events = [...events, ...outcome(next, events).events];
        const again = outcome(last, events);
        expect(again.events).toEqual([]);
      }),
    );
  });

  it('is folded without an error in any order of its events', () => {
    const events = grantHistory(
      createGrant({ risk: 'high' }),
      confirmGrant(),
      useGrant(one),
      useGrant(two),
      revokeGrant(),
    );
    fc.assert(
      fc.property(fc.shuffledSubarray(events), (shuffled) => {
        const state = shuffled.reduce<GrantState>(grantDecider.evolve, grantDecider.initialState());
        expect(['unknown', 'pending', 'active', 'revoked']).toContain(state.status);
      }),
    );
  });

  it('never covers before it begins', () => {
    expect(holdsUse(grantDecider.initialState(), one, startMs)).toBe(false);
  });
});
