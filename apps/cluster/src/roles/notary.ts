import { isStoreOutage, lockFolder } from '@countersign/event-store';
import {
  createNotaryMetrics,
  createSharedCheckpoints,
  createSharedTimestamps,
  createSinksCheck,
  createSinksMetrics,
  createTimestampsCheck,
  createTimestampsMetrics,
  createWitnessesCheck,
  createWitnessesMetrics,
  openNotary,
} from '@countersign/notary';
import type { NotaryHealth } from '@countersign/notary';
import { makeFolderOf } from '@countersign/runtime';
import { recordLogKey } from '@countersign/shell';
import type { CheckResult } from '@countersign/shell';
import type { RoleConfig } from '../config.js';
import { openTopics } from '../kafka.js';
import { openNotaryApp } from '../notary/notary-app.js';
import { openRecord } from '../record.js';
import { openRawStore, untilDone } from '../role-process.js';
import type { OpenRole } from '../role-process.js';

/** How long the end of the log may lie before what was signed: a store may answer with an older end for a moment. */
const behindMs = 10_000;

/** Keeps the tree over the log and signs checkpoints. One notary is active; the others are on standby. */
export function readNotary({ notary: settings }: RoleConfig): Promise<OpenRole> {
  if (settings === null) throw new Error('the notary has no configuration of its key');
  return Promise.resolve(async (process) => {
    const { config, clock, ids, log, registry, onStop, check } = process;
    const { dataFolder: folder, host } = config;
    makeFolderOf('COUNTERSIGN_DATA', folder);
    onStop(lockFolder(folder, 'the data folder of the notary').release);
    const store = await openRawStore(process);
    if (store.records === undefined) throw new Error('this event store has no streams of records');
    const system = await openRecord(process, store, { ownFiles: settings.files });
    const { kafka, group, names } = await openTopics(process, ({ events }) => [events]);
    const { origin, logKeyFile, logSigner, previousLogKey, sinks, witnesses, timestamps } = settings;
    const notary = openNotary({
      ...{
        folder,
        logKeyFile,
        logSigner,
        previousLogKey,
        origin,
        sinks,
        witnesses,
        timestamps,
        store,
        behindMs,
        clock,
        log,
        acceptsContradiction: false,
      },
      recordKeyChange: (tenant, keys) => recordLogKey(system, tenant, keys),
      shared: createSharedCheckpoints(store.records, ids),
      sharedTimestamps: createSharedTimestamps(store.records, ids),
      turns: kafka.exclusiveProgress(group('notary')),
      publish: (message) => kafka.publisher.publish(names.checkpoints, [message]),
    });
    onStop(notary.stop);
    await untilDone(process, 'record', isStoreOutage, () => notary.recordSettings(system));
    createNotaryMetrics(registry).observe(notary, () => store.head());
    check({ name: 'notary', check: () => resultOf(notary.health(), notary.isActive()) });
    if (sinks.length > 0) check(createSinksCheck(notary.sinkStates));
    createSinksMetrics(registry, notary.sinkStates, clock);
    if (witnesses !== null) {
      check(createWitnessesCheck(notary.witnessStates));
      process.followed({ name: 'witnesses', isCurrent: notary.areWitnessesCurrent });
    }
    createWitnessesMetrics(registry, notary);
    if (timestamps !== null) check(createTimestampsCheck(notary.timestampState));
    createTimestampsMetrics(registry, notary.timestampState);
    const app = await openNotaryApp(notary, log, { ...settings, host });
    onStop(app.close);
  });
}

function resultOf(health: NotaryHealth, isActive: boolean): CheckResult {
  if (health.status !== 'ok') return { status: 'failing', why: health.why };
  return { status: 'ok', note: isActive ? 'signs checkpoints' : 'on standby: another notary signs' };
}
