import type { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { ConfigError, privateAddressOf, readFileOf } from '@countersign/runtime';
import { digestOfText, recordConfiguration } from '@countersign/shell';
import type { SystemLog } from '@countersign/shell';
import { readRoots } from '@countersign/timestamps/roots';

/** The authority that stamps checkpoints. */
export interface TimestampSettings {
  readonly url: URL;
  /** Whose time stamps count; null: anyone's. */
  readonly roots: readonly X509Certificate[] | null;
  readonly allowPrivateNetwork: boolean;
  /** At most one time stamp for each tenant in this time, in ms. */
  readonly intervalMs: number;
}

/** The variables of the authority. */
export interface TimestampValues {
  readonly COUNTERSIGN_TSA_URL?: string | undefined;
  readonly COUNTERSIGN_TSA_CA?: string | undefined;
  readonly COUNTERSIGN_TSA_PRIVATE?: 'true' | undefined;
  readonly COUNTERSIGN_TSA_INTERVAL_MS?: number | undefined;
}

const intervalMsDefault = 3_600_000;
const urlVariable = 'COUNTERSIGN_TSA_URL';
const caVariable = 'COUNTERSIGN_TSA_CA';
const switchOn = 'needs COUNTERSIGN_TSA_PRIVATE=true';

/** Reads the settings of time stamps, with paths from a folder; null: there are none. @throws ConfigError */
export function readTimestampSettings(values: TimestampValues, folder: string): TimestampSettings | null {
  const { COUNTERSIGN_TSA_URL: address, COUNTERSIGN_TSA_CA: ca, COUNTERSIGN_TSA_INTERVAL_MS: intervalMs } = values;
  if (address === undefined) {
    if (ca !== undefined) throw wrong(caVariable, `has no effect without ${urlVariable}`);
    return null;
  }
  const allowPrivateNetwork = values.COUNTERSIGN_TSA_PRIVATE === 'true';
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) throw wrong(urlVariable, 'must be an https:// address');
  const why = whyNoAddress(url, allowPrivateNetwork);
  if (why !== undefined) throw wrong(urlVariable, why);
  const roots = ca === undefined ? null : readRoots(readFileOf(caVariable, resolve(folder, ca)));
  if (roots === undefined) throw wrong(caVariable, `${String(ca)}: it must have certificates of authorities, as PEM`);
  return { url, roots, allowPrivateNetwork, intervalMs: intervalMs ?? intervalMsDefault };
}

/** Records the authority, unless it is what this process recorded last. Null: there is none. @throws as the store */
export function recordTimestampSettings(system: SystemLog, settings: TimestampSettings | null): Promise<void> {
  if (settings === null) return recordConfiguration(system, [{ configures: 'timestamps', digest: null, summary: [] }]);
  const { url, roots, intervalMs, allowPrivateNetwork } = settings;
  // A query may have a secret of the authority.
  const summary = [
    `${url.origin}${url.pathname}, at most once in ${String(intervalMs)} ms`,
    ...(allowPrivateNetwork ? ['private networks are allowed'] : []),
    ...(roots?.map(({ subject, fingerprint256 }) => `trusts ${oneLine(subject)} (${fingerprint256})`) ?? [
      'trusts anyone',
    ]),
  ];
  const digest = digestOfText(JSON.stringify(summary));
  return recordConfiguration(system, [{ configures: 'timestamps', digest, summary }]);
}

/** The name of an authority: Node puts each part in a line of its own. */
function oneLine(subject: string): string {
  return subject.replaceAll('\n', ', ');
}

function whyNoAddress(url: URL, allowPrivateNetwork: boolean): string | undefined {
  if ([url.username, url.password, url.hash].some((part) => part !== '')) return 'has a user or a fragment';
  if (allowPrivateNetwork) return undefined;
  if (url.protocol === 'http:') return `is not https, which ${switchOn}`;
  return privateAddressOf(url) === undefined ? undefined : `is in a private network, which ${switchOn}`;
}

function wrong(variable: string, problem: string): ConfigError {
  return new ConfigError([{ variable, problem }]);
}
