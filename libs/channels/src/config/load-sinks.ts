import { dirname, resolve as resolvePath } from 'node:path';
import { plainWords } from '@countersign/contracts';
import {
  privateAddressOf,
  readSettings,
  Secret,
  settingProblems,
  SettingsFileError,
  syntaxProblems,
} from '@countersign/runtime';
import type { SettingProblem } from '@countersign/runtime';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { secretRefSchema } from './channels-file.js';
import type { SecretRef } from './channels-file.js';
import { readSecret } from './channel-secrets.js';
import type { Loading } from './channel-secrets.js';
import { plain } from './load-channels.js';

const variable = 'COUNTERSIGN_LOG_SINKS';

const urlSchema = z
  .string()
  .refine((url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ''), { error: 'must be an https url', abort: true })
  .refine((url) => !/^[^/]*\/\/[^/?#]*@/.test(url), { error: 'must carry no credentials' })
  .refine((url) => !/[?#]/.test(url), { error: 'must have no query: paths are added to it' })
  .transform((url) => new URL(url));

const s3Schema = z.strictObject({
  bucket: z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket'),
  prefix: z.string().max(512).default(''),
  endpoint: urlSchema.optional(),
  region: z
    .string()
    .regex(/^[a-z0-9-]{1,32}$/, 'must be a region such as eu-central-1')
    .optional(),
  objectLock: z
    .strictObject({ mode: z.enum(['governance', 'compliance']), days: z.int().min(1).max(36_500) })
    .optional(),
  accessKeyId: secretRefSchema.optional(),
  secretAccessKey: secretRefSchema.optional(),
  sessionToken: secretRefSchema.optional(),
  allowPrivateNetwork: z.boolean().default(false),
});

const sinkSchema = z.union(
  [
    z.strictObject({ folder: z.string().min(1) }),
    z.strictObject({ kafka: z.literal(true) }),
    z.strictObject({ s3: s3Schema }),
    z.strictObject({
      https: urlSchema,
      headers: z
        .record(
          z.string().regex(/^[A-Za-z0-9-]+$/),
          z.union([z.string().regex(/^[\t\x20-\x7e]*$/, 'must be printable ASCII'), secretRefSchema]),
        )
        .default({}),
      allowPrivateNetwork: z.boolean().default(false),
    }),
  ],
  { error: 'must be { folder }, { s3: { bucket, prefix } }, { https } or { kafka: true }' },
);

type Entry = z.infer<typeof sinkSchema>;
type S3Entry = z.infer<typeof s3Schema>;

/** A place to which the log is pushed, with its secrets. */
export type SinkConfig =
  | { readonly type: 'folder'; readonly folder: string }
  | { readonly type: 'kafka' }
  | {
      readonly type: 's3';
      readonly bucket: string;
      readonly prefix: string;
      readonly endpoint: URL | null;
      readonly region: string;
      readonly objectLock: { readonly mode: 'governance' | 'compliance'; readonly days: number } | null;
      readonly credentials: {
        readonly accessKeyId: string;
        readonly secretAccessKey: Secret;
        readonly sessionToken: Secret | null;
      };
      readonly allowPrivateNetwork: boolean;
    }
  | {
      readonly type: 'https';
      readonly url: URL;
      readonly headers: Readonly<Record<string, string | Secret>>;
      readonly allowPrivateNetwork: boolean;
    };

/**
 * Loads `COUNTERSIGN_LOG_SINKS`: a YAML list, or the path of a file that has one. Paths in a file are relative to it, others to
 * `folder`.
 * @throws SettingsFileError with all problems at once.
 */
export function loadSinks(setting: string | undefined, env: Loading['env'], folder: string): readonly SinkConfig[] {
  if (setting === undefined || setting === '') return [];
  const isInline = /^\s*(?:\[|-\s)/.test(setting);
  const file = isInline ? variable : resolvePath(folder, setting);
  const text = isInline ? setting : readSettings(file, variable, (problem) => new SettingsFileError(file, [problem]));
  const loading: Loading = { folder: isInline ? folder : dirname(file), env, problems: [] };
  const sinks = readList(text, loading.problems).flatMap((entry, at) => toSink(entry, `[${String(at)}]`, loading));
  if (loading.problems.length > 0) throw new SettingsFileError(file, loading.problems);
  return sinks;
}

function readList(text: string, problems: SettingProblem[]): readonly Entry[] {
  const document = parseDocument(text, { uniqueKeys: true, strict: true });
  problems.push(...syntaxProblems(document.errors));
  if (problems.length > 0) return [];
  const value = plain(document, problems);
  const parsed = z.array(sinkSchema, 'must be a list of sinks').safeParse(value, { error: plainWords });
  if (parsed.success) return parsed.data;
  if (problems.length === 0) problems.push(...settingProblems('', parsed.error));
  return [];
}

function toSink(entry: Entry, path: string, loading: Loading): SinkConfig[] {
  if ('kafka' in entry) return [{ type: 'kafka' }];
  if ('folder' in entry) return [{ type: 'folder', folder: resolvePath(loading.folder, entry.folder) }];
  if ('s3' in entry) return s3Sink(entry.s3, `${path}.s3`, loading);
  const { https: url, allowPrivateNetwork } = entry;
  checkUrl(url, `${path}.https`, allowPrivateNetwork, loading.problems);
  const headers = Object.entries(entry.headers).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : (readSecret(value, `${path}.headers.${name}`, loading) ?? ''),
  ]);
  return [{ type: 'https', url, allowPrivateNetwork, headers: Object.fromEntries(headers) as Record<string, string> }];
}

function s3Sink(entry: S3Entry, path: string, loading: Loading): SinkConfig[] {
  const { bucket, prefix, endpoint = null, objectLock = null, allowPrivateNetwork } = entry;
  if (endpoint !== null) checkUrl(endpoint, `${path}.endpoint`, allowPrivateNetwork, loading.problems);
  const secret = (name: 'accessKeyId' | 'secretAccessKey', env: string): Secret | undefined =>
    readSecret(entry[name] ?? { env }, `${path}.${name}`, loading);
  const accessKeyId = secret('accessKeyId', 'AWS_ACCESS_KEY_ID');
  const secretAccessKey = secret('secretAccessKey', 'AWS_SECRET_ACCESS_KEY');
  const sessionToken = readSession(entry.sessionToken, `${path}.sessionToken`, entry, loading);
  if (accessKeyId === undefined || secretAccessKey === undefined) return [];
  const region = entry.region ?? loading.env['AWS_REGION'] ?? loading.env['AWS_DEFAULT_REGION'] ?? 'us-east-1';
  const credentials = { accessKeyId: accessKeyId.reveal(), secretAccessKey, sessionToken };
  return [{ type: 's3', bucket, prefix, endpoint, region, objectLock, credentials, allowPrivateNetwork }];
}

/** A session of the environment belongs to the keys of the environment. */
function readSession(ref: SecretRef | undefined, path: string, entry: S3Entry, loading: Loading): Secret | null {
  if (ref !== undefined) return readSecret(ref, path, loading) ?? null;
  const ofEnvironment = entry.accessKeyId === undefined ? loading.env['AWS_SESSION_TOKEN'] : undefined;
  return ofEnvironment === undefined || ofEnvironment === '' ? null : new Secret(ofEnvironment);
}

function checkUrl(url: URL, path: string, allowPrivateNetwork: boolean, problems: SettingProblem[]): void {
  if (allowPrivateNetwork) return;
  if (url.protocol !== 'https:')
    problems.push({ path, problem: 'must be https; http needs allowPrivateNetwork: true' });
  if (privateAddressOf(url) !== undefined)
    problems.push({ path, problem: 'is in a private network: that needs allowPrivateNetwork: true' });
}
