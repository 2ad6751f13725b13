import type { SystemEventData } from '@countersign/contracts';
import { builtInPolicy, builtInPolicyVersion, digestOf } from '../legality/digests.js';
import type { JudgedEvent } from '../legality/judged-event.js';
import { createTimeline } from '../rights/timeline.js';
import type { Citation } from './citations.js';
import { readPolicy } from './written-policy.js';
import type { WrittenPolicy } from './written-policy.js';

/** A policy by its content. */
export interface ShownPolicy {
  readonly policyVersion: string;
  readonly content: unknown;
}

/**
 * How a policy stands at a place of the log. `last`: the last one that was activated; `around`: in force in some process then, or
 * until a short time before; `unknown`: what was in force is not known; `never`: it was not in force.
 */
export type Standing = 'last' | 'around' | 'unknown' | 'never';

/** The policies of one tenant, up to a place of its log. */
export interface PolicyRecord {
  readonly take: (event: JudgedEvent) => void;
  /** An event that may be about policies cannot be read, or was not shown. */
  readonly lose: (event: Pick<JudgedEvent, 'stream'> & { readonly type: string }) => void;
  /** The policy of a version; undefined: its content is not known, or has a form of a later version. */
  readonly find: (version: string, tenant: string) => WrittenPolicy | undefined;
  readonly standingOf: (version: string, event: JudgedEvent) => Standing;
  /**
   * Returns whether a process gives such verdicts that does not record by which policy file it judges: a notifier judges edits, and a
   * projector gives turns.
   */
  readonly hasSilentJudge: (by: Citation['by']) => boolean;
}

/** What a process records that has no policy file: it judges by the built-in policy. */
const none = digestOf(null);

/** What a verifier has of a log. */
export interface LogScope {
  /** Policies that are shown besides the events. */
  readonly policies: readonly ShownPolicy[];
  /** False for a file that has the events of one call alone. */
  readonly isWhole: boolean;
}

/** A record with no event yet. Before the first activation the built-in policy is in force. */
export function createPolicyRecord({ policies, isWhole }: LogScope): PolicyRecord {
  const contents = new Map<string, WrittenPolicy | undefined>();
  const inForce = createTimeline<string>();
  const builtIn = createBuiltIn();
  /** Undefined: none was activated. Null: not known. */
  let last: string | null | undefined = isWhole ? undefined : null;
  let [isKnown, tenant, isBuiltInUsed] = [isWhole, 'default', false];
  const roles = new Set<string>();
  const read = ({ policyVersion, content }: ShownPolicy): void => {
    if (!contents.has(policyVersion)) contents.set(policyVersion, readPolicy(content));
  };
  policies.forEach(read);
  const activate = (policy: ShownPolicy, at: string): void => {
    read(policy);
    if (isBuiltInUsed && last === undefined) inForce.put('', 'activated', builtIn(tenant).version, at);
    last = policy.policyVersion;
    inForce.put('', 'activated', last, at);
  };
  const configure = ({ configures, processId, digest }: Changed, at: string): void => {
    const version = digest === none || digest === null ? builtIn(tenant).version : digest;
    if (configures === 'policy') inForce.put('', processId, version, at);
  };
  return {
    take: ({ type, data, recordedAt, metadata }) => {
      ({ tenant } = metadata);
      if (type === 'ProcessStarted') roles.add((data as SystemEventData<'ProcessStarted'>).role);
      if (type === 'ConfigurationChanged') configure(data as Changed, recordedAt);
      if (type === 'PolicyActivated') activate(data as ShownPolicy, recordedAt);
    },
    lose: ({ stream, type }) => {
      const isOfPolicies = stream.startsWith('policy-');
      if (isOfPolicies) last = null;
      if (isOfPolicies || type === 'ConfigurationChanged') isKnown = false;
    },
    find: (version, of) => (version === builtIn(of).version ? builtIn(of).policy : contents.get(version)),
    standingOf: (version, { recordedAt, metadata }) => {
      const newest = last === undefined ? builtIn(metadata.tenant).version : last;
      isBuiltInUsed ||= last === undefined && version === newest;
      if (version === newest) return 'last';
      if (inForce.around('', recordedAt).some(({ what }) => what === version)) return 'around';
      return isKnown ? 'never' : 'unknown';
    },
    // Only the log of this tenant names the processes.
    hasSilentJudge: (by) =>
      by !== 'request' && (tenant !== 'default' || roles.has(by === 'turn' ? 'projector' : 'notifier')),
  };
}

type Changed = SystemEventData<'ConfigurationChanged'>;

/** The built-in policy of a tenant, and its version. */
function createBuiltIn() {
  const known = new Map<string, { readonly version: string; readonly policy: WrittenPolicy | undefined }>();
  return (tenant: string) => {
    const found = known.get(tenant);
    if (found !== undefined) return found;
    const made = { version: builtInPolicyVersion(tenant), policy: readPolicy(builtInPolicy(tenant)) };
    known.set(tenant, made);
    return made;
  };
}
