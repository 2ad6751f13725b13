import { dirname, resolve as resolvePath } from 'node:path';
import { plainWords } from '@countersign/contracts';
import { readSettings, settingProblems, SettingsFileError, syntaxProblems } from '@countersign/runtime';
import type { SettingProblem } from '@countersign/runtime';
import { parseDocument } from 'yaml';
import type { z } from 'zod';
import { channelSchema, channelsFileSchema, personSchema, routeSchema, routeTargetsSchema } from './channels-file.js';
import type { ChannelEntry, Person, Route } from './channels-file.js';
import { reveal, trySecrets } from './channel-secrets.js';
import type { ChannelConfig, Entry, Environment, Loading } from './channel-secrets.js';

export type { ChannelConfig, ChannelConfigOf } from './channel-secrets.js';

/** The channels file is not usable. */
export class ChannelsFileError extends SettingsFileError {
  override readonly name = 'ChannelsFileError';
}

/** The content of `COUNTERSIGN_CHANNELS`. */
export interface ChannelsConfig {
  readonly people: readonly Person[];
  readonly channels: readonly ChannelConfig[];
  readonly routes: readonly Route[];
  /** The channels that are off, because their secrets cannot be used. */
  readonly broken: readonly BrokenChannel[];
}

/** A channel of the file that is off, and why, without a secret. */
export interface BrokenChannel extends Pick<ChannelConfig, 'id' | 'type'> {
  readonly reason: string;
}

/** Without a file: the inbox alone. */
export const noChannels: ChannelsConfig = { people: [], channels: [], routes: [], broken: [] };

/** What becomes of a channel whose secrets cannot be used: the file is refused, or the channel is off. */
export interface LoadChannelsOptions {
  readonly broken: 'refuse' | 'off';
}

/**
 * Loads a channels file: YAML, and therefore also JSON. Secrets are read now, not at the first message; their paths are
 * relative to the file.
 * @throws ChannelsFileError with all problems at once.
 */
export function loadChannels(
  file: string,
  env: Environment,
  { broken }: LoadChannelsOptions = { broken: 'refuse' },
): ChannelsConfig {
  const text = readSettings(file, 'COUNTERSIGN_CHANNELS', (problem) => new ChannelsFileError(file, [problem]));
  const loading: Loading = { folder: dirname(resolvePath(file)), env, problems: [] };
  const config = readFile(text, loading, broken);
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

function readFile(
  text: string,
  loading: Loading,
  whenBroken: LoadChannelsOptions['broken'],
): ChannelsConfig | undefined {
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
  repeated(given.people, 'people', ['id', 'slack', 'telegram', 'teams', 'email'], problems);
  checkTargets(given.routes, typesOf(given.channels), problems);
  checkDigests(given.routes, entries, problems);
  const revealed = entries.map((entry) => reveal(entry, loading));
  const valid = new Set(entries.map(({ path }) => path));
  for (const entry of given.channels.map(toEntry('channels'))) if (!valid.has(entry.path)) trySecrets(entry, loading);
  checkApps(
    revealed.map(({ channel }) => channel),
    entries,
    problems,
  );
  const isRefused = whenBroken === 'refuse' || problems.length > 0;
  if (isRefused) problems.push(...revealed.flatMap((one) => one.problems));
  const [broken, sound] = [revealed.filter(isBroken), revealed.filter((one) => !isBroken(one))];
  return { people, routes, channels: sound.map(({ channel }) => channel), broken: broken.map(toBroken) };
}

function isBroken({ problems }: ReturnType<typeof reveal>): boolean {
  return problems.length > 0;
}

function toBroken({ channel: { id, type }, problems }: ReturnType<typeof reveal>): BrokenChannel {
  return { id, type, reason: problems.map(({ path, problem }) => `${path}: ${problem}`).join('; ') };
}

/** A list of the file; empty where there is none. */
function listAt(file: unknown, key: string): readonly unknown[] {
  const list: unknown = typeof file === 'object' && file !== null ? Reflect.get(file, key) : undefined;
  return Array.isArray(list) ? list : [];
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

/** One message with several calls would show each of them in the place of another. */
function checkDigests(
  routes: readonly unknown[],
  entries: readonly Entry<ChannelEntry>[],
  problems: SettingProblem[],
): void {
  const labelled = new Set(entries.filter(({ value }) => isLabelled(value)).map(({ value }) => value.id));
  for (const { value, path } of routes.map(toEntry('routes'))) {
    const route = routeTargetsSchema.safeParse(value).data;
    const id = route?.digest === undefined ? undefined : route.to.find((one) => labelled.has(one));
    if (id === undefined) continue;
    const problem = `is not for ${id}: its place is named by a label of each call, and a digest is one message about many`;
    problems.push({ path: `${path}.digest`, problem });
  }
}

function isLabelled(channel: ChannelEntry): boolean {
  if (channel.type === 'telegram') return typeof channel.chat !== 'string';
  if (channel.type === 'teams') return typeof channel.conversation !== 'string';
  return channel.type === 'slack' && (typeof channel.channel !== 'string' || channel.thread !== undefined);
}

/** What may stand in one channel alone: its vendor gives a press to any connection of the app, or to its one address. */
function appOf(channel: ChannelConfig): readonly [key: string, app: string | undefined, what: string] | undefined {
  if (channel.type === 'teams') return ['appId', channel.appId, 'a bot'];
  if (channel.type !== 'slack' || channel.mode !== 'socket') return undefined;
  return ['appToken', channel.appToken?.reveal(), 'an app'];
}

/** Only the channel that sent a card can read its buttons. */
function checkApps(
  channels: readonly ChannelConfig[],
  entries: readonly Entry<ChannelEntry>[],
  problems: SettingProblem[],
): void {
  const seen = new Map<string, string>();
  channels.forEach((channel, index) => {
    const [key = '', app, what = ''] = appOf(channel) ?? [];
    if (app === undefined) return;
    const path = entries[index]?.path ?? '';
    const first = seen.get(app);
    if (first === undefined) seen.set(app, path);
    else problems.push({ path: `${path}.${key}`, problem: `is that of ${first} too: each needs ${what} of its own` });
  });
}
