import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readable } from '@countersign/event-store/testing';
import { approvalIdOf, deriveCallId, runCancellationStream } from '@countersign/contracts';
import type { GrantTerms } from '@countersign/contracts';
import { grantDecider } from '@countersign/domain';
import { EventStoreUnavailableError } from '@countersign/event-store';
import * as api from '../commands.js';
import { createCommandHandler } from '../stream/handle-command.js';
import { actor, agent, alice, codeOf, done, openPolicyWorld, step } from '../testing/policy-world.js';
import type { PolicyWorld } from '../testing/policy-world.js';

let world: PolicyWorld;
/** Everything that was requested, by principal: the read model's part. */
let requested: { callId: string; requestedBy: string }[];
/** The grants for the run: the read model's part. */
let grants: GrantTerms[];
let last = 0;
const id = (): string => `command-${String(++last)}`;
const callId = (toolCallId: string): string => deriveCallId('default', 'run-1', toolCallId);

beforeEach(async () => {
  requested = [];
  grants = [];
  world = await openPolicyWorld(`
rules:
  - { id: pay, match: { tools: [pay] }, then: { require: { denyEndsRun: true } } }
  - { id: mail, match: { tools: [mail] }, then: { require: {} } }
`);
});
afterEach(() => world.close());

async function request(by: typeof agent, ...calls: readonly string[]): Promise<void> {
  const { callIds } = done(await api.requestToolCalls(world.commands, by, step(...calls), id()));
  requested.push(...callIds.map((one) => ({ callId: one, requestedBy: by.principal })));
}

const answer = (toolCallId: string, type: 'approve' | 'deny') =>
  api.respond(world.commands, alice, approvalIdOf(callId(toolCallId), 1), { decision: { type } }, id());
const claim = (toolCallId: string) =>
  api.claim(world.commands, actor('worker', 'resolver'), callId(toolCallId), { resolverId: 'w' }, id());

function endRun(toolCallId: string, commands = world.commands): Promise<void> {
  const { store, clock } = world;
  const openCalls = {
    of: async () => {
      const isOpen = async (one: { callId: string }) =>
        ['awaiting_approval', 'allowed', 'approved'].includes(String(await world.stateOf(one.callId)));
      const flags = await Promise.all(requested.map(isOpen));
      return {
        calls: requested.filter((_, index) => flags[index]),
        requesters: requested.map(({ requestedBy }) => requestedBy),
        grants,
      };
    },
  };
  return api.endRun({ commands, store, openCalls, clock, ids: commands.ids }, 'default', callId(toolCallId));
}

const states = (...calls: readonly string[]) => Promise.all(calls.map((one) => world.stateOf(callId(one))));
const cancellations = () => world.store.readStream(runCancellationStream(`endRun:${approvalIdOf(callId('a'), 1)}`));

describe('a denial that ends the run', () => {
  it('cancels the open calls of the run, and says why', async () => {
    await request(agent, 'pay:a', 'mail:b', 'read:c');
    done(await answer('a', 'deny'));
    await endRun('a');
    expect(await states('a', 'b', 'c')).toEqual(['denied', 'cancelled', 'cancelled']);
    const cancelled = readable(await world.store.readStream(`toolCall-${callId('b')}`)).at(-1);
    const reason = `the call ${callId('a')} of this run was denied, which ends the run`;
    expect(cancelled?.data).toMatchObject({ reason, cancelledBy: 'countersign' });
  });

  it('leaves what is claimed to its worker', async () => {
    await request(agent, 'pay:a', 'read:b');
    done(await claim('b'));
    done(await answer('a', 'deny'));
    await endRun('a');
    expect(await states('a', 'b')).toEqual(['denied', 'executing']);
  });

  it('is no other rule: an approval, an open vote and a plain denial end nothing', async () => {
    await request(agent, 'pay:a', 'mail:b', 'mail:c');
    await endRun('a');
    done(await answer('b', 'deny'));
    await endRun('b');
    done(await answer('a', 'approve'));
    await endRun('a');
    expect(await states('a', 'b', 'c')).toEqual(['approved', 'denied', 'awaiting_approval']);
  });

  it('revokes the grants for the run, and none that names another principal', async () => {
    const createdAt = new Date(world.clock.now()).toISOString();
    const grant = (grantId: string, requestedBy: string): GrantTerms => ({
      ...{
        grantId,
        tenant: 'default',
        toolName: 'pay',
        match: { any: true },
        runId: 'run-1',
        agentId: null,
        requestedBy,
      },
      ...{
        reason: 'busy',
        risk: null,
        maxUses: null,
        approvalId: null,
        createdBy: 'alice',
        groups: [],
        isListed: false,
      },
      ...{ via: 'api', assurance: 'medium', createdAt, expiresAt: new Date(world.clock.now() + 60_000).toISOString() },
    });
    grants = [grant('grn_own', agent.principal), grant('grn_other', 'other')];
    const { ids } = world.commands;
    const handler = createCommandHandler({
      store: world.store,
      fold: grantDecider,
      clock: world.clock,
      ids,
      cacheSize: 1,
    });
    for (const terms of grants) {
      const meta = { tenant: 'default', callId: null, runId: null, commandId: id() };
      const at = world.clock.now();
      await handler.handleCommand(
        `grant-${terms.grantId}`,
        (state) => grantDecider.decide({ type: 'CreateGrant', at, terms }, state),
        meta,
      );
    }
    await request(agent, 'pay:a');
    done(await answer('a', 'deny'));
    await endRun('a');
    await endRun('a');
    const types = async (grantId: string) =>
      readable(await world.store.readStream(`grant-${grantId}`)).map(({ type }) => type);
    expect(await types('grn_own')).toEqual(['GrantCreated', 'GrantRevoked']);
    expect(await types('grn_other')).toEqual(['GrantCreated']);
  });

  it('does not reach the calls of another principal in a run of the same name', async () => {
    await request(agent, 'pay:a');
    await request(actor('other', 'agent'), 'mail:b');
    done(await answer('a', 'deny'));
    await endRun('a');
    expect(await states('b')).toEqual(['awaiting_approval']);
  });

  it('concerns the same calls when it is repeated', async () => {
    await request(agent, 'pay:a', 'mail:b');
    done(await answer('a', 'deny'));
    await endRun('a');
    await request(agent, 'mail:later');
    await endRun('a');
    expect(await states('b', 'later')).toEqual(['cancelled', 'awaiting_approval']);
    expect(await cancellations()).toHaveLength(1);
  });

  it('is completed after a crash between the list and the calls', async () => {
    await request(agent, 'pay:a', 'mail:b', 'mail:c');
    done(await answer('a', 'deny'));
    let appends = 0;
    const crashing: typeof world.store.append = (...append) => {
      appends += 1;
      return appends > 1 ? Promise.reject(new EventStoreUnavailableError('crashed')) : world.store.append(...append);
    };
    const broken = world.another({ store: { ...world.store, append: crashing } });
    await expect(endRun('a', broken)).rejects.toThrow('crashed');
    await endRun('a');
    expect(await states('b', 'c')).toEqual(['cancelled', 'cancelled']);
    expect(await cancellations()).toHaveLength(1);
  });

  it('and an answer to one of its calls: the first one counts, and the other is refused', async () => {
    await request(agent, 'pay:a', 'mail:b', 'mail:c');
    done(await answer('b', 'approve'));
    done(await answer('a', 'deny'));
    await endRun('a');
    expect(await states('b', 'c')).toEqual(['cancelled', 'cancelled']);
    expect(codeOf(await claim('b'))).toBe('not-approved');
    expect(codeOf(await answer('c', 'approve'))).toBe('already-resolved');
  });
});
