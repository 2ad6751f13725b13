import { parseWitnessPolicy } from '@countersign/audit';
import type { WitnessPolicy } from '@countersign/audit';
import { ConfigError, privateAddressOf, readFileOf } from '@countersign/runtime';
import { digestOfText, recordConfiguration } from '@countersign/shell';
import type { SystemLog } from '@countersign/shell';

/** The witnesses of a log. */
export interface WitnessSettings {
  /** The file that they are read from. */
  readonly file: string;
  /** The digest of its text. */
  readonly digest: string;
  readonly policy: WitnessPolicy;
  readonly allowPrivateNetwork: boolean;
}

const variable = 'COUNTERSIGN_WITNESSES';
const switchOn = 'needs COUNTERSIGN_WITNESS_PRIVATE=true';
/** A signed note has at most 100 lines of signatures. */
const witnessesMax = 90;

/** Reads the policy of `COUNTERSIGN_WITNESSES`. @throws ConfigError for a file that is none, or whose quorum is out of reach */
export function readWitnesses(file: string, allowPrivateNetwork: boolean): WitnessSettings {
  const refuse = (problem: string): never => {
    throw new ConfigError([{ variable, problem: `${file}: ${problem}` }]);
  };
  const text = readFileOf(variable, file);
  const parsed = parseWitnessPolicy(text);
  if (!('policy' in parsed)) return refuse(parsed.problem);
  const { policy } = parsed;
  if (policy.witnesses.length > witnessesMax) return refuse(`it has more than ${String(witnessesMax)} witnesses`);
  for (const { name, url } of policy.witnesses) {
    if (url === null) continue;
    const why = whyNoAddress(url, allowPrivateNetwork);
    if (why !== undefined) return refuse(`the URL of witness ${name} ${why}`);
  }
  const asked = policy.witnesses.filter(({ url }) => url !== null).map(({ key }) => key);
  if (!policy.isQuorum(asked)) return refuse('the witnesses that have a URL can never be the quorum');
  return { file, digest: digestOfText(text), policy, allowPrivateNetwork };
}

/** Records the witnesses, unless they are what this process recorded last. Null: there are none. @throws as the store */
export function recordWitnesses(system: SystemLog, settings: WitnessSettings | null): Promise<void> {
  const { digest = null, policy } = settings ?? {};
  const summary = (policy?.witnesses ?? []).map(({ name, key }) => `${name} (${key.name})`);
  return recordConfiguration(system, [{ configures: 'witnesses', digest, summary }]);
}

function whyNoAddress(text: string, allowPrivateNetwork: boolean): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return 'is no https address';
  if ([url.username, url.password, url.search, url.hash].some((part) => part !== ''))
    return 'has a user, a query or a fragment';
  return allowPrivateNetwork ? undefined : whyPrivate(url);
}

function whyPrivate(url: URL): string | undefined {
  if (url.protocol === 'http:') return `is not https, which ${switchOn}`;
  return privateAddressOf(url) === undefined ? undefined : `is in a private network, which ${switchOn}`;
}
