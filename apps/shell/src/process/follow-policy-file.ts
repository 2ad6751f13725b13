import { UnreadableStreamError } from '@countersign/commands';
import { EventStoreUnavailableError } from '@countersign/event-store';
import { createShadowPolicy, describeProblem } from '@countersign/policy';
import type { CheckedPolicy, KnownPeople, PolicyContent, ShadowPolicy } from '@countersign/policy';
import { sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { watchForChanges } from '../input/watch-for-changes.js';
import { readPolicyText, toPolicy } from './read-policy.js';

/** The parts of a policy file that is read again when it changes. */
export interface FollowedPolicy {
  readonly file: string;
  /**
   * The tenant of the file at the start. It cannot change: the other tenant's log would name a policy that no longer
   * judges. Null: a candidate, which may be of any tenant.
   */
  readonly tenant: string | null;
  readonly policies: {
    readonly of: (tenant: string) => { readonly version: string } | undefined;
    readonly activate: (content: PolicyContent) => void;
  };
  /** Default: not known. */
  readonly people?: KnownPeople | undefined;
  /** Records that this content is in force, before it judges. */
  readonly record: (content: PolicyContent) => Promise<void>;
  /** A changed file cannot be used. */
  readonly onRefused?: ((error: unknown) => void) | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** An editor may write a file in parts, and the first part of a policy may be a laxer policy. */
const settledMs = 500;
const againMs = 2000;

/** A policy file that is read again when it changes. */
export interface PolicyFollower {
  /** Reads the file now. Resolves when it is in force or cannot be used; never rejects. */
  readonly reload: () => Promise<void>;
  /** False while the file has a content that cannot be used. */
  readonly isCurrent: () => boolean;
  readonly close: () => void;
}

/**
 * Puts a policy file in force again whenever it changes, within about three seconds. A file that cannot be used changes
 * nothing and is logged.
 */
export function followPolicyFile(followed: FollowedPolicy): PolicyFollower {
  const { file, log } = followed;
  const closing = new AbortController();
  let latest = new AbortController();
  let isCurrent = true;
  const reload = async (): Promise<void> => {
    // A later change replaces a reload that still waits.
    latest.abort();
    latest = new AbortController();
    const signal = AbortSignal.any([closing.signal, latest.signal]);
    try {
      await activate(followed, signal);
      isCurrent = true;
    } catch (error) {
      if (signal.aborted) return;
      isCurrent = false;
      const stays = followed.tenant === null ? 'the candidate' : 'the version in force';
      log.error({ file, error }, `the policy file cannot be used; ${stays} stays`);
      followed.onRefused?.(error);
    }
  };
  const stopWatching = watchForChanges(file, () => void reload());
  // It may have changed since the process read it.
  void reload();
  const close = (): void => {
    stopWatching();
    closing.abort();
  };
  return { reload, isCurrent: () => isCurrent, close };
}

/** How many warnings are logged. `countersign policy check` shows all. */
const warningsMax = 20;

const candidateJudges = 'the candidate policy judges each call too, and decides nothing';

/**
 * Follows the candidate of `COUNTERSIGN_POLICY_SHADOW`. It judges from about a second after the start, and a file that
 * cannot be used stops no process from starting: a candidate influences nothing.
 */
export function followShadowPolicy(
  followed: Omit<FollowedPolicy, 'tenant' | 'policies'>,
): Pick<ShadowPolicy, 'of'> & Pick<PolicyFollower, 'close' | 'isCurrent'> {
  const policies = createShadowPolicy();
  const { close, isCurrent } = followPolicyFile({ ...followed, tenant: null, policies });
  return { of: policies.of, close, isCurrent };
}

async function activate(followed: FollowedPolicy, signal: AbortSignal): Promise<void> {
  const { file, policies, log } = followed;
  const { content, warnings } = await settledContent(followed, signal);
  if (warnings.length > 0) {
    const first = warnings.slice(0, warningsMax).map(describeProblem);
    log.warn({ file, count: warnings.length, first }, 'the policy file has parts that look like mistakes');
  }
  const { version, tenant } = content;
  if (policies.of(tenant)?.version === version) return;
  await recorded(followed, content, signal);
  signal.throwIfAborted();
  policies.activate(content);
  const fields = { file, policyVersion: version, rules: content.rules.length };
  log.info(fields, followed.tenant === null ? candidateJudges : 'the policy file changed and is in force');
}

/** The content of the file once its text has stayed the same for a while. */
async function settledContent(followed: FollowedPolicy, signal: AbortSignal): Promise<CheckedPolicy> {
  const { file, tenant, clock, people } = followed;
  const variable = tenant === null ? 'COUNTERSIGN_POLICY_SHADOW' : 'COUNTERSIGN_POLICY';
  for (let before = readPolicyText(file, variable); ;) {
    await sleep(clock, settledMs, signal);
    signal.throwIfAborted();
    const text = readPolicyText(file, variable);
    if (text !== before) {
      before = text;
      continue;
    }
    const checked = await toPolicy(file, text, people);
    const { tenant: named } = checked.content;
    if (tenant === null || named === tenant) return checked;
    throw new Error(`it is for the tenant "${named}" now, and was for "${tenant}": restart the process`);
  }
}

/** Records the content; waits while the event store is away, and while the last activation in it cannot be read. */
async function recorded({ record, clock, log }: FollowedPolicy, content: PolicyContent, signal: AbortSignal) {
  for (let told = ''; ;) {
    try {
      await record(content);
      return;
    } catch (error) {
      const waits = error instanceof EventStoreUnavailableError || error instanceof UnreadableStreamError;
      if (!waits) throw error;
      const { message: why } = error;
      if (why !== told) log.warn({ why }, 'the changed policy waits for the event store');
      told = why;
    }
    await sleep(clock, againMs, signal);
    signal.throwIfAborted();
  }
}
