import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from '@jest/globals';
import type { Faults } from '../../../eventstoredb-server/faults.ts';
import { cleanUpAfterAll } from '../../harness/cleanup.js';
import { eventually } from '../../harness/wait.js';
import type { Traffic } from '../../traffic/traffic.js';
import { install } from './installation.js';
import type { Installation } from './installation.js';
import { settleAndJudge } from './judge.js';
import { startTraffic } from './traffic.js';

cleanUpAfterAll();

/** A minute of outage is for the nights: COUNTERSIGN_TEST_LONG_OUTAGES=1. */
const isLongAsked = (process.env['COUNTERSIGN_TEST_LONG_OUTAGES'] ?? '') !== '';

let installation: Installation;

beforeAll(async () => {
  installation = await install({ ownBroker: true });
}, 300_000);

async function moreScenes(traffic: Traffic, count: number): Promise<void> {
  const before = traffic.scenes();
  await eventually(`${String(count)} scenes more`, () => (traffic.scenes() >= before + count ? true : undefined));
}

/** Traffic, the outage in its midst, and traffic again; then the judgement. */
async function judged(outage: () => Promise<void>): Promise<readonly string[]> {
  const traffic = startTraffic(installation);
  await moreScenes(traffic, 8);
  await outage();
  await moreScenes(traffic, 12);
  await traffic.stop();
  return (await settleAndJudge(installation)).complaints;
}

const pausedFor = (ms: number) => async (): Promise<void> => {
  const { broker } = installation;
  await broker.pause();
  await sleep(ms);
  await broker.resume();
};

const killedFor = (ms: number) => async (): Promise<void> => {
  const { broker } = installation;
  await broker.kill();
  await sleep(ms);
  await broker.restart();
};

const outagesOfTheBroker = [
  { what: 'is paused for 5 s', outage: pausedFor(5_000) },
  { what: 'is killed and gone for 5 s', outage: killedFor(5_000) },
  ...(isLongAsked ? [{ what: 'is killed and gone for 60 s', outage: killedFor(60_000) }] : []),
];

test.each(outagesOfTheBroker)(
  'a broker that $what loses nothing and repeats nothing',
  async ({ outage }) => {
    expect(await judged(outage)).toEqual([]);
  },
  600_000,
);

test('an event store that dies and comes back', async () => {
  const { store } = installation;
  const outage = async (): Promise<void> => {
    await store.kill();
    await sleep(4_000);
    await store.start();
  };
  expect(await judged(outage)).toEqual([]);
}, 600_000);

/** Breaks the store for `ms`, then repairs it. */
const broken = (faults: Faults, ms: number) => async (): Promise<void> => {
  const { store } = installation;
  await store.setFaults(faults);
  await sleep(ms);
  await store.setFaults({});
};

test.each([
  { what: 'hangs', outage: broken({ append: 'hang', read: 'hang', subscriptions: 'silent' }, 5_000) },
  { what: 'cuts the connection after each write', outage: broken({ append: 'write-then-cut' }, 2_000) },
  { what: 'writes and never answers', outage: broken({ append: 'write-then-hang' }, 3_000) },
])(
  'an event store that $what: nothing is recorded twice, and what was answered is there',
  async ({ outage }) => {
    expect(await judged(outage)).toEqual([]);
  },
  600_000,
);
