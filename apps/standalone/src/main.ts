import { createLog, createSystemIds, systemClock } from '@countersign/runtime';
import { complain, endSoon, guardEdge, openTracing, printJson, reasonOf, say, stopSignal } from '@countersign/shell';
import { clearTokenOf } from './clear-token.js';
import { readStandaloneConfig } from './config.js';
import type { StandaloneConfig } from './config.js';
import { startStandalone } from './standalone.js';
import type { Standalone } from './standalone.js';

const stopWithinMs = 10_000;

/**
 * Runs Countersign on one machine until SIGINT or SIGTERM; a second signal ends it at once. Prints its URL and how to
 * sign in. Sets the exit code: 0 after a clean stop, 1 when it could not start.
 */
export async function main(env: NodeJS.ProcessEnv = process.env): Promise<void> {
  const startedAt = performance.now();
  let config: StandaloneConfig;
  let standalone: Standalone | undefined;
  try {
    config = readStandaloneConfig(env);
    const log = createLog({ level: config.logLevel, fields: { process: 'standalone' } });
    guardEdge('countersign', log, async () => standalone?.leave());
    const tracing = await openTracing({ service: 'countersign', env, log });
    standalone = await startStandalone(config, {
      clock: systemClock,
      ids: createSystemIds(),
      log,
      tracing,
      env,
    });
  } catch (error) {
    complain(`countersign: cannot start: ${reasonOf(error)}`);
    process.exitCode = 1;
    return;
  }
  greet(config, standalone, performance.now() - startedAt);
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
  endSoon();
}

/** Prints the effective configuration as JSON; it holds no secrets. Sets exit code 1 where it is not usable. */
export function printConfig(env: NodeJS.ProcessEnv = process.env): void {
  printJson('countersign', () => readStandaloneConfig(env));
}

function greet(config: StandaloneConfig, { url, tokensFile, isFirstStart }: Standalone, tookMs: number): void {
  const { dataFolder: data, policyFile: policy } = config;
  const ready = `Countersign is ready at ${url} (${String(Math.round(tookMs))} ms)`;
  // On the terminal of the person who made the file, once: later starts, and collectors of logs, do not get a token.
  const token = isFirstStart ? clearTokenOf('me', tokensFile) : undefined;
  const lines = [
    ready,
    `  data    ${data}`,
    ...(policy === null ? [] : [`  policy  ${policy}`]),
    `  tokens  ${tokensFile}${isFirstStart ? ' (made just now: agent, me, worker)' : ''}`,
    ...(token === undefined ? [] : [`  sign in as "me" with ${token}`]),
    '  decide  npx countersign inbox',
    '  stop    Ctrl-C',
  ];
  say(lines.join('\n'), ready, { process: 'standalone', url, data, policy, tokens: tokensFile, isFirstStart });
}
