import { startAgent, type AgentCommand, type AgentProcess } from './agent-process.js';
import type { AgentStart, ToolReply } from './protocol.js';

/** One process of an agent, while it works on one run. */
export interface AgentLeg {
  readonly next: AgentProcess['next'];
  readonly reply: (reply: ToolReply) => void;
  /** The run has come to rest. Resolves when the process has ended, or at once when it stays. */
  readonly rest: () => Promise<void>;
  /** Kills the process with SIGKILL, unless it rests. Resolves when it has ended. */
  readonly kill: () => Promise<void>;
}

/** Processes that stay after a run, so that a framework is loaded a few times and not for each step of each scenario. */
export interface AgentPool {
  /** Starts a run in a process that had no part in it: one that rests, or a new one. */
  readonly begin: (start: AgentStart) => AgentLeg;
  /** Kills the processes that rest. */
  readonly close: () => Promise<void>;
}

/** A process of the agent, and the runs that it had a part in. */
interface Resting {
  readonly process: AgentProcess;
  readonly runIds: Set<string>;
}

/** Starts the agent for one step of a run. */
export function beginAlone(agent: AgentCommand, start: AgentStart): AgentLeg {
  const process = startAgent(agent);
  process.send(start);
  return { next: process.next, reply: process.send, rest: () => process.ended, kill: process.kill };
}

/**
 * Opens a pool of an agent that can stay. Each step of a run gets a process that has seen no other step of that run. Runs share
 * the state that a framework keeps for its whole process, as they do in a server of agents.
 */
export function openAgentPool(agent: AgentCommand): AgentPool {
  const resting: Resting[] = [];
  const take = (runId: string): Resting => {
    const index = resting.findIndex(({ runIds }) => !runIds.has(runId));
    return resting.splice(index, index === -1 ? 0 : 1)[0] ?? { process: startAgent(agent), runIds: new Set() };
  };
  return {
    begin: (start) => {
      const taken = take(start.runId);
      const { process, runIds } = taken;
      runIds.add(start.runId);
      process.send({ ...start, stays: true });
      let isResting = false;
      return {
        next: process.next,
        reply: process.send,
        rest: () => {
          isResting = true;
          resting.push(taken);
          return Promise.resolve();
        },
        kill: async () => {
          if (!isResting) await process.kill();
        },
      };
    },
    close: async () => {
      await Promise.all(resting.splice(0).map(({ process }) => process.kill()));
    },
  };
}
