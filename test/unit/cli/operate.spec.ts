import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { requestToolCalls } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { PoisonMessageError, topicNames } from '@countersign/message-bus';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import { openStores, readStandaloneConfig, type Stores } from '@countersign/standalone';
import { createCliRun } from '@countersign/cli/testing';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-operate-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const run = (...args: readonly string[]) => createCliRun({ COUNTERSIGN_DATA: folder })(...args);
const actor: Actor = {
  tenant: 'default',
  principal: 'agent',
  roles: new Set(['agent']),
  groups: [],
  agentIds: [],
  via: 'api',
  assurance: 'low',
};
const world = () => ({ clock: systemClock, ids: createSystemIds(), log: createCollectingLog() });

/** The files of a standalone server; each run has one call that waits for approval. */
async function withStores<T>(work: (stores: Stores) => Promise<T>): Promise<T> {
  const stores = await openStores(readStandaloneConfig({ COUNTERSIGN_DATA: folder }), world());
  try {
    return await work(stores);
  } finally {
    await stores.close();
  }
}

const request = (stores: Stores, runId: string) =>
  requestToolCalls(
    stores.commands,
    actor,
    { runId, calls: [{ toolCallId: '1', toolName: 'delete_file', arguments: { path: '/x' }, needsApproval: true }] },
    runId,
  );

describe.each([['topics'], ['dead-letters'], ['projector']])('countersign %s', (name) => {
  it('alone says on stderr which commands it has', async () => {
    const { code, out, err } = await run(name);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(`Usage: countersign ${name}`);
  });

  it('names its help for a command that it does not have', async () => {
    const { code, err } = await run(name, 'nonsense');
    expect(code).toBe(2);
    expect(err).toContain(`countersign ${name} --help`);
  });
});

describe('help', () => {
  it.each([
    ['topics', 'create'],
    ['topics', 'describe'],
    ['dead-letters', 'list'],
    ['dead-letters', 'show'],
    ['dead-letters', 'replay'],
    ['projector', 'verify'],
    ['projector', 'rebuild'],
  ])('explains %s %s with an example, in 80 columns', async (group, command) => {
    const { code, out } = await run(group, command, '--help');
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`Examples?:\\n(.*\\n)*  .*countersign ${group} ${command}`));
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });
});

describe('countersign projector', () => {
  it('finds the read model to be what the log says', async () => {
    await withStores((stores) => request(stores, 'run-1'));
    const { code, out } = await run('projector', 'verify');
    expect(code).toBe(0);
    expect(out).toContain('The read model is what the log says: ');
    const report = JSON.parse((await run('projector', 'verify', '--json')).out) as object;
    expect(report).toMatchObject({ same: true, differences: [], events: 2 });
  });

  it('exits with 5 and names the row when it is not, and rebuilds it', async () => {
    await withStores((stores) => request(stores, 'run-1'));
    const file = new DatabaseSync(join(folder, 'read-model.db'));
    file.exec('DELETE FROM approvals');
    file.close();
    const verified = await run('projector', 'verify');
    expect(verified.code).toBe(5);
    expect(verified.out).toMatch(/NOT what the log says[^]*approvals 1? ?.*missing[^]*countersign projector rebuild/);
    const rebuilt = await run('projector', 'rebuild', '--json');
    expect(rebuilt.code).toBe(0);
    expect(JSON.parse(rebuilt.out)).toMatchObject({ events: 2, isInPlace: true });
    expect(await run('projector', 'verify')).toMatchObject({ code: 0 });
  });

  it('says that a running server has the log, and what to do', async () => {
    await withStores(async () => {
      const { code, err } = await run('projector', 'verify');
      expect(code).toBe(7);
      expect(err.replaceAll('\n', ' ')).toMatch(/in use by process \d+.*stop the server/);
    });
  });

  it('says when there is nothing to look at', async () => {
    expect(await run('projector', 'verify')).toMatchObject({ code: 6 });
    expect(await run('projector', 'rebuild')).toMatchObject({ code: 6 });
  });
});

describe('countersign dead-letters, on one machine', () => {
  /** Parks every ApprovalRequested for the group. */
  const park = () =>
    withStores(async ({ bus, ...stores }) => {
      const parked = new Promise<void>((resolve) => {
        bus.subscribe({
          group: 'tests',
          topics: [topicNames().events],
          types: ['ApprovalRequested'],
          onMessage: () => {
            setImmediate(resolve);
            throw new PoisonMessageError('malformed', 'no sense in it');
          },
        });
      });
      await request({ bus, ...stores }, 'run-1');
      await parked;
      while ((await bus.deadLetters.list()).length === 0) await new Promise(setImmediate);
    });

  it('are listed, shown with their bytes, and given back to their group', async () => {
    await park();
    const listed = await run('dead-letters', 'list', '--json');
    expect(listed.code).toBe(0);
    const letter = JSON.parse(listed.out) as { id: string; value: string };
    expect(letter).toMatchObject({
      group: 'tests',
      code: 'malformed',
      detail: expect.stringContaining('no sense in it'),
      key: 'run-1',
    });
    expect(JSON.parse(letter.value)).toMatchObject({ type: 'ApprovalRequested' });
    const shown = await run('dead-letters', 'show', letter.id);
    expect(shown.out).toMatch(/malformed {2}tests[^]*ce_type: ApprovalRequested[^]*"type":"ApprovalRequested"/);
    expect(await run('dead-letters', 'replay', letter.id)).toMatchObject({ code: 0 });
    expect(await run('dead-letters', 'list')).toMatchObject({ code: 0, out: '', err: 'There are no dead letters.\n' });
    expect(await run('dead-letters', 'replay', letter.id)).toMatchObject({ code: 6 });
    const again: unknown[] = [];
    const stores = await openStores(readStandaloneConfig({ COUNTERSIGN_DATA: folder }), world());
    await new Promise<void>((resolve) => {
      stores.bus.subscribe({
        group: 'tests',
        topics: [topicNames().events],
        onMessage: ({ headers }) => {
          again.push(headers['ce_type']);
          if (headers['ce_type'] === 'ApprovalRequested') resolve();
        },
      });
    });
    await stores.close();
    expect(again).toContain('ApprovalRequested');
  });

  it('are not looked for where there are none, or where a server runs', async () => {
    expect(await run('dead-letters', 'list')).toMatchObject({ code: 6 });
    await withStores(async () => {
      const { code, err } = await run('dead-letters', 'list');
      expect(code).toBe(7);
      expect(err).toContain('Stop the server');
    });
  });
});

describe('countersign topics', () => {
  it('describes what stands on them, under the prefix in force', async () => {
    const { code, out } = await createCliRun({ COUNTERSIGN_TOPIC_PREFIX: 'acme' })('topics', 'describe', '--asyncapi');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      asyncapi: '3.0.0',
      channels: { requests: { address: 'acme.requests.v1' } },
    });
  });

  it('names every setting that is missing or wrong', async () => {
    const { code, err } = await createCliRun({ COUNTERSIGN_TOPIC_PARTITIONS: 'many' })('topics', 'create');
    expect(code).toBe(2);
    expect(err).toMatch(/COUNTERSIGN_KAFKA_BROKERS[^]*COUNTERSIGN_TOPIC_PARTITIONS/);
  });

  it('says when no broker answers', async () => {
    const { code, err } = await createCliRun({ COUNTERSIGN_KAFKA_BROKERS: '127.0.0.1:1' })('topics', 'describe');
    expect(code).toBe(3);
    expect(err).toContain('COUNTERSIGN_KAFKA_BROKERS');
  });
});
