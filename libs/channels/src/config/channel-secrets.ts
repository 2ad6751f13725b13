import { resolve as resolvePath } from 'node:path';
import { privateAddressOf, readTextFile, Secret } from '@countersign/runtime';
import type { SettingProblem } from '@countersign/runtime';
import { webhookSecretProblem } from '../webhook/webhook-secret.js';
import { secretRefSchema } from './channels-file.js';
import type { ChannelEntry, SecretRef } from './channels-file.js';

/** An entry with its secrets read. */
type Revealed<T> = { readonly [K in keyof T]: Extract<T[K], SecretRef> extends never ? T[K] : SecretOf<T[K]> };
type SecretOf<V> = undefined extends V ? Secret | undefined : Secret;

/** One configured channel, ready to open. */
export type ChannelConfig = ChannelEntry extends infer E ? (E extends ChannelEntry ? Revealed<E> : never) : never;
/** The configuration of one type of channel. */
export type ChannelConfigOf<T extends ChannelEntry['type']> = Extract<ChannelConfig, { readonly type: T }>;

export type Environment = Readonly<Record<string, string | undefined>>;

/** What reading a file needs. */
export interface Loading {
  readonly folder: string;
  readonly env: Environment;
  readonly problems: SettingProblem[];
}

/** A part of a list of the file, and its place. */
export interface Entry<T> {
  readonly value: T;
  readonly path: string;
}

/** A channel with its secrets, and what is wrong with them. What is wrong with the file itself goes to its own problems. */
export function reveal(
  { value, path }: Entry<ChannelEntry>,
  loading: Loading,
): { readonly channel: ChannelConfig; readonly problems: readonly SettingProblem[] } {
  const problems: SettingProblem[] = [];
  const channel = Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      isSecretRef(member) ? readSecret(member, `${path}.${key}`, { ...loading, problems }) : member,
    ]),
  ) as unknown as ChannelConfig;
  problems.push(...secretProblems(channel, path));
  if (
    channel.type === 'webhook' &&
    !channel.allowPrivateNetwork &&
    privateAddressOf(new URL(channel.url)) !== undefined
  ) {
    const problem = 'is in a private network: that needs allowPrivateNetwork: true';
    loading.problems.push({ path: `${path}.url`, problem });
  }
  return { channel, problems };
}

/** Reads the secrets of a channel that is wrong elsewhere, for their problems alone. */
export function trySecrets({ value, path }: Entry<unknown>, loading: Loading): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    const ref = secretRefSchema.safeParse(member);
    if (ref.success) readSecret(ref.data, `${path}.${key}`, loading);
  }
}

function isSecretRef(value: unknown): value is SecretRef {
  return typeof value === 'object' && value !== null && ('env' in value || 'file' in value);
}

/** Returns a secret; undefined with a problem. */
export function readSecret(ref: SecretRef, path: string, { folder, env, problems }: Loading): Secret | undefined {
  try {
    // The line end of a file is no part of its secret, and neither is one that an env file or a shell left.
    const text = ('file' in ref ? readTextFile(resolvePath(folder, ref.file)) : env[ref.env])?.trim();
    if (text !== undefined && text !== '') return new Secret(text);
    const what = 'file' in ref ? `the file ${ref.file} is empty` : `the environment variable ${ref.env} is not set`;
    problems.push({ path, problem: what });
  } catch (error) {
    problems.push({ path, problem: messageOf(error) });
  }
  return undefined;
}

/** What is wrong with the meaning of the secrets of a channel, before the first message. */
function secretProblems(channel: ChannelConfig, path: string): readonly SettingProblem[] {
  if (channel.type === 'webhook') {
    const secret = channel.secret as Secret | undefined;
    const problem = secret === undefined ? undefined : webhookSecretProblem(secret.reveal());
    return problem === undefined ? [] : [{ path: `${path}.secret`, problem }];
  }
  const smtp = channel.type === 'email' ? (channel.smtp as Secret | undefined) : undefined;
  if (smtp === undefined || /^smtps?:$/.test(URL.parse(smtp.reveal())?.protocol ?? '')) return [];
  return [{ path: `${path}.smtp`, problem: 'must be a url of the form smtp://user:password@host:587' }];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
