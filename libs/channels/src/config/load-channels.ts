import { dirname, resolve as resolvePath } from 'node:path';
import { plainWords } from '@countersign/contracts';
import {
  privateAddressOf,
  readSettings,
  readTextFile,
  Secret,
  settingProblems,
  SettingsFileError,
  syntaxProblems,
} from '@countersign/runtime';
import type { SettingProblem } from '@countersign/runtime';
import { parseDocument } from 'yaml';
import type { z } from 'zod';
import {
  channelSchema,
  channelsFileSchema,
  personSchema,
  routeSchema,
  routeTargetsSchema,
  secretRefSchema,
} from './channels-file.js';
import type { ChannelEntry, Person, Route, SecretRef } from './channels-file.js';
import { webhookSecretProblem } from '../webhook/webhook-secret.js';

/** The channels file is not usable. */
export class ChannelsFileError extends SettingsFileError {
  override readonly name = 'ChannelsFileError';
}

/** An entry with its secrets read. */
type Revealed<T> = { readonly [K in keyof T]: Extract<T[K], SecretRef> extends never ? T[K] : SecretOf<T[K]> };
type SecretOf<V> = undefined extends V ? Secret | undefined : Secret;

/** One configured channel, ready to open. */
export type ChannelConfig = ChannelEntry extends infer E ? (E extends ChannelEntry ? Revealed<E> : never) : never;
/** The configuration of one type of channel. */
export type ChannelConfigOf<T extends ChannelEntry['type']> = Extract<ChannelConfig, { readonly type: T }>;

/** The content of `COUNTERSIGN_CHANNELS`. */
export interface ChannelsConfig {
  readonly people: readonly Person[];
  readonly channels: readonly ChannelConfig[];
  readonly routes: readonly Route[];
}

/** Without a file: the inbox alone. */
export const noChannels: ChannelsConfig = { people: [], channels: [], routes: [] };

type Environment = Readonly<Record<string, string | undefined>>;

/** What reading a file needs. */
export interface Loading {
  readonly folder: string;
  readonly env: Environment;
  readonly problems: SettingProblem[];
}

/**
 * Loads a channels file: YAML, and therefore also JSON. Secrets are read now, not at the first message; their paths are
 * relative to the file.
 * @throws ChannelsFileError with all problems at once.
 */
export function loadChannels(file: string, env: Environment): ChannelsConfig {
  const text = readSettings(file, 'COUNTERSIGN_CHANNELS', (problem) => new ChannelsFileError(file, [problem]));
  const loading: Loading = { folder: dirname(resolvePath(file)), env, problems: [] };
  const config = readFile(text, loading);
  if (config === undefined || loading.problems.length > 0) throw new ChannelsFileError(file, loading.problems);
  return config;
}

/** Parses a document; too many copies by YAML aliases are a problem. */
export function plain(document: ReturnType<typeof parseDocument>, problems: SettingProblem[]): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch {
    problems.push({ path: '', problem: 'its aliases stand for more than 100 copies' });
    return undefined;
  }
}

function readFile(text: string, loading: Loading): ChannelsConfig | undefined {
  const { problems } = loading;
  const document = parseDocument(text, { uniqueKeys: true, strict: true });
  problems.push(...syntaxProblems(document.errors));
  if (problems.length > 0) return undefined;
  const value = plain(document, problems);
  if (problems.length > 0) return undefined;
  const file = channelsFileSchema.safeParse(value, { error: plainWords });
  if (!file.success) problems.push(...settingProblems('', file.error));
  // One wrong part hides no problem of another: all of them are reported at once.
  const given = {
    channels: listAt(value, 'channels'),
    people: listAt(value, 'people'),
    routes: listAt(value, 'routes'),
  };
  const entries = read('channels', given.channels, channelSchema, problems);
  const people = read('people', given.people, personSchema, problems).map((entry) => entry.value);
  const routes = read('routes', given.routes, routeSchema, problems).map((entry) => entry.value);
  repeated(given.channels, 'channels', ['id'], problems);
  repeated(given.people, 'people', ['id', 'slack', 'telegram', 'email'], problems);
  checkTargets(given.routes, typesOf(given.channels), problems);
  const channels = entries.map((entry) => reveal(entry, loading));
  const valid = new Set(entries.map(({ path }) => path));
  for (const entry of given.channels.map(toEntry('channels'))) if (!valid.has(entry.path)) trySecrets(entry, loading);
  checkApps(channels, entries, problems);
  return { people, channels, routes };
}

/** A list of the file; empty where there is none. */
function listAt(file: unknown, key: string): readonly unknown[] {
  const list: unknown = typeof file === 'object' && file !== null ? Reflect.get(file, key) : undefined;
  return Array.isArray(list) ? list : [];
}

interface Entry<T> {
  readonly value: T;
  readonly path: string;
}

function toEntry(section: string) {
  return (value: unknown, index: number): Entry<unknown> => ({ value, path: `${section}[${String(index)}]` });
}

function read<S extends z.ZodType>(
  section: string,
  given: readonly unknown[],
  schema: S,
  problems: SettingProblem[],
): Entry<z.output<S>>[] {
  return given.map(toEntry(section)).flatMap(({ value, path }) => {
    const result = schema.safeParse(value, { error: plainWords });
    if (result.success) return [{ value: result.data, path }];
    problems.push(...settingProblems(path, result.error));
    return [];
  });
}

function memberOf(given: unknown, key: string): string | undefined {
  const value: unknown = typeof given === 'object' && given !== null ? Reflect.get(given, key) : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** With one identity for two people it would be unclear who responded. Case and surrounding blanks are ignored. */
function repeated(
  given: readonly unknown[],
  section: string,
  keys: readonly string[],
  problems: SettingProblem[],
): void {
  for (const key of keys) {
    const seen = new Map<string, number>();
    given.forEach((one, index) => {
      const value = memberOf(one, key)?.trim().toLowerCase();
      if (value === undefined) return;
      const first = seen.get(value);
      if (first === undefined) seen.set(value, index);
      else
        problems.push({
          path: `${section}[${String(index)}].${key}`,
          problem: `is that of ${section}[${String(first)}] too`,
        });
    });
  }
}

function typesOf(channels: readonly unknown[]): ReadonlyMap<string | undefined, string | undefined> {
  return new Map(channels.map((one) => [memberOf(one, 'id'), memberOf(one, 'type')]));
}

function checkTargets(
  routes: readonly unknown[],
  known: ReadonlyMap<string | undefined, string | undefined>,
  problems: SettingProblem[],
): void {
  for (const { value, path } of routes.map(toEntry('routes'))) {
    const route = routeTargetsSchema.safeParse(value);
    route.data?.to.forEach((id, index) => {
      const problem = !known.has(id)
        ? `there is no channel "${id}"`
        : route.data.tell === 'requester' && known.get(id) !== 'email'
          ? '`tell: requester` needs a channel of type email: the others show a message to everybody'
          : undefined;
      if (problem !== undefined) problems.push({ path: `${path}.to[${String(index)}]`, problem });
    });
  }
}

/** Slack gives a press to any connection of the app, and only the channel that sent the card can read its buttons. */
function checkApps(
  channels: readonly ChannelConfig[],
  entries: readonly Entry<ChannelEntry>[],
  problems: SettingProblem[],
): void {
  const seen = new Map<string, string>();
  channels.forEach((channel, index) => {
    if (channel.type !== 'slack' || channel.mode !== 'socket' || channel.appToken === undefined) return;
    const path = entries[index]?.path ?? '';
    const first = seen.get(channel.appToken.reveal());
    if (first === undefined) seen.set(channel.appToken.reveal(), path);
    else problems.push({ path: `${path}.appToken`, problem: `is that of ${first} too: each needs an app of its own` });
  });
}

function reveal({ value, path }: Entry<ChannelEntry>, loading: Loading): ChannelConfig {
  const revealed = Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      isSecretRef(member) ? readSecret(member, `${path}.${key}`, loading) : member,
    ]),
  ) as unknown as ChannelConfig;
  checkMeaning(revealed, path, loading);
  return revealed;
}

/** Reads the secrets of a channel that is wrong elsewhere, for their problems alone. */
function trySecrets({ value, path }: Entry<unknown>, loading: Loading): void {
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

/** Checks the secrets and addresses of a channel before the first message. */
function checkMeaning(channel: ChannelConfig, path: string, { problems }: Loading): void {
  if (channel.type === 'webhook') checkWebhook(channel, path, problems);
  if (channel.type === 'email') {
    const smtp = channel.smtp as Secret | undefined;
    if (smtp !== undefined && !/^smtps?:$/.test(URL.parse(smtp.reveal())?.protocol ?? '')) {
      problems.push({ path: `${path}.smtp`, problem: 'must be a url of the form smtp://user:password@host:587' });
    }
  }
}

function checkWebhook(channel: ChannelConfigOf<'webhook'>, path: string, problems: SettingProblem[]): void {
  const secret = channel.secret as Secret | undefined;
  const problem = secret === undefined ? undefined : webhookSecretProblem(secret.reveal());
  if (problem !== undefined) problems.push({ path: `${path}.secret`, problem });
  if (!channel.allowPrivateNetwork && privateAddressOf(new URL(channel.url)) !== undefined) {
    problems.push({ path: `${path}.url`, problem: 'is in a private network: that needs allowPrivateNetwork: true' });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
