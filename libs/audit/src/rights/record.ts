import { identitiesIn } from '@countersign/contracts';
import type { CredentialRights, Identities, SystemEventData } from '@countersign/contracts';
import type { JudgedEvent } from '../legality/judged-event.js';
import { createTimeline } from './timeline.js';
import type { Said, Timeline } from './timeline.js';

/** The people of a channels file, as the record lists them: one line each, the name and the groups. */
export interface ListedPeople {
  readonly lines: readonly string[];
  /** The list, or a line of it, is too long to be recorded whole. */
  readonly isCut: boolean;
}

/** A person of a policy. */
export interface PolicyPerson {
  readonly id: string;
  readonly groups: readonly string[];
  /** Their other names: in channels and in front ends. */
  readonly identities: readonly string[];
  /** Who responds in place of the person, and from when until when. */
  readonly delegates: readonly { readonly to?: unknown; readonly from?: unknown; readonly until?: unknown }[];
}

/** What the log of record says of one tenant, up to here. */
export interface RightsRecord {
  readonly take: (event: JudgedEvent) => void;
  /** An event that may be about rights cannot be read, or was not shown. */
  readonly lose: (event: Pick<JudgedEvent, 'stream'> & { readonly type: string }) => void;
  /** False before the first record of tokens, and after an event that could not be read. */
  readonly isWhole: () => boolean;
  readonly ofCredential: (credential: string, at: string | null) => readonly Said<CredentialRights>[];
  readonly ofPerson: (principal: string, at: string | null) => readonly Said<CredentialRights>[];
  /** All that credentials of the tokens file gave. */
  readonly credentials: (at: string | null) => readonly CredentialRights[];
  readonly people: (at: string | null) => readonly ListedPeople[];
  /** The people of each policy that was in force. */
  readonly policies: (at: string | null) => readonly (readonly PolicyPerson[])[];
  /** The people of the policy that was activated last, and of those before it that ended a short time ago. */
  readonly activated: (at: string) => readonly (readonly PolicyPerson[])[];
  /** The providers at which people signed in, at any time. */
  readonly issuers: () => ReadonlySet<string>;
  /** The channels that there were at any time, such as `chat (slack)`. */
  readonly channels: () => ReadonlySet<string>;
  /** A process that receives answers of channels, and does not record by which policy file it knows people. */
  readonly hasNotifier: () => boolean;
  /** A process that ends questions, or may have been one: it does not record by which files it knows people. */
  readonly hasProjector: () => boolean;
  /** A process that takes requests from Kafka, or may have been one: only the log of the tenant `default` names them. */
  readonly hasLedger: () => boolean;
}

type Changed = SystemEventData<'ConfigurationChanged'>;

/** Nothing is recorded yet. */
export function createRightsRecord(): RightsRecord {
  const tokens = createTimeline<CredentialRights>();
  const credentialsOf = new Map<string, Set<string>>();
  const people = createTimeline<ListedPeople>();
  const policies = createTimeline<string>();
  const activated = createTimeline<string>();
  const contents = new Map<string, readonly PolicyPerson[]>();
  const [issuers, channels] = [new Set<string>(), new Set<string>()];
  const roles = new Set<string>();
  let [hasBegun, isLost, tenant] = [false, false, 'default'];
  const changed = (event: Changed, recordedAt: string): void => {
    const { configures, processId, changedAt, summary, digest, ...change } = event;
    const at = earlier(changedAt, recordedAt);
    switch (configures) {
      case 'tokens':
        hasBegun = true;
        takeTokens({ processId, changedAt: at, ...change }, tokens, credentialsOf);
        break;
      case 'people':
        people.put('', processId, { lines: summary, isCut: isCut(summary) }, at);
        break;
      case 'policy':
        policies.put('', processId, digest ?? undefined, at);
        break;
      case 'oidc':
        for (const line of summary) if (line.startsWith('issuer ')) issuers.add(line.slice('issuer '.length));
        break;
      case 'channels':
        for (const line of summary) channels.add(line);
        break;
      case 'tools':
      case 'receipts':
      case 'witnesses':
      case 'timestamps':
    }
  };
  const peopleOf = (version: string): readonly PolicyPerson[] => contents.get(version) ?? [];
  const valuesOf = <What>(line: Timeline<What>, at: string | null) => line.around('', at).map(({ what }) => what);
  return {
    take: ({ type, stream, data, recordedAt, metadata }) => {
      tenant = metadata.tenant;
      if (type === 'ConfigurationChanged') changed(data as Changed, recordedAt);
      if (type === 'ProcessStarted') roles.add((data as SystemEventData<'ProcessStarted'>).role);
      if (type !== 'PolicyActivated' || !stream.startsWith('policy-')) return;
      const { policyVersion, content, activatedAt } = data as Activated;
      contents.set(policyVersion, peopleIn(content));
      for (const line of [policies, activated])
        line.put('', 'activated', policyVersion, earlier(activatedAt, recordedAt));
    },
    lose: ({ stream, type }) => {
      isLost ||= /^(?:system|policy)-/.test(stream) && !givesNone.has(type);
    },
    isWhole: () => hasBegun && !isLost,
    ofCredential: tokens.around,
    ofPerson: (principal, at) =>
      [...(credentialsOf.get(principal) ?? [])]
        .flatMap((credential) => tokens.around(credential, at))
        .filter(({ what }) => what.principal === principal),
    credentials: (at) =>
      [...new Set([...credentialsOf.values()].flatMap((ids) => [...ids]))]
        .flatMap((credential) => tokens.around(credential, at))
        .map(({ what }) => what),
    people: (at) => valuesOf(people, at),
    policies: (at) => valuesOf(policies, at).map(peopleOf),
    activated: (at) => valuesOf(activated, at).map(peopleOf),
    issuers: () => issuers,
    channels: () => channels,
    hasNotifier: () => roles.has('notifier'),
    hasProjector: () => tenant !== 'default' || roles.has('projector'),
    hasLedger: () => tenant !== 'default' || roles.has('ledger'),
  };
}

/** Events of the system streams that say nothing of rights. */
const givesNone: ReadonlySet<string> = new Set([
  ...['ConfigurationRefused', 'KeysRotated', 'LogKeyChanged', 'LogEndAccepted', 'LogRestored', 'Backup'],
  ...['SignedIn', 'SignInRefused', 'AuditRead', 'StopDeclared', 'StopLifted'],
]);

interface Activated {
  readonly policyVersion: string;
  readonly content: { readonly approvers?: unknown };
  readonly activatedAt: string;
}

/** The people of a policy. What has not their form gives nothing. */
function peopleIn({ approvers }: Activated['content']): readonly PolicyPerson[] {
  const all: readonly unknown[] = Array.isArray(approvers) ? approvers : [];
  return all.flatMap((one) => {
    const { id, groups, identities, delegates } = (one ?? {}) as Readonly<Record<string, unknown>>;
    const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
    const given = listOf(groups).filter((group) => typeof group === 'string');
    const deputies = listOf(delegates).filter((deputy) => typeof deputy === 'object' && deputy !== null);
    if (typeof id !== 'string') return [];
    return [{ id, groups: given, identities: namesIn(identities), delegates: deputies }];
  });
}

function namesIn(identities: unknown): readonly string[] {
  const { frontEnds, ...ofChannels } = (identities ?? {}) as Readonly<Record<string, unknown>>;
  const texts = Object.entries(ofChannels).filter(([, identity]) => typeof identity === 'string');
  const people = (Array.isArray(frontEnds) ? frontEnds : []).filter((name) => typeof name === 'string');
  return identitiesIn({ ...(Object.fromEntries(texts) as Identities), frontEnds: people });
}

function takeTokens(
  { processId, changedAt, added, changed, removed }: Omit<Changed, 'configures' | 'summary' | 'digest'>,
  tokens: Timeline<CredentialRights>,
  credentialsOf: Map<string, Set<string>>,
): void {
  for (const { credential = '' } of removed) tokens.put(credential, processId, undefined, changedAt);
  for (const one of [...changed, ...added]) {
    const { credential = '', principal } = one;
    tokens.put(credential, processId, one, changedAt);
    credentialsOf.set(principal, (credentialsOf.get(principal) ?? new Set()).add(credential));
  }
}

/** Attack: a removal says that it is one of next year, so that what it removes counts until then. */
function earlier(said: string, recordedAt: string): string {
  return said < recordedAt ? said : recordedAt;
}

/** A line that is as long as a recorded one can be was longer. */
const lineMax = 500;

function isCut(summary: readonly string[]): boolean {
  return summary.some((line) => line.length >= lineMax) || /^and \d+ more$/.test(summary.at(-1) ?? '');
}
