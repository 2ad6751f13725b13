import { ConfigError, createLog, createSystemClock, createSystemIds } from '@countersign/runtime';
import { openTracing } from '@countersign/shell';
import { readFileSync } from 'node:fs';
import { readStandaloneConfig } from './config.js';
import type { StandaloneConfig } from './config.js';
import { startStandalone } from './standalone.js';
import type { Standalone } from './standalone.js';

const stopWithinMs = 10_000;

/**
 * Runs Countersign on one machine until SIGINT or SIGTERM; a second signal ends it at once. Prints where it is and how to
 * sign in. Sets the exit code: 0 after a clean stop, 1 when it could not start.
 */
export async function main(env: NodeJS.ProcessEnv = process.env): Promise<void> {
  const startedAt = performance.now();
  let config: StandaloneConfig;
  let standalone: Standalone;
  try {
    config = readStandaloneConfig(env);
    const log = createLog({ level: config.logLevel, fields: { process: 'standalone' } });
    const tracing = await openTracing({ service: 'countersign', env, log });
    standalone = await startStandalone(config, { clock: createSystemClock(), ids: createSystemIds(), log, tracing });
  } catch (error) {
    complain(`countersign: cannot start: ${reasonOf(error)}`);
    process.exitCode = 1;
    return;
  }
  say(greeting(config, standalone, performance.now() - startedAt));
  await stopSignal();
  say('countersign: stopping …');
  const overdue = setTimeout(() => {
    complain(
      `countersign: not stopped after ${String(stopWithinMs / 1000)} s; ending now. Nothing acknowledged is lost.`,
    );
    process.exit(1);
  }, stopWithinMs);
  await standalone.stop();
  clearTimeout(overdue);
  say('countersign: stopped');
}

/** Prints the effective configuration as JSON; it holds no secrets. Sets exit code 1 where it is not usable. */
export function printConfig(env: NodeJS.ProcessEnv = process.env): void {
  try {
    say(JSON.stringify(readStandaloneConfig(env), undefined, 2));
  } catch (error) {
    complain(`countersign: ${reasonOf(error)}`);
    process.exitCode = 1;
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function complain(text: string): void {
  process.stderr.write(`${text}\n`);
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let signals = 0;
    const onSignal = (signal: NodeJS.Signals): void => {
      signals += 1;
      if (signals > 1) process.exit(signal === 'SIGINT' ? 130 : 143);
      resolve();
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}

/** One sentence for what a person can mend; the stack for what they cannot. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ConfigError) return error.message;
  const isOurs = error.constructor !== Error && error.name !== 'TypeError' && error.name !== 'RangeError';
  const code = 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') return `${error.message}. Another process has the port: stop it, or set COUNTERSIGN_PORT.`;
  return isOurs || code !== undefined ? error.message : (error.stack ?? error.message);
}

function greeting(config: StandaloneConfig, { url, tokensFile, isFirstStart }: Standalone, tookMs: number): string {
  // An operator's own file is theirs to read; the one that a first start made is shown, so that one can sign in.
  const token = config.tokensFile === null ? signInToken(tokensFile) : undefined;
  return [
    `Countersign is ready at ${url} (${String(Math.round(tookMs))} ms)`,
    `  data    ${config.dataFolder}`,
    `  tokens  ${tokensFile}${isFirstStart ? ' (made just now: agent, me, worker)' : ''}`,
    ...(token === undefined ? [] : [`  sign in as "me" with ${token}`]),
    '  decide  npx countersign inbox',
    '  stop    Ctrl-C',
  ].join('\n');
}

/** The person's own token, as a first start writes it in plain. */
function signInToken(tokensFile: string): string | undefined {
  const entries = JSON.parse(readFileSync(tokensFile, 'utf8')) as readonly { principal: string; token?: string }[];
  return entries.find((entry) => entry.principal === 'me')?.token;
}
