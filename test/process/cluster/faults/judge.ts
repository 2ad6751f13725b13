import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { audit } from '../../audit/audit.js';
import { differencesBetween } from '../../audit/log.js';
import type { Entry } from '../../audit/log.js';
import { findingsOf, verifyViews } from '../../harness/verified-folder.js';
import { eventually } from '../../harness/wait.js';
import { createLedger } from '../../traffic/ledger.js';
import { readAuditLog, settle } from '../../traffic/settle.js';
import { createNames } from '../../traffic/traffic.js';
import { readinessOf } from '../roles.js';
import { tokens } from './installation.js';
import type { Installation } from './installation.js';
import { exportOf, readStoreLog } from './store-log.js';
import type { Supervised } from './supervised.js';
import { eventsTopicComplaints, producedComplaints } from './topic-audit.js';
import { groupAccount, lagOf, readTopic } from './topic-reader.js';

/** The audit's findings after a storm, and their input. */
export interface Verdict {
  readonly complaints: readonly string[];
  readonly entries: readonly Entry[];
}

/** A stuck Kafka consumer is detected after three minutes, and its process is restarted. */
const caughtUpWithinMs = 270_000;

/**
 * After the faults: waits until everything is ready, ends every call, and compares the recorded events with the
 * clients' responses, the brokers' acknowledgements, the tools' runs, and the consumers' and readers' events.
 */
export async function settleAndJudge(installation: Installation): Promise<Verdict> {
  const { journal, tools, random, topics, requests, cards, of } = installation;
  await installation.allReady();
  await untilLedgersCaughtUp(installation);
  const http = installation.openHttp();
  const origin = `settle-${installation.nextPrefix()}`;
  const ledger = createLedger(http, tokens, journal, origin);
  const stage = { ledger, journal, random, name: createNames(origin) };
  const open = await settle(http, tokens, stage, installation.ended);
  const entries = await readOnceTold(installation);
  const overHttp = await readAuditLog(http, tokens);
  http.close();
  // Events recorded between the two reads, for example of a late message, are in the log by now.
  const asRead = readStoreLog(installation.store.folder).slice(0, Math.max(entries.length, overHttp.length));
  await untilPublished(installation, entries);
  const notifiers = of('notifier');
  const deaths = notifiers.reduce((sum, { starts }) => sum + starts() - 1, 0);
  const executed = { ...journal, executions: [...journal.executions, ...tools.executions()] };
  const complaints = [
    ...open.map((callId) => `${callId} does not end`),
    ...audit(entries.filter(isOfLedger), executed),
    ...differencesBetween(asRead, overHttp),
    ...producedComplaints(entries, requests.produced),
    ...eventsTopicComplaints(entries, await readTopic(requests.kafka, topics.events)),
    ...(notifiers.length === 0 ? [] : cards.complaints(entries, deaths)),
    ...installation.processes().flatMap(({ takeSurprises }) => takeSurprises()),
    ...(await viewComplaints(installation)),
    ...(await auditorsFindings(installation)),
  ];
  // Each audit covers its own storm.
  journal.surprises.splice(0);
  return { complaints: [...complaints.slice(0, 30), ...(await accountsOf(installation, complaints.length))], entries };
}

/** For a finding: each process's readiness, and the end of its output. */
async function accountsOf({ processes }: Installation, complaints: number): Promise<readonly string[]> {
  if (complaints === 0) return [];
  return Promise.all(
    processes().map(async ({ name, server, output }) => {
      const ready = await readinessOf(server());
      return `${name} says ${ready?.text ?? 'nothing'} and printed at last:\n${output().slice(-1_500)}`;
    }),
  );
}

/** Deliveries have their own streams: the cards are compared with those. */
function isOfLedger({ stream }: Entry): boolean {
  return !stream.startsWith('delivery-') && !stream.startsWith('channel-');
}

/** The log, once the notifiers have recorded their messages; if they never do, the missing ones are findings. */
async function readOnceTold({ of, cards, store }: Installation): Promise<readonly Entry[]> {
  const giveUpAt = Date.now() + (of('notifier').length === 0 ? 0 : caughtUpWithinMs);
  for (;;) {
    const entries = readStoreLog(store.folder);
    if (cards.areAllRecorded(entries) || Date.now() > giveUpAt) return entries;
    await sleep(500);
  }
}

/** Every acknowledged request was handled. @throws when one was not, with each process's readiness */
export async function untilLedgersCaughtUp(installation: Installation): Promise<void> {
  const { requests, topics } = installation;
  const group = `${topics.requests.split('.')[0] ?? ''}-ledger`;
  await eventually(
    'the ledgers to have handled every request',
    async () => ((await lagOf(requests.kafka, group, topics.requests)) === 0 ? true : undefined),
    200,
    caughtUpWithinMs,
  ).catch(async (error: unknown) => {
    const accounts = [
      await groupAccount(requests.kafka, group, topics.requests),
      ...(await accountsOf(installation, 1)),
    ];
    throw new Error([String(error), ...accounts].join('\n'));
  });
}

/** Until a relay has caught up; when none ever does, what is missing on the topic is a complaint. */
async function untilPublished({ processes }: Installation, entries: readonly Entry[]): Promise<void> {
  const head = entries.at(-1)?.position ?? 0;
  const giveUpAt = Date.now() + caughtUpWithinMs;
  const relays = processes().filter(({ role }) => role === 'relay');
  while (Date.now() < giveUpAt) {
    const positions = await Promise.all(relays.map((relay) => figureOf(relay, 'countersign_relay_position')));
    // A term without publishing ends at its start position.
    if (positions.some((position) => position >= head)) return;
    await sleep(100);
  }
}

/** The sum of a metric's values; 0 while there is no response. */
export async function figureOf(process: Supervised, name: string): Promise<number> {
  const request = { method: 'GET', path: '/metrics', timeoutMs: 5000 } as const;
  const text =
    (
      await process
        .server()
        .http.send(request)
        .catch(() => undefined)
    )?.text ?? '';
  const lines = text.split('\n').filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** The views of every process that has some are what a rebuild would give. One process compares all: its start takes more than they do. */
async function viewComplaints({ of, store }: Installation): Promise<readonly string[]> {
  const withViews = [...of('gateway'), ...of('projector')];
  const views = await verifyViews(
    store.url,
    withViews.map(({ folder }) => join(folder, 'data')),
  );
  return withViews.flatMap(({ name }, index) =>
    views[index]?.same === true
      ? []
      : [`the views of ${name} are not what the log says: ${JSON.stringify(views[index])}`],
  );
}

/** What an auditor finds in an export of the log. */
async function auditorsFindings({ store }: Installation): Promise<readonly string[]> {
  const file = join(store.folder, 'export.ndjson');
  writeFileSync(file, exportOf(store.folder));
  return findingsOf(file);
}
