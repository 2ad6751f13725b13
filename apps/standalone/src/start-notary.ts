import type { createGatewayMetrics } from '@countersign/gateway';
import {
  createNotaryCheck,
  createNotaryMetrics,
  createSinksCheck,
  createSinksMetrics,
  createTimestampsCheck,
  createTimestampsMetrics,
  createWitnessesCheck,
  createWitnessesMetrics,
  openNotary,
} from '@countersign/notary';
import type { OpenNotary } from '@countersign/notary';
import { recordAcceptedEnd, recordLogKey } from '@countersign/shell';
import type { ReadinessCheck, ReloadedFile, RuntimePorts } from '@countersign/shell';
import type { StandaloneConfig } from './config.js';
import type { Stores } from './open-stores.js';

/** The notary of the process, with the files that it follows and what `/readyz` says of it. */
export interface StartedNotary extends OpenNotary {
  readonly followed: readonly ReloadedFile[];
  readonly checks: readonly ReadinessCheck[];
}

/** Keeps the tree over the log. It is stopped last, so that its last checkpoint covers what the others recorded. */
export function startNotary(
  { vault, acceptedEnd, system }: Stores,
  config: StandaloneConfig,
  { clock, log }: RuntimePorts,
  { registry }: ReturnType<typeof createGatewayMetrics>,
): StartedNotary {
  const { dataFolder: folder, logKeyFile, logSigner, previousLogKey } = config;
  const { logOrigin: origin, logSinks: sinks, witnesses, timestamps } = config;
  const { raw: store } = vault.store;
  const notary = openNotary({
    ...{ folder, logKeyFile, logSigner, previousLogKey, origin, sinks, witnesses, timestamps, store, clock, log },
    recordKeyChange: (tenant, keys) => recordLogKey(system, tenant, keys),
    acceptsContradiction: acceptedEnd !== undefined,
    recordAccepted:
      acceptedEnd &&
      ((tenant, contradiction) => recordAcceptedEnd(system, tenant, { ...acceptedEnd, ...contradiction })),
  });
  createSinksMetrics(registry, notary.sinkStates, clock);
  const ofSinks = sinks.length === 0 ? [] : [createSinksCheck(notary.sinkStates)];
  createWitnessesMetrics(registry, notary);
  createTimestampsMetrics(registry, notary.timestampState);
  createNotaryMetrics(registry).observe(notary, () => store.head());
  const ofWitnesses = witnesses === null ? [] : [createWitnessesCheck(notary.witnessStates)];
  const ofStamps = timestamps === null ? [] : [createTimestampsCheck(notary.timestampState)];
  const ofFile: ReloadedFile = { name: 'witnesses', isCurrent: notary.areWitnessesCurrent };
  const followed = witnesses === null ? [] : [ofFile];
  const checks = [createNotaryCheck(notary.health), ...ofSinks, ...ofWitnesses, ...ofStamps];
  return { ...notary, followed, checks };
}
