import { randomUUID } from 'node:crypto';
import { sleep } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import { readConnectionString } from './connection-string.js';
import type { StoreAddress } from './connection-string.js';
import { credentialsOf } from './members.js';
import { openRightsCalls, RightsUnknownError } from './rights-calls.js';
import type { CallResult, RightsCalls } from './rights-calls.js';

/** One operation that was tried as the service's user. */
export interface RightTried {
  readonly what: string;
  readonly wanted: 'allowed' | 'refused';
  readonly found: 'allowed' | 'refused' | 'not authenticated';
}

/** A remark about the rights of the service's user. */
export interface RightsReport {
  readonly user: string | null;
  readonly isAsItMustBe: boolean;
  readonly tried: readonly RightTried[];
}

/** A revision that no stream reaches: the server checks the right first, then refuses the revision. */
const neverReached = 1_000_000_000;
const settingsMs = 5000;
const againMs = 250;

/**
 * Tries as the user of `url` what must work and what must be refused. Writes and deletes nothing: each try names a stream
 * that does not exist, or a revision that is never reached.
 * @throws RightsUnknownError when the server cannot be asked; RangeError when the connection string is not usable.
 */
export async function checkRights(url: string, clock: Clock): Promise<RightsReport> {
  const { user: named, isEncrypted } = addressIn('COUNTERSIGN_EVENTSTORE_URL', url);
  const user = isEncrypted ? (named ?? null) : null;
  return withCalls(url, clock, async (calls) => {
    const tried: RightTried[] = [];
    for (const { what, wanted, attempt } of attempts(calls))
      tried.push({ what, wanted, found: foundBy(await attempt()) });
    return { user, tried, isAsItMustBe: tried.every(({ wanted, found }) => wanted === found) };
  });
}

/**
 * Creates the user of `url`, or sets its password, and grants it the rights that the service needs and no more. Then
 * verifies them.
 * @throws as `checkRights`.
 */
export async function secureStore(adminUrl: string, url: string, clock: Clock): Promise<RightsReport> {
  const { user, password } = serviceUser(adminUrl, url);
  await withCalls(adminUrl, clock, async (admin) => {
    await makeUser(admin, user, password);
    await grant(admin, '$$$all', '$metadata', (found) => allMetadata(found, user));
    await grant(admin, '$settings', 'update-default-acl', (found) => defaultRights(found, user));
  });
  const until = clock.monotonic() + settingsMs;
  for (;;) {
    const report = await checkRights(url, clock);
    // New rights take effect a moment after the server's response.
    if (report.isAsItMustBe || clock.monotonic() > until) return report;
    await sleep(clock, againMs);
  }
}

/**
 * Creates the user, or sets the password of one that may be the service's. Its details are asked first: a server that has
 * a user with this password reports that it was created, whatever its groups are.
 */
async function makeUser(admin: RightsCalls, user: string, password: string): Promise<void> {
  const { result, details } = await admin.user(user);
  if (result === 'missing') {
    must(await admin.createUser(user, password), `create the user ${user}`);
    return;
  }
  must(result, `read the user ${user}`);
  // Someone's account with all rights: a new password would lock its owner out, and no ACL could limit it.
  if (details?.groups.includes(admins) === true)
    throw new RangeError(
      `COUNTERSIGN_EVENTSTORE_URL names ${user}, a member of ${admins}: give the service its own user. Nothing was changed`,
    );
  if (details?.isDisabled === true)
    throw new RangeError(`the user ${user} is disabled: enable it first. Nothing was changed`);
  must(await admin.resetPassword(user, password), `set the password of ${user}`);
}

function serviceUser(adminUrl: string, url: string): { readonly user: string; readonly password: string } {
  const admin = addressIn('COUNTERSIGN_EVENTSTORE_ADMIN_URL', adminUrl);
  const service = addressIn('COUNTERSIGN_EVENTSTORE_URL', url);
  const { user = '', password = '' } = service;
  if (!admin.isEncrypted || !service.isEncrypted)
    throw new RangeError(
      'a connection string says tls=false: without TLS the client sends no user. Use a server with TLS',
    );
  if (user === '' || password === '')
    throw new RangeError('COUNTERSIGN_EVENTSTORE_URL names no user with a password: esdb://user:password@host:2113');
  // In a list of rights such a name stands for everybody or for a group.
  if (user.startsWith('$'))
    throw new RangeError(`COUNTERSIGN_EVENTSTORE_URL names ${user}, which stands for a group: choose a name without $`);
  if (admin.user === user)
    throw new RangeError('COUNTERSIGN_EVENTSTORE_URL names the admin: give the service its own user');
  // Throws, before anything is granted, when a certificate cannot be read.
  credentialsOf(service);
  return { user, password };
}

function addressIn(variable: string, url: string): StoreAddress {
  try {
    return readConnectionString(url);
  } catch (error) {
    throw new RangeError(`${variable} ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Resolves to whether the user of `url` may delete a stream, tried on a stream that does not exist. @throws
 * RightsUnknownError
 */
export async function mayDelete(url: string, clock: Clock): Promise<boolean> {
  return withCalls(url, clock, async (calls) => foundBy(await calls.remove(probeStream(), neverReached)) === 'allowed');
}

async function withCalls<T>(url: string, clock: Clock, work: (calls: RightsCalls) => Promise<T>): Promise<T> {
  const calls = await openRightsCalls(url, clock);
  try {
    return await work(calls);
  } finally {
    calls.close();
  }
}

function probeStream(): string {
  return `toolCall-rights-${randomUUID()}`;
}

interface Attempt {
  readonly what: string;
  readonly wanted: RightTried['wanted'];
  readonly attempt: () => Promise<CallResult>;
}

function attempts(calls: RightsCalls): readonly Attempt[] {
  const stream = probeStream();
  const read = async (name: string): Promise<CallResult> => (await calls.readLast(name)).result;
  const write = (name: string, type: string) => () => calls.append(name, neverReached, type, {});
  return [
    { what: 'append to a stream', wanted: 'allowed', attempt: write(stream, 'RightsProbe') },
    { what: 'read a stream', wanted: 'allowed', attempt: () => read(stream) },
    { what: 'read $all', wanted: 'allowed', attempt: () => read('$all') },
    { what: 'delete a stream', wanted: 'refused', attempt: () => calls.remove(stream, neverReached) },
    { what: 'tombstone a stream', wanted: 'refused', attempt: () => calls.tombstone(stream, neverReached) },
    { what: 'truncate a stream or change its metadata', wanted: 'refused', attempt: write(`$$${stream}`, '$metadata') },
    { what: 'change the rights to $all', wanted: 'refused', attempt: write('$$$all', '$metadata') },
    { what: 'change the default rights', wanted: 'refused', attempt: write('$settings', 'update-default-acl') },
  ];
}

function foundBy(result: CallResult): RightTried['found'] {
  if (result === 'not-authenticated') return 'not authenticated';
  return result === 'denied' ? 'refused' : 'allowed';
}

function must(result: CallResult, what: string): void {
  if (result === 'done') return;
  if (result === 'exists')
    throw new RightsUnknownError(`another admin has just done it: could not ${what}. Run it again`);
  const why = result === 'not-authenticated' ? 'the name or password is wrong' : 'its user is no admin';
  throw new RightsUnknownError(`COUNTERSIGN_EVENTSTORE_ADMIN_URL may not ${what}: ${why}`);
}

/** Rewrites the last event of a stream, unless it is already the same. */
async function grant(
  admin: RightsCalls,
  stream: string,
  type: string,
  change: (found: Fields) => Fields,
): Promise<void> {
  const { result, data } = await admin.readLast(stream);
  must(result, `read ${stream}`);
  const wanted = change(fieldsIn(data));
  if (JSON.stringify(wanted) === JSON.stringify(data)) return;
  must(await admin.append(stream, 'any', type, wanted), `write to ${stream}`);
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsIn(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** Those who had a right keep it; "everybody" does not. */
function together(found: unknown, ...added: readonly string[]): readonly string[] {
  const before = (Array.isArray(found) ? found : [found]).filter((name): name is string => typeof name === 'string');
  return [...new Set([...before.filter((name) => name !== '$all'), ...added])];
}

const admins = '$admins';

function allMetadata(found: Fields, user: string): Fields {
  const acl = fieldsIn(found['$acl']);
  return { ...found, $acl: { ...acl, $r: together(acl['$r'], admins, user) } };
}

function defaultRights(found: Fields, user: string): Fields {
  const { $r, $w, $mr } = fieldsIn(found['$userStreamAcl']);
  const system = fieldsIn(found['$systemStreamAcl']);
  return {
    $userStreamAcl: {
      $r: together($r, admins, user),
      $w: together($w, admins, user),
      $d: admins,
      $mr: together($mr, admins, user),
      $mw: admins,
    },
    // Only readers keep their right: who may append there may change these very rights.
    $systemStreamAcl: {
      $r: together(system['$r'], admins),
      $w: admins,
      $d: admins,
      $mr: together(system['$mr'], admins),
      $mw: admins,
    },
  };
}
