import { randomUUID } from 'node:crypto';
import type { JsonObject, JsonValue } from '@countersign/contracts';
import { beginAlone, type AgentLeg, type AgentPool } from './agent-pool.js';
import type { AgentCommand } from './agent-process.js';
import { openCrashProxy, type CrashPoint, type CrashProxy } from './crash-proxy.js';
import { openRun, type LedgerAddress, type RunInLedger } from './ledger.js';
import { collectUses, type Uses } from './uses.js';
import type { AgentEvent, AgentStart, Capabilities, Rest, ScriptedCall, Use } from './protocol.js';

/** The agent that is tried. */
export interface AgentUnderTest extends AgentCommand {
  readonly capabilities: Capabilities;
  /** Where it stays between runs. Default: each step of a run is a new process. */
  readonly pool?: AgentPool;
}

/** How a scenario's run differs from the others. */
export interface Script {
  readonly turns: readonly (readonly ScriptedCall[])[];
  readonly streaming?: boolean;
  readonly nested?: boolean;
  /** An agent whose approvals expire after three seconds, by the policy of the kit. */
  readonly hasty?: boolean;
  /** The moment at which `crash` kills a process. */
  readonly crash?: CrashPoint;
}

type ToolEvent = Extract<AgentEvent, { event: 'tool' }>;

/** One process of the run. */
export interface Leg {
  /**
   * Runs the tools as they begin, until the process pauses, finishes or fails. Throws when a line
   * `used` is missing that the kit asked for.
   */
  readonly rest: () => Promise<Rest>;
  /** How often the agent said so. */
  readonly timesUsed: (what: Use) => number;
  /** Waits until the tool begins, and leaves it there. */
  readonly untilToolBegins: (toolName: string) => Promise<void>;
  /** SIGKILL. */
  readonly kill: () => Promise<void>;
}

/** One run of the agent, over any number of processes. */
export interface Session {
  readonly ledger: RunInLedger;
  readonly capabilities: Capabilities;
  /** The arguments of each time that the body of the tool began. */
  readonly ran: (toolName: string) => readonly JsonObject[];
  /** Starts a process: from the beginning, or from a state. */
  readonly start: (state?: string | null, options?: { readonly forge?: boolean }) => Leg;
  /**
   * Starts the run and waits until these calls wait for people. Returns how to go on: from the state in a new process, or
   * in the process that holds on.
   */
  readonly untilAsked: (...toolCallIds: readonly string[]) => Promise<Pause>;
  /** Starts the run, and kills the process at the crash point of the script. */
  readonly crash: () => Promise<void>;
}

/** A run that waits for people. */
export interface Pause {
  /** Null while the agent waits in its process. */
  readonly state: string | null;
  /** Goes on, and returns how it came to rest. */
  readonly resume: () => Promise<Rest>;
  /** Goes on, and kills the process at the crash point of the script. */
  readonly crash: () => Promise<void>;
  /** Goes on until the tool begins, and kills the process there. */
  readonly crashInside: (toolName: string) => Promise<void>;
  /** Goes on to the answer of the model. Throws when it does not come. */
  readonly finish: () => Promise<Readonly<Record<string, string>>>;
}

/** The lease of the agent under test. */
const leaseMs = 2000;

/** The outputs of the tools. */
const outputs: Readonly<Record<string, (args: JsonObject) => JsonValue>> = {
  refund: ({ amount }) => ({ refunded: amount ?? null }),
  lookup: ({ id }) => ({ found: id ?? null }),
};

/** Opens a run. `release` ends all its processes. */
export async function openSession(
  agent: AgentUnderTest,
  address: LedgerAddress,
  script: Script,
): Promise<Session & { readonly release: () => Promise<void> }> {
  const runId = `conformance-${randomUUID()}`;
  const ledger = openRun(address, runId);
  const begun: ToolEvent[] = [];
  const processes: AgentLeg[] = [];
  const proxy = script.crash === undefined ? undefined : await openCrashProxy(address.url, script.crash);
  const startOf = (state: string | null, forge: boolean): AgentStart => ({
    url: proxy?.url ?? address.url,
    agentToken: address.agentToken,
    workerToken: address.workerToken,
    kafka: address.kafka ?? null,
    agentId: agentIdOf(script),
    runId,
    leaseMs,
    streaming: script.streaming ?? false,
    nested: script.nested ?? false,
    forge,
    stays: false,
    state,
    turns: script.turns,
  });
  const start: Session['start'] = (state = null, { forge = false } = {}) => {
    const asked = startOf(state, forge);
    const process = agent.pool?.begin(asked) ?? beginAlone(agent, asked);
    processes.push(process);
    return createLeg(process, begun, collectUses(asked));
  };
  const untilAsked = async (...toolCallIds: readonly string[]): Promise<Pause> => {
    const leg = start();
    if (!agent.capabilities.pauses) {
      for (const toolCallId of toolCallIds) await ledger.untilAsked(toolCallId);
      return pauseOf(null, () => leg, proxy);
    }
    const rest = await leg.rest();
    if (rest.event !== 'paused') throw new Error(`the agent did not pause: ${JSON.stringify(rest)}`);
    for (const toolCallId of toolCallIds) await ledger.untilAsked(toolCallId);
    return pauseOf(rest.state, () => start(rest.state), proxy);
  };
  return {
    ledger,
    capabilities: agent.capabilities,
    start,
    untilAsked,
    crash: () => crashAt(proxy, start()),
    ran: (toolName) => begun.filter((event) => event.toolName === toolName).map((event) => event.arguments),
    release: async () => {
      await Promise.all(processes.map((process) => process.kill()));
      await proxy?.close();
    },
  };
}

function agentIdOf({ hasty = false, nested = false }: Script): string {
  if (hasty) return 'conformance-hasty';
  return nested ? 'conformance-nested' : 'conformance';
}

function createLeg(process: AgentLeg, begun: ToolEvent[], uses: Uses): Leg {
  const reply = ({ toolName, toolCallId, arguments: args }: ToolEvent): void => {
    process.reply({ toolName, toolCallId, output: outputs[toolName]?.(args) ?? null });
  };
  /** The next tool that begins, or how the process came to rest. */
  const next = async (): Promise<ToolEvent | Rest> => {
    for (;;) {
      const event = await process.next();
      if (event.event === 'tool') begun.push(event);
      if (event.event !== 'used') return event;
      uses.add(event.what);
    }
  };
  return {
    timesUsed: uses.times,
    rest: async () => {
      for (;;) {
        const event = await next();
        if (event.event !== 'tool') {
          await process.rest();
          // The message of `failed` says more.
          if (event.event !== 'failed') uses.assertComplete();
          return event;
        }
        reply(event);
      }
    },
    untilToolBegins: async (toolName) => {
      for (;;) {
        const event = await next();
        if (event.event !== 'tool') throw new Error(`${toolName} did not begin: ${JSON.stringify(event)}`);
        if (event.toolName === toolName) return;
        reply(event);
      }
    },
    kill: () => process.kill(),
  };
}

function pauseOf(state: string | null, goOn: () => Leg, proxy: CrashProxy | undefined): Pause {
  return {
    state,
    resume: () => goOn().rest(),
    finish: async () => toldBy(await goOn().rest()),
    crash: () => crashAt(proxy, goOn()),
    crashInside: async (toolName) => {
      const leg = goOn();
      await leg.untilToolBegins(toolName);
      await leg.kill();
    },
  };
}

async function crashAt(proxy: CrashProxy | undefined, leg: Leg): Promise<void> {
  if (proxy === undefined) throw new Error('the script has no crash point');
  const rest = leg.rest();
  const early = await Promise.race([proxy.reached, rest]);
  if (early !== undefined) throw new Error(`the agent did not come to the crash point: ${JSON.stringify(early)}`);
  await leg.kill();
  await rest.catch(() => undefined);
  proxy.release();
}

/** The results that the model was given. Throws when the run is not finished, or not by the model's last word. */
export function toldBy(rest: Rest): Readonly<Record<string, string>> {
  if (rest.event !== 'finished') throw new Error(`the agent did not finish: ${JSON.stringify(rest)}`);
  if (rest.final !== 'done') throw new Error(`the model's last word is "done", not: ${rest.final}`);
  return rest.told;
}
