import { isIP } from 'node:net';
import { externalIdSchema, jsonObjectSchema, plainWords } from '@countersign/contracts';
import { privateAddressOf, settingProblems, SettingsFileError, syntaxProblems } from '@countersign/runtime';
import type { SettingProblem } from '@countersign/runtime';
import { parseDocument } from 'yaml';
import { z } from 'zod';

/** The tools file is not usable. */
export class ToolsFileError extends SettingsFileError {
  override readonly name = 'ToolsFileError';
}

const urlSchema = z
  .string()
  .refine((url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ''), {
    error: 'must be an http or https url',
    abort: true,
  })
  .refine((url) => !/^[^/]*\/\/[^/?#]*@/.test(url), { error: 'must carry no credentials: use a header' })
  .transform((url) => new URL(url));

const headerValueSchema = z.union(
  [z.string(), z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })],
  { error: 'must be a text, { env: NAME } or { file: PATH }' },
);
/** A header's value as the file gives it. */
export type HeaderValue = z.infer<typeof headerValueSchema>;

/** Headers that the request itself sets; a second value would make it ambiguous. */
const ownHeaders = new Set([
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'idempotency-key',
  'te',
  'transfer-encoding',
  'upgrade',
]);

const headerNameSchema = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'is not a header name')
  .refine((name) => !ownHeaders.has(name.toLowerCase()), { error: 'is a header that the resolver sets itself' });

const httpSchema = z
  .strictObject({
    url: urlSchema,
    timeoutMs: z.int().min(1).max(3_600_000).default(30_000),
    headers: z.record(headerNameSchema, headerValueSchema).default({}),
    allowPrivateNetwork: z.boolean().default(false),
  })
  .superRefine(({ url, headers, allowPrivateNetwork }, context) => {
    const secret = Object.entries(headers).find(([, value]) => typeof value !== 'string')?.[0];
    if (url.protocol === 'https:' || secret === undefined) return;
    const isPublic = isPublicLiteral(url);
    if (allowPrivateNetwork && !isPublic) return;
    const other = isPublic ? '' : ', or set allowPrivateNetwork: true for a host in your own network';
    const message = `must be https: it gets the secret header ${secret}. Use https${other}`;
    context.addIssue({ code: 'custom', path: ['url'], message });
  });

/**
 * Returns whether the url itself contains a public address. The addresses of a host name are known only when it is
 * used.
 */
function isPublicLiteral(url: URL): boolean {
  return isIP(url.hostname.replace(/^\[(.*)\]$/, '$1')) !== 0 && privateAddressOf(url) === undefined;
}

const toolSchema = z.strictObject({
  name: externalIdSchema,
  tenant: externalIdSchema.default('default'),
  needsApproval: z.boolean().default(true),
  idempotent: z.boolean().default(false),
  inputSchema: jsonObjectSchema.optional(),
  http: httpSchema.optional(),
  module: z.string().min(1).optional(),
  /** The time limit of a tool with `module`. A tool with `http` has its limit in there. */
  timeoutMs: z.int().min(1).max(3_600_000).optional(),
});

/** One entry of a tools file, with its position. */
export type ToolEntry = z.infer<typeof toolSchema> & { readonly path: string };

const fileSchema = z.strictObject({ tools: z.array(z.unknown()) });

/** The entries of a tools file that can be used, and what is wrong with the others. */
export interface ToolsFile {
  readonly entries: readonly ToolEntry[];
  readonly problems: readonly SettingProblem[];
}

/** Reads the text of a tools file: YAML, and so JSON too. */
export function readToolsFile(text: string): ToolsFile {
  const document = parseDocument(text);
  const problems = syntaxProblems(document.errors);
  if (problems.length > 0) return { entries: [], problems };
  const file = fileSchema.safeParse(plain(document, problems), { error: plainWords });
  if (problems.length > 0) return { entries: [], problems };
  if (!file.success) return { entries: [], problems: settingProblems('', file.error) };
  const read = file.data.tools.map((tool, index) => readEntry(tool, `tools[${index}]`));
  const entries = read.flatMap(({ entry }) => entry ?? []);
  return { entries, problems: [...read.flatMap((each) => each.problems), ...repeated(entries)] };
}

/** Parses a document; too many copies by YAML aliases are a problem. */
function plain(document: ReturnType<typeof parseDocument>, problems: SettingProblem[]): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch {
    problems.push({ path: '', problem: 'its aliases stand for more than 100 copies' });
    return undefined;
  }
}

function readEntry(given: unknown, path: string): { entry?: ToolEntry; problems: SettingProblem[] } {
  const result = toolSchema.safeParse(given, { error: plainWords });
  const problems = result.success ? [] : settingProblems(path, result.error);
  if (typeof given === 'object' && given !== null && 'http' in given === 'module' in given) {
    problems.push({ path, problem: 'must have either http or module' });
  }
  if (result.data?.http !== undefined && result.data.timeoutMs !== undefined) {
    problems.push({
      path: `${path}.timeoutMs`,
      problem: 'is for modules: the limit of an http tool is http.timeoutMs',
    });
  }
  return problems.length === 0 && result.success ? { entry: { ...result.data, path }, problems } : { problems };
}

function repeated(entries: readonly ToolEntry[]): SettingProblem[] {
  const seen = new Set<string>();
  return entries.flatMap(({ path, tenant, name }) => {
    const key = JSON.stringify([tenant, name]);
    if (seen.has(key)) return [{ path: `${path}.name`, problem: `"${name}" is there twice for tenant "${tenant}"` }];
    seen.add(key);
    return [];
  });
}
