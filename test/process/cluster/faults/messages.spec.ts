import { randomUUID } from 'node:crypto';
import { deriveCallId } from '@countersign/contracts';
import { beforeAll, expect, test } from '@jest/globals';
import { cleanUpAfterAll } from '../../harness/cleanup.js';
import { eventually } from '../../harness/wait.js';
import { createLedger } from '../../traffic/ledger.js';
import type { Ledger } from '../../traffic/ledger.js';
import { requestOne, someCall } from '../../traffic/scene.js';
import type { Stage } from '../../traffic/scene.js';
import { moduleTool, moduleToolWithoutApproval } from '../../traffic/tools.js';
import { createNames } from '../../traffic/traffic.js';
import { install, tokens } from './installation.js';
import type { Installation } from './installation.js';
import { figureOf, settleAndJudge, untilLedgersCaughtUp } from './judge.js';
import { awaitCall } from './kafka-scenes.js';
import { poison } from './poison.js';
import { cloudEvent } from './requests-topic.js';
import { lagOf, readTopic } from './topic-reader.js';
import { startTraffic } from './traffic.js';

cleanUpAfterAll();

let installation: Installation;
let stage: Stage;

beforeAll(async () => {
  installation = await install();
  const { journal, random } = installation;
  const ledger: Ledger = createLedger(installation.openHttp(), tokens, journal, 'messages');
  stage = { ledger, journal, random, name: createNames('messages') };
}, 300_000);

test('requests twice, on two partitions, and in the wrong order come to one call each', async () => {
  const { requests, topics, tools } = installation;
  const traffic = startTraffic(installation);
  const asked: { callId: string; runId: string; toolCallId: string }[] = [];
  for (let index = 0; index < 12; index += 1) {
    const [runId, call] = [stage.name('run'), someCall(stage, { toolName: moduleToolWithoutApproval })];
    const { toolCallId } = call;
    const callId = deriveCallId('default', runId, toolCallId);
    // The approval request comes before its call, and the call by three ways at once, through two ledgers.
    await Promise.all([
      ...(index % 3 === 0
        ? [requests.publish('ApprovalRequested', { runId, toolCallId, reason: 'odd' }, { partition: 1 })]
        : []),
      requests.publish('ToolCallRequested', { runId, calls: [call] }, { copies: 3, partition: 0 }),
      requests.publish('ToolCallRequested', { runId, calls: [call] }, { copies: 2, partition: 1 }),
    ]);
    asked.push({ callId, runId, toolCallId });
  }
  for (const { callId } of asked) await awaitCall(stage, callId, () => true);
  // Old events again, after all later ones: a consumer that acts on one reads the log. The relay may be behind it.
  const old = await eventually('some events to stand on the topic', async () => {
    const found = (await readTopic(requests.kafka, topics.events)).filter(({ headers }) =>
      ['ToolCallAllowed', 'ApprovalResponded'].includes(headers['ce_type'] ?? ''),
    );
    return found.length > 5 ? found : undefined;
  });
  const again = old.toReversed().map(({ key, value, headers }) => ({ key, value, headers }));
  await requests.publishRaw(topics.events, again);
  await traffic.stop();
  const { complaints, entries } = await settleAndJudge(installation);
  expect(complaints).toEqual([]);
  for (const { callId } of asked) {
    const ofCall = entries.filter((entry) => entry.callId === callId);
    expect(ofCall.filter(({ type }) => type === 'ToolCallRequested')).toHaveLength(1);
    expect(tools.executions().filter((run) => run.callId === callId).length).toBeLessThanOrEqual(1);
  }
}, 480_000);

test('poison among good messages lands in the dead letters with its bytes, and the lag returns to nothing', async () => {
  const { requests, topics } = installation;
  const traffic = startTraffic(installation);
  const group = `${topics.requests.split('.')[0] ?? ''}-ledger`;
  const sent = poison(stage.name('poison'));
  for (const { message } of sent) await requests.publishRaw(topics.requests, [message]);
  await traffic.stop();
  await untilLedgersCaughtUp(installation);
  expect(await lagOf(requests.kafka, group, topics.requests)).toBe(0);
  const letters = await readTopic(requests.kafka, topics.deadLetters);
  const found = sent.map(({ what, message }) => {
    const id = String(message.headers['x-test']);
    const letter = letters.find(({ headers }) => headers['x-test'] === id);
    const isSame =
      letter !== undefined && Buffer.compare(letter.value ?? Buffer.of(), message.value ?? Buffer.of()) === 0;
    return [what, letter?.headers['x-dead-letter-code'], isSame, letter?.key];
  });
  expect(found).toEqual(sent.map(({ what, code, message }) => [what, code, true, message.key]));
  const { complaints } = await settleAndJudge(installation);
  expect(complaints).toEqual([]);
}, 480_000);

test('an answer that no person gave, on either topic, moves nothing; a metric and a line of the log say so', async () => {
  const { requests, topics, of, tools } = installation;
  const traffic = startTraffic(installation);
  const call = await requestOne(stage, { toolName: moduleTool });
  const { callId, runId, approval } = call;
  if (approval === null) throw new Error('there is no approval');
  const said = { ...approvalEvent(call.callId, runId, approval.approvalId, call.actionDigest) };
  const value = JSON.stringify(said);
  const headers = { ...cloudEvent(said.eventId, 'ApprovalResponded'), ce_subject: callId, ce_sequence: '1' };
  const figures = { ledger: 'countersign_ledger_forged_total', resolver: 'countersign_resolver_forged_total' } as const;
  const counted = async (role: keyof typeof figures): Promise<number> =>
    (await Promise.all(of(role).map((each) => figureOf(each, figures[role])))).reduce((one, other) => one + other, 0);
  const before = { ledger: await counted('ledger'), resolver: await counted('resolver') };
  await requests.publishRaw(topics.requests, [{ key: runId, value, headers }]);
  await requests.publishRaw(topics.events, [{ key: runId, value, headers: { ...headers, ce_source: '/countersign' } }]);

  const lines = {
    ledger: 'a message of a forbidden type was refused',
    resolver: 'the events topic has an approval that is not in the log',
  };
  for (const role of ['ledger', 'resolver'] as const) {
    await eventually(`a ${role} to count it`, async () =>
      (await counted(role)) === before[role] + 1 ? true : undefined,
    );
    await eventually(`a ${role} to say so`, () =>
      of(role).some(({ output }) => output().includes(lines[role])) ? true : undefined,
    );
  }
  await eventually('the refusal to be told', async () => {
    const events = await readTopic(requests.kafka, topics.events);
    const refusal = events.find(
      ({ headers: { ce_type: type }, value: text }) => type === 'RequestRefused' && text?.includes(said.eventId),
    );
    return refusal?.value?.includes('forbidden') === true ? true : undefined;
  });
  const still = await awaitCall(stage, callId, () => true);
  expect([still.state, tools.executions().filter((run) => run.callId === callId)]).toEqual(['awaiting_approval', []]);
  await traffic.stop();
  const { complaints, entries } = await settleAndJudge(installation);
  expect(complaints).toEqual([]);
  expect(entries.some(({ eventId }) => eventId === said.eventId)).toBe(false);
}, 480_000);

/** The message of the relay if a person had approved. */
function approvalEvent(callId: string, runId: string, approvalId: string, actionDigest: string) {
  const at = new Date().toISOString();
  const data = {
    ...{ approvalId, decision: { type: 'approve' }, respondedBy: 'ann', respondedAt: at, via: 'inbox' },
    ...{ reason: null, instruction: null, actionDigest, resolution: 'approved' },
  };
  const eventId = randomUUID();
  return {
    eventId,
    type: 'ApprovalResponded',
    position: 1,
    callId,
    runId,
    tenant: 'default',
    revision: 2,
    recordedAt: at,
    data,
  };
}
