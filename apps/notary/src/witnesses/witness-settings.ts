import { parseWitnessPolicy } from '@countersign/audit';
import type { WitnessPolicy } from '@countersign/audit';
import { ConfigError, privateAddressOf, readFileOf } from '@countersign/runtime';

/** The witnesses of a log. */
export interface WitnessSettings {
  /** The file that they are read from. */
  readonly file: string;
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
  const parsed = parseWitnessPolicy(readFileOf(variable, file));
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
  return { file, policy, allowPrivateNetwork };
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
