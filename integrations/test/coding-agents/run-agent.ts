import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Agent } from './agents.ts';
import { pathWith, type Form } from './command.ts';
import type { Step } from './model/api.ts';
import { startModel, type ModelServer } from './model/server.ts';

const examples = join(import.meta.dirname, '..', '..', 'examples', 'coding-agents');
const limitMs = 120_000;
const quotedCharactersMax = 3000;

/** One run of an agent, in a project and a home folder of its own. */
export interface RunOptions {
  readonly agent: Agent;
  readonly bin: string;
  /** Where the hook finds Countersign. */
  readonly port: number;
  readonly dataFolder: string;
  readonly form: Form;
  readonly isTrusted?: boolean;
  /** Is added to the command of the model. */
  readonly commandEnd?: string;
  /** The steps of the model after its first one, which runs the command. */
  readonly next?: (told: string, marker: Marker) => Step | Promise<Step>;
}

/** Each run of the command adds the line `written` to this file. */
export interface Marker {
  readonly command: string;
  readonly text: () => string;
}

/** How a run ended. */
export interface Ended {
  /** The results that the model got, one for each of its calls. */
  readonly told: readonly string[];
  /** The text of the marker: a line for each run of the command. */
  readonly text: string;
  /** For the report of a failed check: the requests to the model, and the end of what the agent printed. */
  readonly log: string;
}

/** Runs the agent until it ends. Its model calls the shell tool and, unless the run says otherwise, ends after the result. */
export async function runAgent(options: RunOptions): Promise<Ended> {
  const { agent, next = () => ({ say: 'Done.' }) } = options;
  const folder = mkdtempSync(join(tmpdir(), 'countersign-agent-'));
  const marker = markerIn(folder, options.commandEnd ?? '');
  const told: string[] = [];
  const model = await startModel(agent.api, (text) => {
    if (text === '') return { run: marker.command };
    told.push(text);
    return next(text, marker);
  });
  try {
    place(options, folder, model);
    const output = await outputOf(options, folder, model);
    const log = [...model.requests, output.slice(-quotedCharactersMax)].join('\n');
    return { told, text: marker.text(), log };
  } finally {
    await model.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

function markerIn(folder: string, commandEnd: string): Marker {
  const file = join(folder, 'project', 'marker.txt');
  return {
    command: `echo written >> '${file}'${commandEnd}`,
    text: () => (existsSync(file) ? readFileSync(file, 'utf8') : ''),
  };
}

/** Puts the example where its agent reads it. For a timeout its seconds become few; nothing else changes. */
function place({ agent, form }: RunOptions, folder: string, model: ModelServer): void {
  const example = readFileSync(join(examples, agent.example), 'utf8');
  const [from, to] = agent.timeout ?? ['', ''];
  if (!example.includes(from))
    throw new Error(`${agent.example} has no ${from}. Correct integrations/test/coding-agents/agents.ts.`);
  const files = {
    ...Object.fromEntries(
      Object.entries(agent.settings?.(model.url) ?? {}).map(([path, text]) => [join('home', path), text]),
    ),
    [join(agent.placeIn, agent.place)]: form === 'timed out' ? example.replaceAll(from, to) : example,
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  for (const name of ['home', 'project', 'tmp']) mkdirSync(join(folder, name), { recursive: true });
}

function outputOf(options: RunOptions, folder: string, model: ModelServer): Promise<string> {
  const { agent, bin, port, dataFolder, form, isTrusted = true } = options;
  const trust = isTrusted ? agent.trust : agent.distrust;
  const noNetwork = 'http://127.0.0.1:9';
  // Its own process group, because an agent leaves helpers behind.
  const child = spawn(bin, [...agent.args, ...(trust?.args ?? [])], {
    cwd: join(folder, 'project'),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: pathWith(form, join(folder, 'bin')),
      HOME: join(folder, 'home'),
      TMPDIR: join(folder, 'tmp'),
      TERM: 'dumb',
      NO_COLOR: '1',
      // The agent reaches this machine alone.
      HTTP_PROXY: noNetwork,
      HTTPS_PROXY: noNetwork,
      NO_PROXY: '127.0.0.1,localhost',
      COUNTERSIGN_PORT: String(port),
      COUNTERSIGN_DATA: dataFolder,
      ...agent.env(model.url),
      ...trust?.env,
    },
  });
  const stop = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The group has ended.
    }
  };
  process.once('exit', stop);
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (text += part));
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      text += `\nstopped after ${limitMs} ms`;
      stop();
    }, limitMs);
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      process.off('exit', stop);
      stop();
      child.once('close', () => resolve(`${text}\nended with ${String(code ?? signal)}`));
    });
  });
}
