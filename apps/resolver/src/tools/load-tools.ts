import { dirname, resolve as resolvePath } from 'node:path';
import { readSettings, readTextFile, Secret, systemClock } from '@countersign/runtime';
import type { SettingProblem } from '@countersign/runtime';
import type { PostPorts } from './post.js';
import { createHttpRun } from './http-tool.js';
import { InputSchemaError, readInputSchema } from './input-schema.js';
import { createModuleRun, loadToolModule } from './module-tool.js';
import type { Tool, ToolSet } from './tool.js';
import { readToolsFile, ToolsFileError } from './tools-file.js';
import type { HeaderValue, ToolEntry } from './tools-file.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** No tools: all calls are executed by workers. */
const noTools: ToolSet = { tools: [], find: () => undefined };

interface Loading {
  readonly folder: string;
  readonly env: Environment;
  readonly ports: PostPorts;
  /** Collected, so that all are reported at once. */
  readonly problems: SettingProblem[];
}

/**
 * Loads the tools of a file (`COUNTERSIGN_TOOLS`): imports modules, compiles schemas and reads secrets now, not at the
 * first call. Paths in the file are relative to it. Null: no file, no tools.
 * @throws ToolsFileError with all problems at once.
 */
export async function loadTools(
  file: string | null,
  env: Environment,
  ports: PostPorts = { clock: systemClock },
): Promise<ToolSet> {
  if (file === null) return noTools;
  const text = readSettings(file, 'COUNTERSIGN_TOOLS', (problem) => new ToolsFileError(file, [problem]));
  const { entries, problems } = readToolsFile(text);
  const loading: Loading = { folder: dirname(resolvePath(file)), env, ports, problems: [...problems] };
  const loaded = await Promise.all(entries.map((entry) => loadTool(entry, loading)));
  if (loading.problems.length > 0) throw new ToolsFileError(file, inOrder(loading.problems));
  const tools = loaded.filter((tool) => tool !== undefined);
  const byName = new Map(tools.map((tool) => [JSON.stringify([tool.tenant, tool.name]), tool]));
  return { tools, find: (tenant, name) => byName.get(JSON.stringify([tenant, name])) };
}

/** In the order of the file; they were found in another one. */
function inOrder(problems: readonly SettingProblem[]): SettingProblem[] {
  const index = ({ path }: SettingProblem): number => Number(/\d+/.exec(path)?.[0] ?? -1);
  return problems.toSorted((a, b) => index(a) - index(b));
}

async function loadTool(entry: ToolEntry, loading: Loading): Promise<Tool | undefined> {
  const { name, tenant, needsApproval, idempotent, path } = entry;
  const kind = entry.module === undefined ? 'http' : 'module';
  try {
    const { run, inputSchema } = kind === 'http' ? loadHttp(entry, loading) : await loadModule(entry, loading);
    return { name, tenant, needsApproval, idempotent, run, ...readInputSchema(inputSchema) };
  } catch (error) {
    const place = error instanceof InputSchemaError ? 'inputSchema' : kind;
    loading.problems.push({ path: `${path}.${place}`, problem: messageOf(error) });
    return undefined;
  }
}

interface Loaded {
  readonly run: Tool['run'];
  readonly inputSchema: unknown;
}

function loadHttp({ http, inputSchema, path }: ToolEntry, loading: Loading): Loaded {
  if (http === undefined) throw new Error('is missing');
  const headers = Object.entries(http.headers).flatMap(([name, value]) => {
    const secret = readHeader(value, `${path}.http.headers.${name}`, loading);
    return secret === undefined ? [] : [[name.toLowerCase(), secret] as const];
  });
  return { run: createHttpRun({ ...http, headers: Object.fromEntries(headers) }, loading.ports), inputSchema };
}

/** The default limit of a module: 10 minutes. */
const moduleTimeoutMs = 600_000;

async function loadModule(
  { module = '', inputSchema, timeoutMs }: ToolEntry,
  { folder, ports }: Loading,
): Promise<Loaded> {
  const tool = await loadToolModule(resolvePath(folder, module));
  if (inputSchema !== undefined && tool.inputSchema !== undefined) {
    throw new InputSchemaError('is given by the module already');
  }
  return {
    run: createModuleRun(tool, timeoutMs ?? moduleTimeoutMs, ports.clock),
    inputSchema: inputSchema ?? tool.inputSchema,
  };
}

/** A header's value, read now: a secret that is missing must not be found out by the first approved call. */
function readHeader(value: HeaderValue, path: string, { folder, env, problems }: Loading): Secret | undefined {
  try {
    const text = typeof value === 'string' ? value : readSecret(value, folder, env);
    if (/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) return new Secret(text);
    problems.push({ path, problem: 'has characters that a header cannot carry' });
  } catch (error) {
    problems.push({ path, problem: messageOf(error) });
  }
  return undefined;
}

function readSecret(value: Exclude<HeaderValue, string>, folder: string, env: Environment): string {
  if ('file' in value) {
    const text = readTextFile(resolvePath(folder, value.file)).trim();
    if (text === '') throw new Error(`the file ${value.file} is empty`);
    return text;
  }
  const text = env[value.env];
  if (text === undefined || text === '') throw new Error(`the environment variable ${value.env} is not set`);
  return text;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
