import { EventStoreUnavailableError } from '@countersign/event-store';
import type { GroupsOf, LivePolicies, PolicyContent } from '@countersign/policy';
import { sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { watchForChanges } from '../input/watch-for-changes.js';
import { readPolicyText, toPolicy } from './read-policy.js';

/** The parts of a policy file that is read again when it changes. */
export interface FollowedPolicy {
  readonly file: string;
  /** The tenant of the file at the start. It cannot change: the other tenant's log would name a policy that no longer judges. */
  readonly tenant: string;
  readonly policies: LivePolicies;
  /** Default: not known. */
  readonly groupsOf?: GroupsOf | undefined;
  /** Records that this content is in force, before it judges. */
  readonly record: (content: PolicyContent) => Promise<void>;
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
  const reload = async (): Promise<void> => {
    // A later change replaces a reload that still waits.
    latest.abort();
    latest = new AbortController();
    const signal = AbortSignal.any([closing.signal, latest.signal]);
    try {
      await activate(followed, signal);
    } catch (error) {
      if (!signal.aborted) log.error({ file, error }, 'the policy file cannot be used; the version in force stays');
    }
  };
  const stopWatching = watchForChanges(file, () => void reload());
  // It may have changed since the process read it.
  void reload();
  const close = (): void => {
    stopWatching();
    closing.abort();
  };
  return { reload, close };
}

async function activate(followed: FollowedPolicy, signal: AbortSignal): Promise<void> {
  const { file, policies, log } = followed;
  const content = await settledContent(followed, signal);
  const { version, tenant } = content;
  if (policies.of(tenant).version === version) return;
  await recorded(followed, content, signal);
  signal.throwIfAborted();
  policies.activate(content);
  log.info({ file, policyVersion: version, rules: content.rules.length }, 'the policy file changed and is in force');
}

/** The content of the file once its text has stayed the same for a while. */
async function settledContent(followed: FollowedPolicy, signal: AbortSignal): Promise<PolicyContent> {
  const { file, tenant, clock, groupsOf } = followed;
  for (let before = readPolicyText(file); ;) {
    await sleep(clock, settledMs, signal);
    signal.throwIfAborted();
    const text = readPolicyText(file);
    if (text !== before) {
      before = text;
      continue;
    }
    const content = await toPolicy(file, text, groupsOf);
    if (content.tenant === tenant) return content;
    throw new Error(`it is for the tenant "${content.tenant}" now, and was for "${tenant}": restart the process`);
  }
}

/** Records the content; waits while the event store is away. */
async function recorded({ record, clock, log }: FollowedPolicy, content: PolicyContent, signal: AbortSignal) {
  for (;;) {
    try {
      await record(content);
      return;
    } catch (error) {
      if (!(error instanceof EventStoreUnavailableError)) throw error;
      log.warn({ why: error.message }, 'the changed policy waits for the event store');
    }
    await sleep(clock, againMs, signal);
    signal.throwIfAborted();
  }
}
