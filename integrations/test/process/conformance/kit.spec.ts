import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import {
  openAgentPool,
  scenarios,
  scenariosFor,
  startKitServer,
  tryScenario,
  type AgentStart,
  type Capabilities,
  type KitServer,
  type Scenario,
} from '@countersign/conformance';
import { agents } from '../../adapters/agents.ts';
import { bundledAgent, crashesOfTheSdk, scenariosOfAdapter, stayingAgent } from '../../adapters/kit-suite.ts';

const root = join(import.meta.dirname, '..', '..', '..', '..');
const cli = join(root, 'apps', 'cli', 'bin', 'countersign.js');
const plainAgent = join(root, 'integrations', 'conformance', 'examples', 'plain-agent.ts');
const all = { pauses: true, streaming: true, nested: true, partial: true, forge: true };
const agentAt = (file: string, capabilities: Capabilities = all) => ({
  command: process.execPath,
  args: [file],
  capabilities,
});
const host = join(root, 'integrations', 'test', 'adapters', 'agent-host.mjs');
/** Dozens of processes load it. */
const bundledAgentAt = (file: string) => agentAt(bundledAgent(basename(file, '.mjs'), join(import.meta.dirname, file)));
const stayingAgentAt = (file: string) =>
  stayingAgent('agent-host.mjs', process.execPath, join(import.meta.dirname, file), all);
const scenarioNamed = (name: string): Scenario => {
  const scenario = scenarios.find((one) => one.name === name);
  if (scenario === undefined) throw new Error(`no scenario is named: ${name}`);
  return scenario;
};

/** The first line of the kit to an agent. */
const firstLine = (runId: string): AgentStart => ({
  url: server.url,
  agentToken: server.agentToken,
  workerToken: server.workerToken,
  kafka: null,
  runId,
  agentId: 'conformance',
  leaseMs: 2000,
  streaming: false,
  nested: false,
  forge: false,
  stays: false,
  state: null,
  turns: [[{ toolCallId: 'c1', toolName: 'refund', arguments: { amount: 50 } }]],
});

let server: KitServer;
beforeAll(async () => {
  server = await startKitServer(cli);
});
afterAll(async () => {
  await server.stop();
});

describe('an agent over the worker SDK', () => {
  // A hundred processes load it.
  const agent = agentAt(bundledAgent('plain', plainAgent), agents['own loop']);
  it.each(scenariosFor(agent))('$name', (scenario) => tryScenario(scenario, agent, server));
});

describe('an agent that runs its tool without the ledger', () => {
  const agent = stayingAgentAt('careless-agent.mjs');
  afterAll(() => agent.pool?.close());
  const approved = scenarioNamed('an approved call runs once, with the arguments that were approved');
  it.each(scenarios.filter((scenario) => scenario !== approved))('fails: $name', async (scenario) => {
    await expect(tryScenario(scenario, agent, server)).rejects.toThrow();
  });

  it(`fails, because nobody has claimed the call, within seconds after its run: ${approved.name}`, async () => {
    const startedAt = performance.now();
    await expect(tryScenario(approved, agent, server)).rejects.toThrow('c1 is approved; expected: succeeded');
    expect(performance.now() - startedAt).toBeLessThan(60_000);
  });
});

describe('an agent that asks again in each process', () => {
  const agent = bundledAgentAt('asking-again-agent.mjs');
  const problem = /did not come to the crash point|did not finish|strictly deep-equal/;
  const names =
    /before its claim|after its claim|before its outcome|after the outcome|reverse|resumes before|after a newer/;
  it.each(scenarios.filter(({ name }) => names.test(name)))('fails: $name', async (scenario) => {
    await expect(tryScenario(scenario, agent, server)).rejects.toThrow(problem);
  });
});

describe('an agent that lies about itself', () => {
  const { args, ...agent } = bundledAgentAt('lying-agent.mjs');
  const tryLie = (lie: string, scenario: string) =>
    tryScenario(scenarioNamed(scenario), { ...agent, args: [...args, lie] }, server);
  const approved = 'an approved call runs once, with the arguments that were approved';
  const edited = 'an edited call runs with the edited arguments, and the model is told them';
  const reversed = 'each call gets its own decision when people decide in the reverse order';
  const oneByOne = 'calls of one turn are decided one by one';
  const streamed = 'a call that is streamed is approved like any other';
  const nested = 'a call of a nested agent is asked about as itself, and the outer agent goes on after it';
  const forged = 'an approval of the framework alone runs nothing';

  it.each([
    ['hides the new arguments', edited, 'the model is not told the new arguments: {"refunded":7}'],
    ['hides the new arguments', reversed, 'the model is not told the new arguments: {"refunded":7}'],
    ['runs a free tool again', oneByOne, 'the tool without a gate did not run exactly once'],
    ['is silent', streamed, 'the agent did not print {"event":"used","what":"streaming"}'],
    ['is silent', nested, 'the agent did not print {"event":"used","what":"nested"}'],
    ['is silent', forged, 'the agent did not print {"event":"used","what":"forged"}'],
    [
      'says that it used everything',
      approved,
      'the agent printed {"event":"used","what":"streaming"}, and was not asked to',
    ],
  ])('%s: fails: %s', async (lie, scenario, problem) => {
    await expect(tryLie(lie, scenario)).rejects.toThrow(problem);
  });

  it.each([approved, edited, reversed, oneByOne])('without a lie passes: %s', (scenario) => tryLie('none', scenario));
});

describe('an agent whose processes stay', () => {
  const agent = stayingAgentAt('remembering-agent.mjs');
  const pool = openAgentPool({
    command: process.execPath,
    args: [host, join(import.meta.dirname, 'remembering-agent.mjs')],
  });
  afterAll(() => Promise.all([agent.pool?.close(), pool.close()]));

  it('fails when a run goes on only in the process in which it began', async () => {
    const approved = scenarioNamed('an approved call runs once, with the arguments that were approved');
    await expect(tryScenario(approved, agent, server)).rejects.toThrow('this process has no such run');
  });

  it('gets each step of a run in a process without a part in it, and other runs in the processes that rest', async () => {
    /** The process that makes a step of a run, which pauses. */
    const pidOf = async (runId: string): Promise<string> => {
      const leg = pool.begin(firstLine(runId));
      const event = await leg.next();
      await leg.rest();
      await leg.kill();
      return event.event === 'paused' ? event.state : JSON.stringify(event);
    };
    const [first, second] = [await pidOf('pool-1'), await pidOf('pool-1')];
    expect([first, second]).toEqual([expect.stringMatching(/^\d+$/), expect.stringMatching(/^\d+$/)]);
    expect(second).not.toBe(first);
    expect([await pidOf('pool-2'), await pidOf('pool-2')]).toEqual([first, second]);
    expect([first, second]).not.toContain(await pidOf('pool-2'));
  });

  it('gets a new process after a kill', async () => {
    const killed = pool.begin(firstLine('pool-3'));
    await killed.kill();
    await expect(killed.next()).rejects.toThrow('the agent ended by SIGKILL');
    const leg = pool.begin(firstLine('pool-3'));
    expect(await leg.next()).toMatchObject({ event: 'paused' });
    await leg.rest();
  });
});

it('the command prints a line for each scenario and a sum', async () => {
  const args = [cli, 'conformance', '--json', '--only', 'denied', '--', process.execPath, plainAgent];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const [scenario, sum] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  expect(scenario).toMatchObject({ scenario: expect.stringContaining('denied'), passed: true });
  expect(sum).toEqual({ passed: 1, failed: 0, leftOut: scenarios.length - 1 });
});

it('of the crashes that the plain agent is tried in, an adapter is left three, which the nightly form tries', () => {
  const agent = agentAt('agent.js');
  const tried = scenariosOfAdapter(agent, false);
  const left = scenariosFor(agent).filter((scenario) => !tried.includes(scenario));
  expect(left.map(({ name }) => name)).toEqual(crashesOfTheSdk);
  expect(tried.filter(({ name }) => name.startsWith('killed'))).toHaveLength(4);
  expect(scenariosOfAdapter(agent, true)).toEqual(scenariosFor(agent));
});

it('a scenario that the agent cannot do is left out', () => {
  const agent = agentAt('agent.js', { ...all, forge: false });
  expect(scenariosFor(agent)).toHaveLength(scenarios.length - 1);
});

it('an agent that does not start fails with what it wrote', async () => {
  const agent = agentAt('no-such-agent.js');
  await expect(tryScenario(scenarios[0]!, agent, server)).rejects.toThrow(/Cannot find module/);
});

it('an agent that ends early fails with how it ended', async () => {
  const agent = { ...agentAt(''), args: ['-e', 'process.exit(7)'] };
  await expect(tryScenario(scenarios[0]!, agent, server)).rejects.toThrow(
    'the agent ended with exit code 7 and without a last line; it wrote nothing on stderr',
  );
});

it('the command refuses a name that no scenario has', async () => {
  const args = [cli, 'conformance', '--only', 'refnd', '--', process.execPath, plainAgent];
  const stderr = expect.stringContaining('has "refnd" in its name');
  await expect(promisify(execFile)(process.execPath, args)).rejects.toMatchObject({ stderr });
});
