import type { AgentStart, Use } from './protocol.js';

/** The lines `used` of one process of the agent. */
export interface Uses {
  /** Throws when the kit did not ask for it. */
  readonly add: (what: Use) => void;
  readonly times: (what: Use) => number;
  /** Throws when the agent did not say that it used what the kit asked for. */
  readonly assertComplete: () => void;
}

/** When the agent prints the line. */
const moments: Readonly<Record<Use, string>> = {
  streaming: "when the first chunk of the framework's stream arrives",
  nested: 'inside the sub-agent',
  forged: "after each answer to the framework's own question",
};

/** Collects the lines `used` of a process, and compares them with its first line. */
export function collectUses({ streaming, nested, forge }: AgentStart): Uses {
  const asked: Readonly<Record<Use, boolean>> = { streaming, nested, forged: forge };
  const seen: Use[] = [];
  return {
    add: (what) => {
      if (!asked[what]) {
        throw new Error(
          `the agent printed ${lineOf(what)}, and was not asked to. Print it only where the kit asks for it.`,
        );
      }
      seen.push(what);
    },
    times: (what) => seen.filter((one) => one === what).length,
    assertComplete: () => {
      const missing = (Object.keys(asked) as Use[]).find((what) => asked[what] && !seen.includes(what));
      if (missing === undefined) return;
      throw new Error(`the agent did not print ${lineOf(missing)}. Print it ${moments[missing]}.`);
    },
  };
}

function lineOf(what: Use): string {
  return JSON.stringify({ event: 'used', what });
}
